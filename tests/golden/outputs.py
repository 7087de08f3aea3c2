"""What every pair of a model and a mechanism answers, seeded: `python tests/golden/outputs.py FILE` writes it as JSON.

A change that only moves code leaves every number as it is, bit for bit, on one machine:

    python tests/golden/outputs.py before.jsonl      # on the old commit
    python tests/golden/outputs.py after.jsonl       # on the new one
    python tests/golden/outputs.py --compare before.jsonl after.jsonl

`outputs.jsonl` is kept in the repository, one case a line, and `tests/test_golden_outputs.py` compares with it: what is
public exactly, posteriors as closely as another machine allows. A change that is meant changes its lines and is named in
the CHANGELOG.
"""

import json
import math
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).parent
sys.path.insert(0, str(GOLDEN.parent))

import numpy as np  # noqa: E402

import discreet as dc  # noqa: E402
from discreet.ledger.events import request_key  # noqa: E402
from pairs import COLUMNS, ROWS, small_table, valid_pairs  # noqa: E402

SEED = 7
Case = Callable[[], Any]


def plain(thing: Any) -> Any:
    """Numbers, texts, lists and mappings, whatever the answer was made of; a refusal is its words."""
    if isinstance(thing, dict):
        return {str(name): plain(value) for name, value in thing.items()}
    if isinstance(thing, np.ndarray | np.generic):
        return plain(thing.tolist())
    if isinstance(thing, list | tuple):
        return [plain(item) for item in thing]
    if isinstance(thing, bool | int | str) or thing is None:
        return thing
    if isinstance(thing, float):
        return thing if math.isfinite(thing) else repr(thing)
    return plain(vars(thing)) if hasattr(thing, "__dataclass_fields__") else str(thing)


def asked(question: Case) -> Any:
    """The answer, or the words of the refusal."""
    try:
        return plain(question())
    except dc.DiscreetError as problem:
        return {"refused": f"{type(problem).__name__}: {problem}"}


def read(posterior: Any) -> dict[str, Any]:
    """What a posterior says of its parameters."""
    rng = np.random.default_rng(SEED)
    return {
        "kind": type(posterior).__name__,
        "mean": asked(posterior.mean),
        "sd": asked(lambda: posterior.sd() if hasattr(posterior, "sd") else None),
        "interval": asked(lambda: posterior.interval(0.9)),
        "summary": asked(lambda: str(posterior.summary().to_dict("index"))),
        "sample": asked(lambda: posterior.sample(3, rng)),
        "predict": asked(
            lambda: posterior.predict(*((small_table(),) if hasattr(posterior, "information") else (3, rng)))
        ),
        "tree": asked(lambda: sorted(posterior.to_datatree().groups)),
    }


def simulated(model: Any, mechanism: Any, schema: Any, n: int | None, *readings: dict[str, Any]) -> dict[str, Any]:
    """One seeded release of a table from the prior, and what it is read as."""
    (made,) = dc.simulate(model, None, mechanism, runs=1, seed=SEED, n=n, schema=schema)
    found = {"truth": plain(dict(made.truth or {})), "value": plain(dict(made.value))}
    found["posteriors"] = [asked(lambda how=how: read(made.posterior(**how))) for how in readings]
    return found


def of_pair(pair: Any, *, chains: bool) -> dict[str, Any]:
    """All verbs on one pair; without `chains`, those that take seconds are left out."""
    model, mechanism, schema = pair.model, pair.mechanism, pair.schema
    (made,) = dc.simulate(model, pair.dataset(), mechanism, runs=1, seed=SEED)
    found: dict[str, Any] = {
        "recipe": plain(dict(made.recipe)),
        "key": request_key(made.recipe),
        "guarantee": plain(made.guarantee.to_json()),
        "words": str(made.guarantee),
        "value": plain(dict(made.value)),
    }
    if chains or not takes_long(pair):
        found["posterior"] = asked(lambda: read(made.posterior()))
        found["plug-in"] = asked(lambda: read(made.posterior("plug-in")))
        found["simulated"] = asked(lambda: simulated(model, mechanism, schema, schema.n, {}))
    if chains:
        found["plan"] = asked(lambda: dc.plan(model, mechanism, schema=schema, runs=2).to_json())
        found["audit"] = asked(lambda: dc.audit(model, mechanism, schema=schema, runs=100, seed=SEED))
    return found


