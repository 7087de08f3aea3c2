"""How many files one release walks through, from the table to the posterior (`python tests/walk.py` lists them).

The limits are those of MOST: the files that there are, so that one more is a decision.
"""

import pytest

from walk import MOST, visited, walk


@pytest.mark.parametrize("name", ["BetaBernoulli", "LogisticRegression"])
def test_a_release_walks_through_few_files(name: str) -> None:
    files = walk(name)
    assert len(files) <= MOST[name], files
    assert "pipeline.py" in files


@pytest.mark.audit
def test_a_regression_walks_through_few_files() -> None:
    files = walk("LinearRegression")
    assert len(files) <= MOST["LinearRegression"], files


def test_a_file_that_is_visited_is_seen() -> None:
    from discreet.numerics.gamma_functions import log_polya

    assert visited(lambda: log_polya(3.0, 2.0)) == ["numerics/gamma_functions.py"]
