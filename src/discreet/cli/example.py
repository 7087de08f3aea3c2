"""The table of the demonstration: synthetic patients, drawn with a public seed from a law that is written here."""

from pathlib import Path

__all__ = ["BUDGET", "PATIENTS", "STUDY", "TRUTH", "write_table"]

PATIENTS = 5000
SEED = 2016
BUDGET = (3.0, 1e-6)

WARDS = {"A": 0.55, "B": 0.30, "C": 0.12, "D": 0.03}
FLU = 0.08
FEVER = (0.10, 0.75)  # without and with flu
COUGH = (0.30, 0.60)

# What the releases estimate, by the name under which a posterior lists it.
TRUTH = {
    "P(smoker = 1)": 0.27,
    **{f"P(ward = {ward})": share for ward, share in WARDS.items()},
    "P(flu = 1)": FLU,
    **{f"P(fever = 1 | flu = {flu})": FEVER[flu] for flu in (0, 1)},
    **{f"P(cough = 1 | flu = {flu})": COUGH[flu] for flu in (0, 1)},
}

STUDY = f"""\
id = "demo-patients"
data = "patients.csv"
ledger = "study.ledger"
relation = "replace-one"
unit = {{kind = "record"}}
n = {PATIENTS}

[columns]
smoker = {{kind = "binary"}}
ward = {{kind = "categorical", levels = {list(WARDS)}}}
flu = {{kind = "binary"}}
fever = {{kind = "binary"}}
cough = {{kind = "binary"}}

[[release]]
name = "smoking"
model = {{kind = "BetaBernoulli", column = "smoker", prior = [1, 1]}}
mechanism = {{kind = "NoisyStatistics", epsilon = 0.5}}
out = "smoking.release.json"

[[release]]
name = "wards"
model = {{kind = "DirichletCategorical", column = "ward"}}
mechanism = {{kind = "NoisyStatistics", rho = 0.003}}
out = "wards.release.json"

[[release]]
name = "flu"
model = {{kind = "NaiveBayes", target = "flu", features = ["fever", "cough"]}}
mechanism = {{kind = "NoisyStatistics", rho = 0.003}}
out = "flu.release.json"

[[release]]
name = "draw"
model = {{kind = "BetaBernoulli", column = "smoker"}}
mechanism = {{kind = "PosteriorSample", epsilon = 0.5, truncation = 0.01}}
out = "draw.release.json"
"""


def write_table(file: Path) -> None:
    """Draw the patients and write them as CSV."""
    import numpy as np

    rng = np.random.default_rng(SEED)
    flu = rng.random(PATIENTS) < FLU
    columns = {
        "smoker": rng.random(PATIENTS) < TRUTH["P(smoker = 1)"],
        "ward": rng.choice(list(WARDS), PATIENTS, p=list(WARDS.values())),
        "flu": flu,
        "fever": rng.random(PATIENTS) < np.where(flu, FEVER[1], FEVER[0]),
        "cough": rng.random(PATIENTS) < np.where(flu, COUGH[1], COUGH[0]),
    }
    cells = [column if column.dtype.kind == "U" else column.astype(int).astype(str) for column in columns.values()]
    lines = [",".join(columns), *(",".join(line) for line in zip(*cells, strict=True))]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