def takes_long(pair: Any) -> bool:
    """Posteriors that are chains of many states, or stored draws whose order a last bit changes."""
    return pair.name.split(" ")[0] in (
        "BayesianNetwork",
        "EventLogHMM",
        "LinearRegression",
        "MultivariateNormal",
        "NaiveBayes",
        "Normal",
    )


def other_tables() -> Iterator[tuple[str, Case]]:
    """Persons, private sizes, excluded rows, groups, labels, other priors: one case of each for each kind of model."""
    noisy, gauss = dc.NoisyStatistics(epsilon=0.5), dc.NoisyStatistics(rho=0.1)
    person = dc.Schema(COLUMNS, unit=dc.Person("id", 2), n=ROWS)
    private = dc.Schema(COLUMNS, relation="add-remove", n_max=40)
    excluded = dc.Schema(
        {**COLUMNS, "smoker": dc.Binary(missing="exclude"), "age": dc.Bounded(0, 100, missing="exclude")}, n=ROWS
    )
    plainly = dc.Schema(COLUMNS, n=ROWS)
    models = {
        "beta": dc.BetaBernoulli("smoker", prior=(2.0, 3.0)),
        "dirichlet": dc.DirichletCategorical("ward"),
        "poisson": dc.GammaPoisson("visits"),
        "exponential": dc.GammaExponential("wait", prior=(2.0, 2.0)),
        "mean": dc.NormalMean("age", sd=20.0),
        "average": dc.StatisticalQuery("age"),
        "naive": dc.NaiveBayes("smoker", ("ward", "stage")),
    }
    for name, model in models.items():
        for title, schema, n in (("person", person, ROWS), ("private n", private, 20), ("excluded", excluded, ROWS)):
            for noise, mechanism in (("laplace", noisy), ("gauss", gauss)):
                yield (
                    f"{name}, {title}, {noise}",
                    lambda m=model, k=mechanism, s=schema, n=n: simulated(m, k, s, n, {}, {"kind": "plug-in"}),
                )
        if name not in ("dirichlet", "naive"):
            grouped = type(model)(**{**vars(model), "by": "stage"})
            yield f"{name}, groups", lambda m=grouped: simulated(m, noisy, plainly, ROWS, {}, {"pooling": "partial"})
        yield f"{name}, public", lambda m=model: m.updated(dc.open(small_table(), plainly, id="public"))
    yield "beta, prior", lambda: simulated(models["beta"], noisy, plainly, ROWS, {"prior": (4.0, 1.0)})
    yield (
        "compare",
        lambda: dc.compare(
            models["beta"],
            dc.Budget(1.0, 1e-6),
            schema=plainly,
            also=[dc.PosteriorSample(epsilon=0.5, truncation=0.1)],
            runs=3,
        ).to_json(),
    )
    yield (
        "compare loss",
        lambda: dc.compare(
            dc.LogisticRegression("smoker", ("age",)), dc.Budget(1.0, 1e-6), schema=plainly, runs=2
        ).to_json(),
    )
    yield (
        "compare mean",
        lambda: dc.compare(dc.QuadraticMean(("age",)), dc.Budget(1.0, 1e-6), schema=plainly, runs=2).to_json(),
    )
    for name in ("beta", "dirichlet", "poisson", "exponential", "mean", "average"):
        yield (
            f"{name}, public records",
            lambda m=models[name]: dc.plan(
                m, dc.DirectSample(), schema=plainly, runs=1, target=dc.Budget(1.0, 1e-5)
            ).to_json(),
        )
    for arithmetic in ("double", "exact"):
        for tempering in ("joint", "natural", "likelihood"):
            options: dict[str, Any] = {"epsilon": 0.5, "arithmetic": arithmetic, "tempering": tempering, "draws": 2}
            yield (
                f"beta, {arithmetic} {tempering}",
                lambda o=options: simulated(
                    models["beta"], dc.PosteriorSample(truncation=0.05, **o), plainly, ROWS, {}
                ),
            )
            yield (
                f"mean, {arithmetic} {tempering}",
                lambda o=options: simulated(
                    models["mean"], dc.PosteriorSample(interval=(10, 90), **o), plainly, ROWS, {}
                ),
            )
            yield (
                f"poisson, {arithmetic} {tempering}",
                lambda o=options: simulated(
                    models["poisson"], dc.PosteriorSample(interval=(0.5, 6), **o), plainly, ROWS, {}
                ),
            )
            yield (
                f"exponential, {arithmetic} {tempering}",
                lambda o=options: simulated(
                    models["exponential"], dc.PosteriorSample(interval=(0.5, 6), **o), plainly, ROWS, {}
                ),
            )
            yield (
                f"average, {arithmetic} {tempering}",
                lambda o=options: simulated(
                    models["average"], dc.PosteriorSample(truncation=0.05, **o), plainly, ROWS, {}
                ),
            )
    labels = dc.Schema(COLUMNS, unit=dc.LabelOnly("smoker"), n=ROWS)
    gibbs = dc.GibbsPosterior(epsilon=1.0, delta=1e-5, steps=50, draws=2)
    for name, model in (
        ("logistic", dc.LogisticRegression("smoker", ("age", "ward"))),
        ("hinge", dc.HingeClassifier("smoker", ("age",))),
    ):
        yield f"{name}, labels", lambda m=model: simulated(m, gibbs, labels, ROWS, {})
        yield f"{name}, person", lambda m=model: simulated(m, gibbs, person, ROWS, {})
        yield (
            f"{name}, batches",
            lambda m=model: simulated(
                m, dc.GibbsPosterior(epsilon=1.0, delta=1e-5, steps=50, batches=4), plainly, ROWS, {}
            ),
        )
        yield (
            f"{name}, ball",
            lambda m=model: simulated(
                type(m)(**{**vars(m), "ball": 1.0}), dc.GibbsPosterior(epsilon=1.0, sampler="exact"), plainly, ROWS, {}
            ),
        )
    yield "logistic, bands", lambda: _bands(plainly)


