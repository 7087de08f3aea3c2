"""Sweeps over unseen moments leave the joint law of moments and release as it is (Geweke 2004).

Moments are drawn from the prior, a release is made of them, a chain starts *at* these moments and makes a few sweeps.
What it ends with has the law of the prior, and the noise that it then believes in has the law of the noise. Both are
compared with draws from the prior by Kolmogorov-Smirnov tests at 1e-5 each, below 1e-3 for all together. Twins believe
in noise of half its scale and are caught.
"""

import numpy as np
import pytest
from scipy import stats
from test_unseen_moments import axes, released

from discreet.inference.gaussian.clamped_law import draw_law
from discreet.inference.gaussian.correlation_priors import EqualMargins, Lkj
from discreet.inference.gaussian.gaussian_system import Factor, GaussianSystem, NormalNode
from discreet.inference.gaussian.unseen_moments import BoxPrior, MomentTarget, target_of
from discreet.schema.row_counts import KnownSize, UniformSizes

RUNS, SWEEPS, ROWS = 1500, 3, 20


def gentle_system(p: int, levels: tuple[int, ...]) -> GaussianSystem:
    """Conjugate priors of numbers that rarely leave their bounds, 0 and 10."""
    nodes, effects = [], sum(count - 1 for count in levels)
    for j in range(p):
        mean = np.array([5.0 - 1.5 * j, *([0.3] * j), *([0.1] * effects)])
        order = tuple(range(j)), tuple(range(len(levels)))
        nodes.append(NormalNode(f"x{j}", *order, mean, 20.0 * np.eye(mean.size), 4.0, 4.0))
    return GaussianSystem(tuple(nodes), tuple(Factor(f"f{f}", np.ones(count)) for f, count in enumerate(levels)))


def moments(target: MomentTarget, system, box: BoxPrior, conjugate, rng) -> tuple[np.ndarray, np.ndarray]:
    """A point and a covariance from the prior: conjugate numbers are those of rows, without clamping."""
    unseen, p = target.unseen, target.numbers
    while True:
        law = draw_law(system, axes(p), box, conjugate, float(unseen.concentration[0]), rng)
        means, within = law.means, law.within
        grid = unseen.size_grid
        n = rng.uniform(grid[0], grid[-1]) if grid.size else unseen.size
        if any(conjugate):
            means, within = _of_rows(law, conjugate, int(n), rng)
        if np.max(np.abs(means)) < 1.0 - 1e-9 and np.linalg.eigvalsh(within)[0] > 1e-13:
            break
    links = np.linalg.lstsq(unseen.links, np.log(law.shares / law.shares[0]), rcond=None)[0]
    etas = np.linalg.lstsq(unseen.basis, np.arctanh(means).T, rcond=None)[0].T
    return np.concatenate([links, etas.ravel(), [n] if grid.size else []]), np.ascontiguousarray(within)


def _of_rows(law, conjugate, n: int, rng) -> tuple[np.ndarray, np.ndarray]:
    """Moments of n rows without levels: numbers with a weak prior have exactly the law's, the others come by chance."""
    p, weak = len(conjugate), conjugate.index(True)
    z = np.column_stack([np.ones(n), rng.standard_normal((n, p))])
    rows = np.empty((n, p))
    q, _ = np.linalg.qr(z[:, : 1 + weak])
    exact = np.sqrt(n) * q[:, 1:] @ np.linalg.cholesky(law.within[:weak, :weak]).T if weak else np.empty((n, 0))
    rows[:, :weak] = law.means[:weak, 0] + exact
    for j in range(weak, p):
        slopes = np.linalg.solve(law.within[:j, :j], law.within[:j, j]) if j else np.zeros(0)
        rest = law.within[j, j] - slopes @ law.within[:j, j]
        rows[:, j] = law.means[j, 0] + (rows[:, :j] - law.means[:j, 0]) @ slopes + np.sqrt(rest) * z[:, 1 + j]
    return rows.mean(axis=0)[:, np.newaxis], np.cov(rows.T, ddof=0).reshape(p, p)


