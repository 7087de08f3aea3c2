"""Predictions of a network against the whole joint table, for every subset of known columns."""

from itertools import chain, combinations

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.posterior import ChainsPosterior, NetworkPosterior, NetworkRecords

pytestmark = pytest.mark.filterwarnings("ignore::discreet.ConvergenceWarning")  # a few draws, made by hand

LEVELS = {"a": ("x", "y"), "b": ("u", "v", "w"), "c": ("no", "yes"), "d": ("p", "q", "r"), "e": ("k", "l")}
PARENTS = {"a": (), "b": ("a",), "c": ("a", "b"), "d": ("c",), "e": ("a", "d")}
COLUMNS = {name: dc.Categorical(levels) for name, levels in LEVELS.items()} | {"c": dc.Binary(zero="no", one="yes")}
DRAWS = 6


def network() -> NetworkPosterior:
    rng, chains, axes = np.random.default_rng(3), {}, {}
    for name, above in PARENTS.items():
        shape = [len(LEVELS[node]) for node in (*above, name)]
        chains[name] = rng.dirichlet(np.ones(shape[-1]), (2, DRAWS // 2, *shape[:-1]))
        axes[name] = {f"{node}_level": LEVELS[node] for node in (*above, name)}
    return NetworkPosterior.of(ChainsPosterior(chains, axes, "network", NetworkRecords(PARENTS)), PARENTS, COLUMNS)


def joint(posterior: NetworkPosterior) -> np.ndarray:
    """The whole table (draws, a, b, c, d, e)."""
    flat = {name: values.reshape(DRAWS, *values.shape[2:]) for name, values in posterior.chains.items()}
    return np.einsum("na,nab,nabc,ncd,nade->nabcde", *(flat[name] for name in PARENTS))


SUBSETS = list(chain.from_iterable(combinations("abde", size) for size in (1, 2, 4)))


@pytest.mark.parametrize("known", SUBSETS, ids=["".join(names) for names in SUBSETS])
def test_predictions_are_those_of_the_joint_table(known: tuple[str, ...]) -> None:
    """Averages of joint probabilities over the draws, whatever is hidden."""
    posterior, rng = network(), np.random.default_rng(4)
    codes = {name: rng.integers(len(LEVELS[name]), size=7) for name in known}
    rows = pd.DataFrame({name: np.array(LEVELS[name])[code] for name, code in codes.items()})
    table = joint(posterior).mean(axis=0)
    hidden = tuple(axis for axis, name in enumerate(PARENTS) if name not in (*known, "c"))
    together = np.moveaxis(table.sum(axis=hidden), [n for n in PARENTS if n in (*known, "c")].index("c"), -1)
    due = together[tuple(codes[name] for name in PARENTS if name in known)]
    found = posterior.predict_proba(rows, "c")
    np.testing.assert_allclose(found, due / due.sum(axis=1, keepdims=True), rtol=1e-10)


def test_records_are_averaged_with_their_weight() -> None:
    """A planted wrong average, of conditional probabilities draw by draw, is told apart."""
    posterior, table = network(), joint(network())
    one = table.sum(axis=(2, 5))[:, 0, :, 1]  # a = x, d = q: (draws, c)
    wrong = (one / one.sum(axis=1, keepdims=True)).mean(axis=0)
    found = posterior.predict_proba({"a": ["x"], "d": ["q"]}, "c")[0]
    np.testing.assert_allclose(found, one.mean(axis=0) / one.mean(axis=0).sum(), rtol=1e-10)
    assert np.abs(found - wrong).max() > 1e-3


def test_predictions_of_a_release_and_what_is_refused() -> None:
    posterior = network()
    assert posterior.predict_proba({"a": []}, "c").shape == (0, 2)
    assert list(posterior.predicted_columns({"a": ["x"]}, target="c")) == ["no", "yes"]
    assert set(posterior.predict(4, np.random.default_rng(1))) == set(PARENTS)
    with pytest.raises(dc.QueryError, match=r"predict_proba\(rows, target\)"):
        posterior.predict({"a": ["x"]})
    with pytest.raises(dc.QueryError, match="target must be one of"):
        posterior.predict_proba({"a": ["x"]}, "z")
    with pytest.raises(dc.QueryError, match="must have some of the columns"):
        posterior.predict_proba({"other": ["x"]}, "c")
    with pytest.raises(dc.QueryError, match="declared level"):
        posterior.predict_proba({"a": ["nothing"]}, "c")


def test_ranges_of_a_number_are_predicted_by_their_names() -> None:
    """A target that is a number cut into levels, of a network and of a loss: its ranges, not its (absent) texts."""
    cut = dc.Bounded(0, 60, cut=[25])
    posterior = NetworkPosterior.of(network(), PARENTS, COLUMNS | {"c": cut.as_levels})
    found = posterior.predicted_columns({"a": ["x", "y"]}, target="c")
    assert list(found) == ["[0, 25)", "[25, 60]"]
    np.testing.assert_allclose(sum(found.values()), 1.0)
    schema = dc.Schema({"x": dc.Bounded(0, 1), "c": cut}, n=5)
    loss = dc.LogisticRegression("c", ("x",)).query(schema)
    assert loss.predicted(np.array([[-1.0, 2.0]])).tolist() == ["[0, 25)", "[25, 60]"]
