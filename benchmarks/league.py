"""League of private logistic regressions: test error and log loss on Abalone, Adult, MNIST and six further tables.

Every bound and level is public, all methods see the same encoded rows and splits, delta = 1e-5 for ours. Means of 20
runs of:

- scores: `NoisyScore`, predictions averaged over its posterior; one rule and its constants for every table, frozen
  before this league was first run;
- short: one `GibbsPosterior` draw after a short chain, drawn by `simulate`;
- OPS: one posterior sample on a public ball at pure epsilon, an ideal draw: exact ones are out of reach here;
- diffprivlib's LogisticRegression, C = 1 (its default), and the best C of five by the test rows themselves, for error
  and for log loss apart, which favours it twice;
- base: the share of the upper level among the training rows; scikit-learn's LogisticRegression, C = 1: not private.

diffprivlib's guarantee is stated as pure epsilon. For rows longer than 1 it does not hold: the perturbation is charged
.25 norm / alpha where the Hessian needs .25 norm² / alpha. Call it no stronger than ours.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

import discreet as dc
from benchmarks.further_tables import FURTHER
from benchmarks.peers import diffprivlib_fits
from benchmarks.reference_draws import FITS, ideal_draws, sigmoid
from benchmarks.tables import DATA, Task, abalone, adult, mnist
from discreet.queries.losses.base import Loss
from discreet.queries.scores.score_law import ScoreLaw
from discreet.sources.dataset import Dataset, Design
from discreet.sources.scores.score_sources import LocalScores

EPSILONS, DELTA = (0.1, 0.5, 1.0, 3.0), 1e-5
CS = (1e-5, 1e-4, 1e-3, 0.01, 0.1, 1.0, 10.0, 100.0)
BALL = 4.0  # of OPS: about what its prior gives the coefficients
PEERS = ("short", "OPS", "dpl C=1", "dpl best")
COLUMNS = ("scores", *PEERS, "base", "no privacy")
SMALLEST = 1e-15  # probability that a log loss is taken of

Array = NDArray[np.float64]


class Judged(NamedTuple):
    """What a method's probabilities of the upper level are worth on the test rows, averaged over runs."""

    error: float
    log_loss: float


@dataclass(frozen=True, eq=False)
class EncodedOnce:
    """A source that has read its rows already: 20 releases need not read them 20 times."""

    held: Design
    whole: LocalScores

    @contextmanager
    def design(self, query: Loss) -> Iterator[Design]:
        yield self.held

    @contextmanager
    def scores(self, query: Loss, law: ScoreLaw) -> Iterator[LocalScores]:
        yield LocalScores(law, self.whole.rows)


def run() -> None:
    if not DATA.exists():
        print("skipped: shared data are absent")
        return
    print("The three tables of the papers")
    lines, counted = [], {peer: [0, 0, 0] for peer in PEERS}
    for make in (abalone, adult, mnist):
        lines += list(compared(make(), PEERS, counted))
    show(lines, counted)
    print("\nSix further tables, none of them seen before the constants were frozen")
    lines, counted = [], {peer: [0, 0, 0] for peer in ("short", "base")}
    for make in FURTHER:
        lines += list(compared(make(), ("short", "base"), counted))
    show(lines, counted)


def show(lines: list[tuple[bool, str]], counted: dict[str, list[int]]) -> None:
    """Lost cells first."""
    head = f"  {'table':<14}{'epsilon':>8} " + "".join(f"{name:>15}" for name in COLUMNS)
    print(f"{head}   (error / log loss)")
    for _, line in sorted(lines, key=lambda found: not found[0]):
        print(line)
    for peer, (errors, losses, cells) in counted.items():
        print(f"  scores against {peer}: error better in {errors} of {cells} cells, log loss in {losses}")


def compared(task: Task, peers: tuple[str, ...], counted: dict[str, list[int]]) -> Iterator[tuple[bool, str]]:
    """A line for each budget, and whether anything in it was lost."""
    print(f"  {task.name}: {len(task.train):,} rows, {task.query.features.size} coefficients", flush=True)
    for epsilon, cells in league(task, everything="OPS" in peers):
        found, lost = cells["scores"], []
        for peer in peers:
            better = [mine < theirs for mine, theirs in zip(found, cells[peer], strict=True)]
            counted[peer] = [old + new for old, new in zip(counted[peer], [*map(int, better), 1], strict=True)]
            lost += [f"{kind} to {peer}" for kind, won in zip(("error", "log loss"), better, strict=True) if not won]
        shown = "".join(
            f"{cells[name].error:>8.4f}/{cells[name].log_loss:<6.4f}" if name in cells else f"{'':>15}"
            for name in COLUMNS
        )
        line = f"  {task.name:<14}{epsilon:>8g} {shown}" + (f"   LOST {', '.join(lost)}" if lost else "")
        print(line, flush=True)
        yield bool(lost), line


