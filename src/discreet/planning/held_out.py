"""`dc.score`: a released posterior's predictions, tried on private held-out rows, as one more release."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from discreet.errors import QueryError
from discreet.ledger import Ledger
from discreet.mechanisms import Mechanism
from discreet.models import MODELS
from discreet.models.scores.held_out_scores import HeldOutScores
from discreet.pipeline import release
from discreet.queries.losses.base import Loss
from discreet.queries.scored_margins import CUTS, ScoredMargins, bin_names, checked_cuts
from discreet.recipe import build
from discreet.release import Release
from discreet.schema import Categorical, Schema
from discreet.sources import Dataset
from discreet.sources.scored_rows import ScoredRows

__all__ = ["score", "score_view", "scored_request"]

ORDER = "the order is score(posterior, held_out, mechanism, ledger)"
DRAWS = 64  # of the posterior, that a row's probability is averaged over


def score(
    posterior: Any,
    held_out: Dataset,
    mechanism: Mechanism,
    ledger: Ledger,
    *,
    cuts: Sequence[float] = CUTS,
) -> Release:
    """Pay for noisy counts of label × score bin on held-out rows; the posterior of the release has AUC and the rest.

    Every held-out row is scored by its probability of the second level, averaged over 64 draws of the posterior with a
    public seed, and falls into one of the public bins that `cuts` divide. Few bins are best where noise is strong: with
    14 bins, 90% intervals of 2,000 rows at epsilon = 0.3 covered 75 to 78%, with these six 88%.

    `.posterior()` answers "auc", "ties", "log_loss", "calibration" and "share" with intervals that are aware of noise
    and of the number of rows.

    The posterior is of `LogisticRegression`, or of `NaiveBayes` with two classes, and was read from a paid release. The
    rows are another table of the same people or others, opened with the same declarations under an id of its own; they
    are read once. What is scored by whom takes part in the request: another posterior, other cuts or another `label`
    is another, paid, release.
    """
    model, dataset = scored_request(posterior, held_out, cuts)
    return release(model, dataset, mechanism, ledger)


def scored_request(posterior: Any, held_out: Dataset, cuts: Sequence[float] = CUTS) -> tuple[HeldOutScores, Dataset]:
    """What `score` asks, of the held-out rows as it sees them: nothing is read."""
    if not isinstance(held_out, Dataset):
        raise QueryError(f"score held_out must be what dc.open returns, got a {type(held_out).__name__}: {ORDER}")
    if not held_out.source.at_hand:
        raise QueryError("score held_out must be rows that come into this process to be scored, got rows of a cluster")
    known = getattr(posterior, "provenance", None)
    if known is None or not hasattr(posterior, "margin_weights"):
        raise QueryError(
            "score posterior must be a posterior of LogisticRegression, or of NaiveBayes with two classes, as "
            f"release.posterior() gives it, or posterior_ of an estimator, got a {type(posterior).__name__}: {ORDER}"
        )
    if not known.private:
        raise QueryError("score posterior must be of a release that was paid for, got a simulated one")
    if known.recipe["dataset"] == held_out.id:
        raise QueryError(
            f"score held_out must be another table than the posterior was learned from, got {held_out.id!r}: a score "
            "of the rows of the fit flatters it"
        )
    model = build("score.model", MODELS, known.recipe["model"], QueryError)
    if not hasattr(model, "margin_query"):
        raise QueryError(f"score posterior must be of LogisticRegression or NaiveBayes, got {type(model).__name__}")
    query = model.margin_query(held_out.schema)
    own = held_out.schema.only(query.columns).to_json()["columns"]
    if own != known.recipe["schema"]["columns"]:
        raise QueryError(
            "score held_out must declare the columns of the posterior as its own table did, "
            f"{known.recipe['schema']['columns']}, got {own}"
        )
    asked, schema, divided = score_view(query, held_out.schema, cuts)
    rule = ScoredMargins(query, posterior.margin_weights(DRAWS), divided)
    asked = replace(asked, scorer=f"entry {known.entry}, rule {rule.digest}")
    return asked, Dataset(held_out.id, schema, ScoredRows(held_out.source, rule))


def score_view(query: Loss, schema: Schema, cuts: Any) -> tuple[HeldOutScores, Schema, tuple[float, ...]]:
    """The question, the table of target and bins that it is asked of, and the cuts: whatever posterior scores."""
    divided = checked_cuts(cuts if isinstance(cuts, str) or not isinstance(cuts, Iterable) else tuple(cuts))
    target = query.columns[-1]
    name = "score" if target != "score" else "score bin"
    leaves_out = any(schema.column(column).missing == "exclude" for column in query.features.columns)
    bins = Categorical(list(bin_names(divided)), missing="exclude" if leaves_out else None)
    middles = tuple(0.5 * (low + high) for low, high in pairwise((0.0, *divided, 1.0)))
    seen = replace(schema, columns={target: schema.columns[target], name: bins})
    return HeldOutScores(target, name, middles), seen, divided
