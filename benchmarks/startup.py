"""What it costs to start: `import discreet` and `discreet --help` against `import numpy`, each in a fresh process."""

import statistics
import subprocess
import sys
import time

RUNS = 7
BASE = ("import numpy", "import numpy")
CONTENDERS = {
    "import discreet": ("import discreet", 1.5),
    "discreet --help": ("import sys; from discreet.cli import main; sys.exit(main(['--help']))", 3.0),
}


def seconds(code: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def run() -> None:
    """Median of interleaved runs: what else the machine does meanwhile hits all of them alike."""
    codes = dict([BASE]) | {name: code for name, (code, _) in CONTENDERS.items()}
    for code in codes.values():  # byte-compile and fill the file cache
        seconds(code)
    times: dict[str, list[float]] = {name: [] for name in codes}
    for _ in range(RUNS):
        for name, code in codes.items():
            times[name].append(seconds(code))
    base = statistics.median(times[BASE[0]])
    print(f"{BASE[0]:<16} {base * 1e3:7.0f} ms")
    for name, (_, target) in CONTENDERS.items():
        median = statistics.median(times[name])
        verdict = "ok" if median <= target * base else "LOST"
        print(f"{name:<16} {median * 1e3:7.0f} ms  {median / base:5.2f}x  target {target:g}x  {verdict}")


if __name__ == "__main__":
    run()
