"""League of 90% intervals: records drawn from real tables, our posterior against what a user would take instead.

Every method reads the same release where it reads one, except diffprivlib, which has its own noise and no intervals.

- ours: the default posterior of `NoisyStatistics` at pure epsilon;
- plug-in: the same noise (OpenDP's sampler), its numbers taken at face value in the conjugate update;
- one draw: the papers' posterior sample, with the interval this library gives it (shares only);
- augmentation and Gaussian sums: published samplers, our own implementations (`interval_peers`);
- diffprivlib: its mean and its linear regression;
- no privacy: the textbook interval on the records themselves, the ceiling; NumPyro's and PyMC's NUTS on them as well.

A row is one number of one question: root mean squared error, median width and coverage of 90% intervals over the
samples, with two standard errors of that coverage; seconds of one answer; the ratio of errors, ours to theirs, on the
samples that both have answered; "hidden" where noise hides the number, so that our interval is the prior's. Methods of
milliseconds answer every sample, the others the first of them. Lost rows come first: errors more than two standard
errors above a peer's that keeps the same budget, or more seconds.

python -m benchmarks.intervals --only rings --samples 100 --peers 5     one question, fewer samples
"""

from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta, t
from threadpoolctl import threadpool_limits

import discreet as dc
from benchmarks.interval_peers import augmented_normal, augmented_share, gaussian_sums
from benchmarks.interval_tasks import Question, Released, questions
from benchmarks.peers import diffprivlib_fits, peer_answers
from benchmarks.tables import DATA

EPSILONS = (0.1, 1.0)
MOST_IMAGINED = 1000  # records that augmentation imagines, and chains go through, one by one and thousands of times
SAMPLES, SLOW_SAMPLES, CHAIN_SAMPLES = 500, 40, 5  # of quick methods, of peers, of chains on the records themselves
TAILS, LEVEL = (0.05, 0.95), 0.9
TRUNCATION = 0.05  # of one draw of a share: the paper's
OURS, CEILING = "ours", "no privacy"
CHAINS = {"NumPyro": "numpyro", "PyMC": "pymc"}  # no privacy either
CHAIN = {"warm_up": 500, "draws": 500, "chains": 2}
POINTS = Path(__file__).with_name("diffprivlib_points.py")

Array = NDArray[np.float64]
Answer = tuple[Array, Array, Array]


@dataclass(frozen=True, eq=False)
class Answers:
    """What one method said of all samples: arrays (samples, numbers)."""

    estimate: Array
    lower: Array
    upper: Array
    seconds: float

    @classmethod
    def of(cls, found: list[tuple[Answer, float]]) -> "Answers":
        stacked = (np.array([answer[part] for answer, _ in found]) for part in range(3))
        return cls(*stacked, seconds=float(np.median([seconds for _, seconds in found])))