def _bands(schema: dc.Schema) -> Any:
    model = dc.LogisticRegression("smoker", ("age",))
    (made,) = dc.simulate(
        model, None, dc.GibbsPosterior(epsilon=1.0, delta=1e-5), runs=1, seed=SEED, n=ROWS, schema=schema
    )
    posterior = made.posterior()
    information = posterior.information(small_table())
    return {"information": information, "interval": posterior.interval(0.9, information=information)}


def outputs(*, chains: bool = True) -> dict[str, Any]:
    """Everything by name."""
    found: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for pair in valid_pairs():
            found[pair.name] = of_pair(pair, chains=chains)
        for name, case in other_tables():
            found[name] = asked(case)
    return found


def differences(one: Any, other: Any, at: str = "") -> Iterator[str]:
    """Where two answers differ at all."""
    if isinstance(one, dict) and isinstance(other, dict):
        for name in sorted({*one, *other}):
            if name not in one or name not in other:
                yield f"{at}/{name}: only in one of them"
            else:
                yield from differences(one[name], other[name], f"{at}/{name}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for i, (a, b) in enumerate(zip(one, other, strict=True)):
            yield from differences(a, b, f"{at}[{i}]")
    elif one != other or type(one) is not type(other):
        yield f"{at}: {str(one)[:300]} became {str(other)[:300]}"


def load(file: str | Path) -> dict[str, Any]:
    """The cases of a file by name."""
    return dict(json.loads(line) for line in Path(file).read_text().splitlines())


if __name__ == "__main__":
    if sys.argv[1] == "--compare":
        before, after = (load(file) for file in sys.argv[2:4])
        found = list(differences(before, after))
        print("\n".join(found) or f"{len(before)} cases, bit-identical")
        sys.exit(bool(found))
    lines = [json.dumps([name, case], sort_keys=True) for name, case in outputs().items()]
    Path(sys.argv[1]).write_text("\n".join(lines) + "\n")