def totals(target: MomentTarget, x: np.ndarray, within: np.ndarray) -> np.ndarray:
    """What the terms would be without noise, by cells: shares, means and products written out."""
    unseen, p = target.unseen, target.numbers
    width, links = unseen.basis.shape[1], unseen.links.shape[1]
    shares = np.exp(unseen.links @ x[:links])
    shares /= shares.sum()
    means = np.tanh(x[links : links + p * width].reshape(p, width) @ unseen.basis.T)
    n = x[-1] if unseen.size_grid.size else unseen.size
    found = []
    for t, (i, j) in enumerate(zip(target.released.first, target.released.second, strict=True)):
        cells = target.released.members[t] * shares
        one, other = (np.ones(len(shares)) if k < 0 else means[k] for k in (i, j))
        found.append(n * (cells @ (one * other) + (within[i, j] if j >= 0 else 0.0)))
    return np.array(found)


EDGE = {  # correlations and variances close to the ends of their ranges
    "near the edge": BoxPrior(0.5, 2.0, Lkj(0.5)),
    "equal margins": BoxPrior(0.5, 2.0, EqualMargins(0.5)),
    "a target, equal margins": BoxPrior(1.0, 2.0, EqualMargins(1.0), 1.0),
}
CASES = {
    "one number": (1, (), (False,), 0.0, False),
    "three numbers": (3, (), (False,) * 3, 0.0, False),
    "private n": (2, (), (False,) * 2, 0.0, True),
    "a target": (3, (), (False,) * 3, 1.0, False),
    "levels": (2, (3,), (False,) * 2, 1.0, True),
    "two categories": (2, (3, 2), (False,) * 2, 1.0, False),
    "conjugate": (2, (), (True,) * 2, 0.0, False),
    "conjugate target": (3, (), (False, False, True), 1.0, False),
    "near the edge": (3, (), (False,) * 3, 0.0, False),
    "equal margins": (4, (), (False,) * 4, 0.0, False),
    "a target, equal margins": (4, (), (False,) * 4, 1.0, False),
}


def compared(name: str, believed: float = 1.0, scale: float = 3.0, runs: int = RUNS) -> float:
    """The smallest p-value of all comparisons."""
    from discreet.inference.gaussian.kernels.moment_moves import run_sweeps

    p, levels, conjugate, slopes, private = CASES[name]
    rng = np.random.default_rng(list(CASES).index(name))
    system = gentle_system(p, levels)
    sizes = UniformSizes(2 * ROWS) if private else KnownSize(ROWS)
    box = EDGE.get(name, BoxPrior(1.0, 2.0, Lkj(2.0), slopes))
    terms = released(p, levels, ROWS, private=private, scale=scale, laplace=p % 2 == 0)
    target = target_of(system, axes(p), terms, sizes, box, conjugate, 1.0)
    before, after = [], []
    for run in range(runs):
        x, within = moments(target, system, box, conjugate, rng)
        first = totals(target, x, within)
        noise = rng.laplace(size=first.size) if target.released.laplace[0] else rng.standard_normal(first.size)
        before.append(_seen(x, within, noise))
        made = target.released._replace(value=first + target.released.scale * noise)
        given = made._replace(scale=believed * made.scale)
        hint = target.unseen._replace(seen=np.full(p, (-1.0, 3.0, 100.0)[run % 3]))
        root = np.diag(np.append(np.full(x.size - 1, 0.5), 4.0 if private else 0.5))
        kept = np.empty((SWEEPS, x.size)), np.empty((SWEEPS, p, p)), np.empty((SWEEPS, p))
        run_sweeps(rng, given, target.nodes, target.conjugates, hint, root, 1.0, x, within, *kept)
        after.append(_seen(x, within, (made.value - totals(target, x, within)) / made.scale))
    half = runs // 2  # independent draws on both sides
    pairs = zip(np.array(before)[:half].T, np.array(after)[half:].T, strict=True)
    return min(stats.ks_2samp(one, other).pvalue for one, other in pairs)


def _seen(x: np.ndarray, within: np.ndarray, noise: np.ndarray) -> np.ndarray:
    root = np.sqrt(np.diag(within))
    lower = np.tril_indices(len(within), -1)
    correlations = (within / np.outer(root, root))[lower]
    last = np.linalg.cholesky(within)[-1]
    return np.concatenate([x, np.log(root), correlations, [np.log(last[-1])], noise, np.abs(noise)])


@pytest.mark.parametrize("name", CASES)
def test_sweeps_leave_the_joint_law(name) -> None:
    assert compared(name) > 1e-5


@pytest.mark.parametrize("name", ["three numbers", "a target"])
def test_noise_of_another_scale_is_caught(name) -> None:
    assert compared(name, believed=0.5) < 1e-5
