"""Real tables beside other libraries; skipped in one line where the shared data are absent."""

from pathlib import Path

import numpy as np
import pandas as pd

import discreet as dc
from discreet.noise.sources import SeededNoise

FEATURES = ("education", "marital_status", "relationship", "sex")


def adult_schema(frame: pd.DataFrame) -> dc.Schema:
    """Levels as the census publishes them; here they are taken from the file only to compare with other libraries."""
    columns = {name: dc.Categorical(sorted(frame[name].unique())) for name in ("income", *FEATURES)}
    return dc.Schema(
        {**columns, "workclass": dc.Categorical(sorted(frame["workclass"].dropna().unique()), missing="exclude")}
    )


def test_statistics_of_a_real_file_equal_pandas(adult: Path) -> None:
    frame = pd.read_parquet(adult)
    data = dc.open(adult, adult_schema(frame), id="adult")
    assert data.schema.n == 32_561
    query = dc.NaiveBayes("income", FEATURES).query(data.schema)
    for name, table in data.source.statistics(query).items():
        assert np.array_equal(table, pd.crosstab(frame["income"], frame[name]).to_numpy())
    excluded = dc.DirichletCategorical("workclass").query(data.schema)
    assert data.source.statistics(excluded)["counts"].sum() == 32_561 - 1_836


def test_naive_bayes_with_little_noise_equals_scikit_learn(adult: Path) -> None:
    """At epsilon = 1000 the posterior predictive classes agree with CategoricalNB (same prior) on the same rows."""
    from sklearn.naive_bayes import CategoricalNB

    frame = pd.read_parquet(adult)
    data = dc.open(adult, adult_schema(frame), id="adult")
    model = dc.NaiveBayes("income", FEATURES)
    mechanism = dc.NoisyStatistics(epsilon=1000.0)
    query = model.query(data.schema)
    value = mechanism.apply(SeededNoise(1), query, data)
    posterior = model.posterior(query, value, mechanism.laws(query))
    rows = frame[list(FEATURES)].iloc[:500]
    codes = {name: {level: i for i, level in enumerate(data.schema.columns[name].levels)} for name in FEATURES}  # type: ignore[union-attr]
    encoded = np.column_stack([frame[name].map(codes[name]) for name in FEATURES])
    reference = CategoricalNB(alpha=1.0).fit(encoded, frame["income"])
    ours, theirs = posterior.predict_proba(rows), reference.predict_proba(encoded[:500])
    assert np.abs(ours - theirs).max() < 0.01
