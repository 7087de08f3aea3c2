"""The registry: every figure and table of the three papers that has computable content, by name, one line each."""

from discreet.errors import QueryError
from discreet.studies.foulds.one_posterior import FIGURE_1
from discreet.studies.foulds.sampling_error import FIGURE_2
from discreet.studies.minami.gaussian_mean_draw import THEOREM_15
from discreet.studies.minami.largest_temperature import COROLLARY_8
from discreet.studies.minami.logit_normal import EXAMPLE_17
from discreet.studies.minami.loss_differences import LOSS_DIFFERENCES
from discreet.studies.minami.normal_limit import THEOREM_16
from discreet.studies.reproduction import Reproduction

__all__ = ["REPRODUCTIONS", "chosen"]

EVERYTHING = "all"

_LISTED = (
    FIGURE_1,
    FIGURE_2,
    LOSS_DIFFERENCES,
    COROLLARY_8,
    THEOREM_15,
    THEOREM_16,
    EXAMPLE_17,
)

REPRODUCTIONS: dict[str, Reproduction] = {one.name: one for one in _LISTED}


def chosen(name: str) -> tuple[Reproduction, ...]:
    """One by its name, all of a paper by its first author, or everything."""
    found = tuple(one for key, one in REPRODUCTIONS.items() if name in (EVERYTHING, key, key.split("-")[0]))
    if not found:
        raise QueryError(f"reproduce NAME must be one that --list shows, a paper's first author or all, got {name!r}")
    return found