def run(only: str = "", samples: int = SAMPLES, slow: int = SLOW_SAMPLES) -> None:
    if not DATA.exists():
        print("skipped: shared data are absent")
        return
    lines: list[tuple[bool, str]] = []
    for question in (one for one in questions() if only in one.name):
        for epsilon in EPSILONS:
            print(f"  {question.name} ({question.data}, n = {question.n:,}, epsilon = {epsilon:g}) …", flush=True)
            lines += rows(question, epsilon, answered(question, epsilon, samples, slow))
    print("\n| question | epsilon | number | method | samples | error | ours / theirs | width | coverage | seconds | |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for _, line in sorted(lines, key=lambda found: not found[0]):
        print(line)


def rows(question: Question, epsilon: float, found: dict[str, Answers]) -> Iterator[tuple[bool, str]]:
    """A line for each number and method, and whether ours lost to it."""
    for k, name in enumerate(question.names):
        squares = {method: (one.estimate[:, k] - question.truth[k]) ** 2 for method, one in found.items()}
        errors = {method: float(np.sqrt(square.mean())) for method, square in squares.items()}
        for method, one in found.items():
            held = (one.lower[:, k] <= question.truth[k]) & (question.truth[k] <= one.upper[:, k])
            bands = bool(np.isfinite(one.lower).all())
            both = len(squares[method])
            apart = squares[OURS][:both] - squares[method]
            worse = apart.mean() > 2.0 * apart.std(ddof=1) / np.sqrt(both)
            peer = method not in (OURS, CEILING, *CHAINS)
            lost = [word for word, is_so in (("error", worse), ("time", found[OURS].seconds > one.seconds)) if is_so]
            lost = lost if peer else []
            chance = 2.0 * np.sqrt(LEVEL * (1.0 - LEVEL) / both)
            width = (
                f"{np.median(one.upper[:, k] - one.lower[:, k]):.3g} | {held.mean():.1%} ± {chance:.1%}"
                if bands
                else "none | none"
            )
            ratio = f"{np.sqrt(squares[OURS][:both].mean()) / errors[method]:.2f}" if method != OURS else ""
            told = f"LOST {', '.join(lost)}" if lost else ""
            hides = method == OURS and np.median(one.upper[:, k] - one.lower[:, k]) > question.short[k]
            told = "hidden" if hides else told
            yield (
                bool(lost),
                f"| {question.name} | {epsilon:g} | {name} | {method} | {both} | {errors[method]:.3g} | {ratio} "
                f"| {width} | {one.seconds:.3f} | {told} |",
            )


def answered(question: Question, epsilon: float, samples: int, slow: int) -> dict[str, Answers]:
    """Every method on the same samples; slow ones on the first of them."""
    rng = np.random.default_rng(7)
    said: dict[str, list[tuple[Answer, float]]] = {}
    first: list[Array] = []
    with threadpool_limits(1, user_api="blas"):
        for seed in range(samples):
            frame = question.sample(rng)
            methods, released = quick(question, epsilon, frame, seed)
            if seed < slow:
                first.append(frame[[*question.bounds]].to_numpy(dtype=float))
                methods |= peers(question, released, np.random.default_rng(seed))
            for name, method in methods.items():
                said.setdefault(name, []).append(timed(method))
    found = {name: Answers.of(one) for name, one in said.items()}
    if not first:
        return found
    arrays = np.array(first)
    found |= {} if question.is_share else {"diffprivlib": theirs(question, arrays, epsilon)}
    if question.n > MOST_IMAGINED:
        return found
    return found | {name: chains(question, arrays[:CHAIN_SAMPLES], CHAINS[name]) for name in CHAINS}


def quick(
    question: Question, epsilon: float, frame: Any, seed: int
) -> tuple[dict[str, Callable[[], Answer]], Released]:
    """Methods of milliseconds, and the release that others read."""
    table = dc.open(frame, dc.Schema(question.schema, n=question.n), id="sample")
    (release,) = dc.simulate(question.model, table, dc.NoisyStatistics(epsilon=epsilon), runs=1, seed=seed)
    methods: dict[str, Callable[[], Answer]] = {
        OURS: lambda: question.answer(release.posterior()),
        "plug-in": lambda: question.answer(release.posterior("plug-in")),
        CEILING: lambda: exact(question, frame),
    }
    if question.is_share:
        draw = dc.PosteriorSample(epsilon=epsilon, truncation=TRUNCATION)
        (drawn,) = dc.simulate(question.model, table, draw, runs=1, seed=seed)
        methods["one draw"] = lambda: question.answer(drawn.posterior())
    half = {} if question.is_share else dict(zip(question.bounds, question.half, strict=True))
    return methods, Released.of(release, question.n, half)


def peers(question: Question, released: Released, rng: np.random.Generator) -> dict[str, Callable[[], Answer]]:
    columns = [*question.bounds]
    if question.is_share:
        return {"augmentation": lambda: read(augmented_share(released, rng)[:, np.newaxis])}
    if len(columns) == 1:
        return {
            "augmentation": lambda: read(question.centre + question.half * augmented_normal(released, columns, rng)[0])
        }
    sums = {"Gaussian sums": lambda: read(in_own_units(question, *split(gaussian_sums(released, columns, rng)[0])))}
    if question.n > MOST_IMAGINED:
        return sums
    imagined = lambda: read(in_own_units(question, *lines_of(*augmented_normal(released, columns, rng))))  # noqa: E731
    return {"augmentation": imagined} | sums


def lines_of(means: Array, covariances: Array) -> tuple[Array, Array]:
    """Constant and slopes of the last column on the others, draw by draw."""
    slopes = np.linalg.solve(covariances[:, :-1, :-1], covariances[:, :-1, -1:])[..., 0]
    return means[:, -1] - (means[:, :-1] * slopes).sum(axis=1), slopes


def split(drawn: Array) -> tuple[Array, Array]:
    return drawn[:, 0], drawn[:, 1:]


def in_own_units(question: Question, constant: Array, slopes: Array) -> Array:
    """From half-ranges to the columns' units."""
    own = slopes * question.half[-1] / question.half[:-1]
    return np.column_stack([question.centre[-1] + question.half[-1] * constant - own @ question.centre[:-1], own])


def read(draws: Array) -> Answer:
    low, high = np.quantile(draws, TAILS, axis=0)
    return draws.mean(axis=0), low, high


def exact(question: Question, frame: Any) -> Answer:
    """The textbook's interval on the records themselves."""
    values = np.clip(frame[[*question.bounds]].to_numpy(dtype=float), *zip(*question.bounds.values(), strict=True))
    if question.is_share:
        ones = values.sum()
        low, high = beta(1 + ones, 1 + question.n - ones).ppf(TAILS)
        return np.array([(1 + ones) / (2 + question.n)]), np.array([low]), np.array([high])
    design = np.column_stack([np.ones(question.n), values[:, :-1]])
    estimate, squares, *_ = np.linalg.lstsq(design, values[:, -1])
    freedom = question.n - design.shape[1]
    deviation = np.sqrt(np.diag(np.linalg.inv(design.T @ design)) * squares[0] / freedom)
    low, high = (estimate + t(freedom).ppf(tail) * deviation for tail in TAILS)
    return estimate, low, high


def theirs(question: Question, samples: Array, epsilon: float) -> Answers:
    """diffprivlib on the same samples; its time is not told, its environment is another."""
    request = {"epsilons": [epsilon]} | ends(question)
    found = diffprivlib_fits({"samples": samples}, request, script=POINTS)
    estimates = np.array([one["estimate"] for one in found])
    nothing = np.full_like(estimates, np.nan)
    return Answers(estimates, nothing, nothing, seconds=float("nan"))


def chains(question: Question, samples: Array, package: str) -> Answers:
    """NUTS on the records themselves, with one compilation for all samples, which is not in its seconds."""
    request = {"kind": "share" if question.is_share else "line"} | ends(question) | CHAIN
    script = Path(__file__).with_name(f"{package}_ceiling.py")
    found = peer_answers({"samples": samples}, request, package, (package,), script)
    parts = (np.array([one[name] for one in found]) for name in ("estimate", "lower", "upper"))
    return Answers(*parts, seconds=float(np.median([one["seconds"] for one in found])))


def ends(question: Question) -> dict[str, list[float]]:
    low, high = zip(*question.bounds.values(), strict=True)
    return {"low": list(low), "high": list(high)}


def timed(method: Callable[[], Answer]) -> tuple[Answer, float]:
    start = perf_counter()
    answer = method()
    return answer, perf_counter() - start


if __name__ == "__main__":
    parser = ArgumentParser()
    parser.add_argument("--only", default="", help="questions with this text in their name")
    parser.add_argument("--samples", type=int, default=SAMPLES)
    parser.add_argument("--peers", type=int, default=SLOW_SAMPLES, dest="slow", help="samples that slow peers answer")
    run(**vars(parser.parse_args()))
