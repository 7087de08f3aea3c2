"""PrivBayes tables by DataSynthesizer, in an environment of its own. Imports nothing of this project.

Run as a script: `python privbayes_tables.py arrays.npz request.json`. It gets texts by column and writes, for every
budget and run, a table of the same size as codes into the declared levels, with the seconds it took.
"""

import contextlib
import io
import json
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from DataSynthesizer.DataDescriber import DataDescriber
from DataSynthesizer.DataGenerator import DataGenerator


def main(arrays: str, request: str) -> None:
    warnings.simplefilter("ignore")
    with np.load(arrays) as held, open(request) as text:
        codes, asked = held["codes"], json.load(text)
    columns, levels = asked["columns"], asked["levels"]
    frame = pd.DataFrame({name: np.array(levels[name], dtype=object)[codes[:, j]] for j, name in enumerate(columns)})
    found = []
    with tempfile.TemporaryDirectory() as folder:
        table, described, made = (str(Path(folder, name)) for name in ("table.csv", "described.json", "made.csv"))
        frame.to_csv(table, index=False)
        for epsilon in asked["epsilons"]:
            for seed in range(asked["runs"]):
                start = time.perf_counter()
                with contextlib.redirect_stdout(io.StringIO()):
                    describer = DataDescriber(category_threshold=100)
                    describer.describe_dataset_in_correlated_attribute_mode(
                        table,
                        epsilon=epsilon,
                        k=asked["parents"],
                        attribute_to_is_categorical=dict.fromkeys(columns, True),
                        attribute_to_is_candidate_key=dict.fromkeys(columns, False),
                        seed=seed,
                    )
                    describer.save_dataset_description_to_file(described)
                    generator = DataGenerator()
                    generator.generate_dataset_in_correlated_attribute_mode(len(frame), described, seed)
                    generator.save_synthetic_data(made)
                seconds = time.perf_counter() - start
                drawn = pd.read_csv(made, dtype=str)
                coded = [
                    drawn[name]
                    .map({level: code for code, level in enumerate(levels[name])})
                    .fillna(0)
                    .astype(int)
                    .tolist()
                    for name in columns
                ]
                found.append({"epsilon": epsilon, "codes": coded, "seconds": seconds})
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
