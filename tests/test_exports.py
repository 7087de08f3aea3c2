"""The root package is exactly its sorted `__all__`, and every name has one home and a docstring."""

import inspect
import subprocess
import sys

import discreet as dc


def test_all_is_sorted_and_complete() -> None:
    assert dc.__all__ == sorted(dc.__all__)
    assert dir(dc) == dc.__all__


def test_every_name_is_documented_and_says_where_it_lives() -> None:
    for name in dc.__all__:
        thing = getattr(dc, name)
        assert thing.__doc__, name
        home = thing.__name__ if inspect.ismodule(thing) else thing.__module__
        assert home.startswith("discreet."), name


def test_verbs_stay_callable_whatever_is_imported_first() -> None:
    code = (
        "import discreet as dc, discreet.release, discreet.pipeline\n"
        "from discreet.release import Release\n"
        "assert callable(dc.release) and dc.Release is Release and callable(dc.load), dc.release\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = "import sys, discreet; print(sorted({'numpy', 'scipy', 'duckdb', 'opendp', 'numba'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout == "[]\n"
