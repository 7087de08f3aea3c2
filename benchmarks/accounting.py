"""Accounting of 1,000 mixed releases against dp-accounting's PLD of 1,000 different Gaussians; calibrations."""

import subprocess
import sys
import time

import discreet as dc


def run() -> None:
    from dp_accounting import GaussianDpEvent
    from dp_accounting.pld import PLDAccountant

    parts = [dc.PureDP(0.01 + 1e-5 * i) for i in range(500)] + [dc.GaussianDP(0.02 + 1e-5 * i) for i in range(500)]
    start = time.perf_counter()
    epsilon = dc.Composed(tuple(parts)).epsilon(1e-6)
    ours = time.perf_counter() - start
    print(f"1,000 mixed releases: epsilon = {epsilon:.4f} at delta = 1e-6 in {ours:.2f} s")

    accountant = PLDAccountant()
    start = time.perf_counter()
    for i in range(1000):
        accountant.compose(GaussianDpEvent(50.0 + 0.01 * i))
    accountant.get_epsilon(1e-6)
    theirs = time.perf_counter() - start
    verdict = "ok" if ours <= theirs / 10 else "LOST"
    print(f"dp-accounting, 1,000 Gaussians: {theirs:.2f} s; ratio {ours / theirs:.3f}x  target 0.1x  {verdict}")

    levels = "dc.DirichletCategorical('w', prior=3.0).query(dc.Schema({'w': dc.Categorical(range(1000))}, n=10_000))"
    seconds = {
        name: _fresh(what)
        for name, what in {
            "one calibration": "from discreet.accounting.conversions import gaussian_mu; gaussian_mu(1.0, 1e-5)",
            "diffused draw of 1,000 levels, by order": "import discreet as dc; "
            f"dc.DiffusedSample(epsilon=1, order=15).fractions({levels})",
            "diffused draw of 1,000 levels, by delta": "import discreet as dc; "
            f"dc.DiffusedSample(epsilon=1, delta=1e-6).fractions({levels})",
            "concentrated draw of 1,000 levels, by delta": "import discreet as dc; "
            f"dc.ConcentratedSample(epsilon=1, delta=1e-6).fractions({levels})",
        }.items()
    }
    reference = _fresh("import scipy.stats")
    for name, took in seconds.items():
        ratio = took / reference
        verdict = "ok" if ratio <= 1 else "LOST"
        print(f"{name}, in a fresh process: {ratio:.2f}x of importing scipy.stats  target 1x  {verdict}")


def _fresh(statement: str) -> float:
    """Seconds of a statement in a new process, the best of three."""
    code = f"import time; t = time.perf_counter(); {statement}; print(time.perf_counter() - t)"
    command = [sys.executable, "-c", code]
    return min(float(subprocess.run(command, check=True, capture_output=True).stdout) for _ in range(3))
