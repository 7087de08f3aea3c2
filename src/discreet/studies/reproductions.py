"""The registry: every figure and table of the three papers that has computable content, by name, one line each."""

from discreet.errors import QueryError
from discreet.studies.foulds.adversarial_data import ADVERSARIAL_DATA
from discreet.studies.foulds.annealed_weights import ANNEALED_WEIGHTS
from discreet.studies.foulds.collapsed_conditional import EQUATION_48
from discreet.studies.foulds.efficiency_table import TABLE_1
from discreet.studies.foulds.held_out_cells import FIGURE_6, SUPPLEMENT_FIGURE_2
from discreet.studies.foulds.metropolis_outcomes import METROPOLIS
from discreet.studies.foulds.noiseless_limit import LEMMA_1
from discreet.studies.foulds.one_posterior import FIGURE_1
from discreet.studies.foulds.random_scan import RANDOM_SCAN
from discreet.studies.foulds.sampling_error import FIGURE_2
from discreet.studies.foulds.sequential_dirichlet import SEQUENTIAL_DIRICHLET
from discreet.studies.foulds.state_maps import FIGURES_3_TO_5, SUPPLEMENT_FIGURES_3_TO_5
from discreet.studies.foulds.states_in_use import STATES_IN_USE
from discreet.studies.foulds.tempered_maps import FIGURE_7, SUPPLEMENT_FIGURE_6
from discreet.studies.geumlek.calibrated_fractions import CALIBRATION
from discreet.studies.geumlek.direct_orders import DIRECT_SAMPLING
from discreet.studies.geumlek.dirichlet_draws import DIRICHLET_DRAWS
from discreet.studies.geumlek.gaussian_draws import GAUSSIAN_DRAWS
from discreet.studies.geumlek.held_out_draws import APPENDIX_FIGURE_1, APPENDIX_FIGURE_2
from discreet.studies.geumlek.label_flip import LEMMA_3
from discreet.studies.geumlek.private_classification import FIGURES_ABALONE, FIGURES_ADULT, FIGURES_DIGITS
from discreet.studies.geumlek.query_by_beta import STATISTICAL_QUERY
from discreet.studies.minami.bounded_ball import THEOREM_10
from discreet.studies.minami.conditions_table import TABLE_OF_CONDITIONS
from discreet.studies.minami.gaussian_mean_draw import THEOREM_15
from discreet.studies.minami.hinge_risk import EXAMPLE_19
from discreet.studies.minami.largest_temperature import COROLLARY_8
from discreet.studies.minami.logistic_intercept import LOGISTIC_REGRESSION
from discreet.studies.minami.logit_normal import EXAMPLE_17
from discreet.studies.minami.loss_differences import LOSS_DIFFERENCES
from discreet.studies.minami.normal_limit import THEOREM_16
from discreet.studies.minami.steps_to_converge import PROPOSITION_13
from discreet.studies.reproduction import Reproduction

__all__ = ["REPRODUCTIONS", "chosen"]

EVERYTHING = "all"

_LISTED = (
    FIGURE_1,
    FIGURE_2,
    TABLE_1,
    LEMMA_1,
    RANDOM_SCAN,
    METROPOLIS,
    ANNEALED_WEIGHTS,
    SEQUENTIAL_DIRICHLET,
    EQUATION_48,
    FIGURES_3_TO_5,
    FIGURE_6,
    FIGURE_7,
    STATES_IN_USE,
    ADVERSARIAL_DATA,
    SUPPLEMENT_FIGURE_2,
    SUPPLEMENT_FIGURES_3_TO_5,
    SUPPLEMENT_FIGURE_6,
    LOSS_DIFFERENCES,
    TABLE_OF_CONDITIONS,
    COROLLARY_8,
    THEOREM_10,
    LOGISTIC_REGRESSION,
    PROPOSITION_13,
    THEOREM_15,
    THEOREM_16,
    EXAMPLE_17,
    EXAMPLE_19,
    DIRECT_SAMPLING,
    CALIBRATION,
    APPENDIX_FIGURE_1,
    APPENDIX_FIGURE_2,
    FIGURES_ABALONE,
    FIGURES_ADULT,
    FIGURES_DIGITS,
    LEMMA_3,
    DIRICHLET_DRAWS,
    GAUSSIAN_DRAWS,
    STATISTICAL_QUERY,
)

REPRODUCTIONS: dict[str, Reproduction] = {one.name: one for one in _LISTED}


def chosen(name: str) -> tuple[Reproduction, ...]:
    """One by its name, all of a paper by its first author, or everything."""
    found = tuple(one for key, one in REPRODUCTIONS.items() if name in (EVERYTHING, key, key.split("-")[0]))
    if not found:
        raise QueryError(f"reproduce NAME must be one that --list shows, a paper's first author or all, got {name!r}")
    return found