def league(task: Task, everything: bool) -> Iterator[tuple[float, dict[str, Judged]]]:
    """What every method is worth, by epsilon; without the peers of another environment unless everything is asked."""
    rows, labels, test, truth = task.arrays.values()
    theirs = diffprivlib_judged(task) if everything else {}
    alone = {"base": judged(np.full((1, truth.size), labels.mean()), truth), "no privacy": not_private(task)}
    opened = dc.open(task.train, task.schema, id=task.name)
    constants = ours(EPSILONS[0]).constants(task.query)
    with (
        opened.source.design(task.query) as design,
        opened.source.scores(task.query, constants) as whole,
        threadpool_limits(1, user_api="blas"),  # two threads are slower
    ):
        dataset = Dataset(opened.id, opened.schema, EncodedOnce(design, whole))  # type: ignore[arg-type]
        for seed, epsilon in enumerate(EPSILONS):
            short = dc.GibbsPosterior(epsilon, DELTA, steps="short")
            drawn = dc.simulate(task.model, dataset, short, runs=FITS, seed=seed)
            draws = np.concatenate([release.value["coefficients"] for release in drawn])
            cells = {"scores": scored(task, dataset, epsilon, seed), "short": judged(sigmoid(draws @ test.T), truth)}
            if everything:
                precision = dc.GibbsPosterior(epsilon, DELTA).law(task.query).precision
                on_ball = replace(task.model, ball=BALL, precision=precision).query(task.query.schema)
                pure = dc.GibbsPosterior(epsilon, sampler="exact").law(on_ball)
                rng = np.random.default_rng(seed)
                w = ideal_draws(rows, labels, pure.beta, pure.precision, BALL, rng)
                by_c = theirs[epsilon]
                best = Judged(*(min(found[k] for found in by_c.values()) for k in range(2)))
                cells |= {"OPS": judged(sigmoid(w @ test.T), truth), "dpl C=1": by_c[1.0], "dpl best": best}
            yield epsilon, cells | alone


def ours(epsilon: float) -> dc.NoisyScore:
    return dc.NoisyScore(epsilon=epsilon, delta=DELTA)


def scored(task: Task, dataset: Dataset, epsilon: float, seed: int) -> Judged:
    """Posterior predictions of independent releases of noisy scores."""
    releases = dc.simulate(task.model, dataset, ours(epsilon), runs=FITS, seed=seed)
    upper = [release.posterior().predict_proba(task.test)[:, 1] for release in releases]
    return judged(np.stack(upper), task.arrays["truth"])


def judged(upper: Array, truth: NDArray[Any]) -> Judged:
    """Of probabilities (runs, rows) of the upper level."""
    given = np.clip(np.where(truth == 1, upper, 1.0 - upper), SMALLEST, 1.0)
    return Judged(float(np.mean((upper > 0.5) != (truth == 1))), float(-np.log(given).mean()))


def diffprivlib_judged(task: Task) -> dict[float, dict[float, Judged]]:
    """Error and log loss by epsilon and C; diffprivlib adds its own intercept."""
    arrays = task.arrays | {name: task.arrays[name][:, 1:] for name in ("train", "test")}
    request = {"epsilons": EPSILONS, "cs": CS, "fits": FITS, "norm": task.query.features.radius}
    found: dict[float, dict[float, Judged]] = {epsilon: {} for epsilon in EPSILONS}
    for cell in diffprivlib_fits(arrays, request):
        means = (float(np.mean(cell[name])) for name in ("errors", "log_losses"))
        found[cell["epsilon"]][cell["c"]] = Judged(*means)
    return found


def not_private(task: Task) -> Judged:
    from sklearn.linear_model import LogisticRegression

    rows, labels, test, truth = task.arrays.values()
    fitted = LogisticRegression(C=1.0, max_iter=1000).fit(rows[:, 1:], labels)
    return judged(fitted.predict_proba(test[:, 1:])[:, 1][None], truth)


if __name__ == "__main__":
    run()
