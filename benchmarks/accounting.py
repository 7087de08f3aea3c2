"""Accounting of 1,000 mixed releases against dp-accounting's PLD of 1,000 different Gaussians; one calibration."""

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

    code = "import time; t = time.perf_counter(); {}; print(time.perf_counter() - t)"
    calibrate = "from discreet.accounting.conversions import gaussian_mu; gaussian_mu(1.0, 1e-5)"
    seconds = {
        name: min(
            float(subprocess.run([sys.executable, "-c", code.format(what)], check=True, capture_output=True).stdout)
            for _ in range(3)
        )
        for name, what in {"calibration": calibrate, "scipy.stats": "import scipy.stats"}.items()
    }
    ratio = seconds["calibration"] / seconds["scipy.stats"]
    verdict = "ok" if ratio <= 1 else "LOST"
    print(f"one calibration in a fresh process: {ratio:.2f}x of importing scipy.stats  target 1x  {verdict}")
