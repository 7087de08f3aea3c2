"""Make the golden releases and ledgers: `python tests/golden/make_golden.py`, from the root of the repository.

`python tests/golden/make_golden.py --later` adds a release of every pair that came after them (`later.json`).

One release file for every model and mechanism that fit each other, a ledger for every filter with all that it can
price, and in the last of them a reservation of every pair that was never answered. `index.json` has the request keys
and the heads. They are made anew only while nothing was published; afterwards they are added to, and never changed:
every later version must read them (tests/test_stored_answers_stay_readable.py).
"""

import json
import shutil
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

GOLDEN = Path(__file__).parent
sys.path.insert(0, str(GOLDEN.parent))

import discreet as dc  # noqa: E402
from discreet.ledger.events import request_key  # noqa: E402
from discreet.pipeline import query_of  # noqa: E402
from discreet.release import recipe_of  # noqa: E402
from pairs import Pair, one_per_pair  # noqa: E402

BUDGETS = {
    "pure": dc.Budget(1e5),
    "zcdp": dc.Budget(1e5, 1e-2),
    "gdp": dc.Budget(1e5, 1e-2),
    "approximate": dc.Budget(1e5, 1e-2),
}


def reserve_only(pair: Pair, ledger: dc.Ledger, label: str) -> None:
    """Pay for a release that is never computed."""
    mechanism = replace(pair.mechanism, label=label)
    query = query_of(pair.model, mechanism, pair.schema)
    recipe = recipe_of(pair.model, pair.dataset().id, pair.schema, mechanism)
    ledger.reserve(mechanism.guarantee(query), recipe)


def make(folder: Path) -> None:
    """Write everything into an empty folder."""
    (folder / "releases").mkdir(parents=True)
    index: dict[str, dict[str, object]] = {"heads": {}, "pairs": {}}
    for name, budget in BUDGETS.items():
        ledger = dc.Ledger.create(folder / f"{name}.ledger", budget, filter=name)
        for pair in one_per_pair():
            try:
                release = dc.release(pair.model, pair.dataset(), pair.mechanism, ledger)
            except dc.GuaranteeError:  # a notion that this filter does not know
                continue
            about = index["pairs"].setdefault(pair.name, {"key": request_key(release.recipe), "ledgers": []})
            about["ledgers"].append(name)  # type: ignore[attr-defined]
            about["file"] = f"releases/{pair.name.replace(' by ', '-')}.json"  # type: ignore[index]
            release.save(folder / about["file"])  # type: ignore[index]
        if name == "approximate":
            for pair in one_per_pair():
                reserve_only(pair, ledger, "unanswered")
        ledger.verify()
        index["heads"][name] = ledger.head()
    (folder / "index.json").write_text(json.dumps(index, indent=1, sort_keys=True) + "\n")


def add_later(folder: Path) -> None:
    """A release of every pair that came after the ledgers were made, beside those that are there."""
    index = json.loads((folder / "later.json").read_text()) if (folder / "later.json").exists() else {}
    known = {*json.loads((folder / "index.json").read_text())["pairs"], *index}
    robust = [
        Pair(f"{kind} robust", replace(pair.model, robust=True), pair.mechanism, pair.schema, pair.table)
        for pair in one_per_pair()
        for kind, _, mechanism in [pair.name.partition(" by ")]
        if hasattr(pair.model, "robust") and mechanism == "NoisyStatistics"
    ]
    with tempfile.TemporaryDirectory() as ledgers:
        ledger = dc.Ledger.create(Path(ledgers) / "later.ledger", BUDGETS["zcdp"], filter="zcdp")
        for pair in (*one_per_pair(), *robust):
            if pair.name not in known:
                release = dc.release(pair.model, pair.dataset(), pair.mechanism, ledger)
                file = f"releases/{pair.name.replace(' by ', '-').replace(' ', '-')}.json"
                index[pair.name] = {"key": request_key(release.recipe), "file": file}
                release.save(folder / file)
    (folder / "later.json").write_text(json.dumps(index, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__" and sys.argv[1:] == ["--later"]:
    add_later(GOLDEN)
elif __name__ == "__main__":
    for old in (*GOLDEN.glob("*.ledger*"), GOLDEN / "index.json"):
        old.unlink(missing_ok=True)
    shutil.rmtree(GOLDEN / "releases", ignore_errors=True)
    make(GOLDEN)
