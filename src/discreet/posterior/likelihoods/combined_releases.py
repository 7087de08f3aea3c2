"""One posterior from several releases of the same question about the same rows.

Each release is the exact statistics of these rows plus noise of its own. So the statistics are common, and what the
releases say of them multiplies:

    p(θ | y₁, y₂) ∝ p(θ) Σ_s p(s | θ) f₁(y₁ - s) f₂(y₂ - s)

It is **not** the product of the likelihoods of θ, which would count the rows themselves twice and be too narrow. With
Gaussian noise f₁ f₂ is one Gaussian about the mean of y₁ and y₂ by their precision, for every model. With Laplace
noise it is a product with two corners, which models that sum over single counts can read.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal

from discreet.errors import QueryError
from discreet.guarantee import Composed
from discreet.posterior.base import Posterior
from discreet.posterior.exports.provenance import Provenance
from discreet.posterior.likelihoods.noise_product import multiplied

__all__ = ["combine"]


def combine(
    releases: Sequence[Any],
    *,
    prior: Any = None,
    pooling: Literal["partial"] | None = None,
    progress: Callable[[int], None] | None = None,
) -> Posterior:
    """The posterior given several releases of the same question about the same rows: free, and narrower than each.

    The same question is the same model, schema and dataset id; mechanisms, budgets and labels may differ. With Gaussian
    noise (`NoisyStatistics(rho=…)` or with a delta) every model of statistics is read; with Laplace noise among them
    `BetaBernoulli` where n is public and `DirichletCategorical`. `log_evidence` is up to a constant of the releases.

    Refused, before anything is computed: draws (a draw holds no statistic that others could share), models with
    `robust=True` (each asks functions of its own), one release twice, and releases of different tables.
    """
    if isinstance(releases, str | bytes) or not isinstance(releases, Sequence) or not releases:
        got = "none" if isinstance(releases, Sequence) and not releases else f"a {type(releases).__name__}"
        raise QueryError(f"combine releases must be a list of at least one release, got {got}")
    for release in releases:
        if not hasattr(release, "mechanism"):
            raise QueryError(f"combine releases must be Releases, got a {type(release).__name__}")
    _check_alike(releases)
    first = releases[0]
    query, model = first.query, first.model
    every = [dict(release.mechanism.laws(query)) for release in releases]
    for release, laws in zip(releases, every, strict=True):
        if not laws:
            kind = type(release.mechanism).__name__
            raise QueryError(f"combine releases must hold noisy statistics of the rows, got one of {kind}")
    if query.second is not None:
        raise QueryError(
            "combine releases must be of a model with robust=None: each second stage asks its own question"
        )
    both = {
        name: multiplied([release.value[name] for release in releases], [laws[name] for laws in every])
        for name in query.names
    }
    value, laws = {name: found for name, (found, _) in both.items()}, {name: law for name, (_, law) in both.items()}
    if len(releases) > 1 and not (all(law.gaussian for law in laws.values()) or model.reads_products(query)):
        raise QueryError(
            f"combine releases of {type(model).__name__} must have Gaussian noise, NoisyStatistics(rho=…) or with a "
            "delta, got Laplace noise among them, which is put together for models of one count only: dc.likelihood of "
            "each release reads them in a model of your own"
        )
    if prior is not None:
        model = model.with_prior(prior)
        query = model.query(query.schema)
    found: Posterior = model.given_statistics(query, value, laws, pooling=pooling, progress=progress)
    return found.of_release(_provenance(releases))


def _check_alike(releases: Sequence[Any]) -> None:
    """One question about one table, and no answer twice."""
    first = releases[0]
    for release in releases[1:]:
        for part in ("model", "schema"):
            if release.recipe[part] != first.recipe[part]:
                raise QueryError(
                    f"combine releases must have the same {part}, got {first.recipe[part]} and {release.recipe[part]}"
                )
        if release.recipe["dataset"] != first.recipe["dataset"]:
            ids = [first.recipe["dataset"], release.recipe["dataset"]]
            raise QueryError(
                f"combine releases must be of the same rows, that is of one dataset, got {ids}: rows of two tables "
                "share parameters, not statistics; dc.likelihood(release) of each makes a model of both"
            )
        if release.private != first.private:
            raise QueryError("combine releases must all be private or all simulated, got both")
    if len(releases) > 1 and any(release.truth is not None for release in releases):
        raise QueryError("combine releases must be simulated on one dataset, got runs with rows of their own")
    entries = [release.entry for release in releases if release.entry]
    if len(set(entries)) < len(entries) or len({id(release) for release in releases}) < len(releases):
        raise QueryError(
            "combine releases must each be a release of its own, got one twice: its noise is there once; a mechanism "
            'with another label, as in label="second", is asked anew and paid for'
        )


def _provenance(releases: Sequence[Any]) -> Provenance:
    """All of them, and what they promise together."""
    parts = [release.guarantee for release in releases]
    whole = parts[0] if len(parts) == 1 else Composed(tuple(parts))
    shared = {name: releases[0].recipe[name] for name in ("dataset", "schema", "model")}
    return Provenance(
        guarantee=str(whole),
        certificate=whole.to_json(),
        recipe={**shared, "mechanisms": [release.recipe["mechanism"] for release in releases]},
        entry=" + ".join(release.entry for release in releases),
        reading="combined",
        private=releases[0].private,
    )
