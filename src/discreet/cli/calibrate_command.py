"""`discreet calibrate`: the parameter of a mechanism for a requested guarantee. Needs no data and no ledger."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import terminal
from discreet.errors import GuaranteeError

if TYPE_CHECKING:
    from discreet.mechanisms.calibrations import Calibration

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None)

Epsilon = Annotated[float, typer.Option(help="Requested epsilon.", show_default=False)]
MaybeEpsilon = Annotated[float | None, typer.Option(help="Requested epsilon.")]
MaybeDelta = Annotated[float | None, typer.Option(help="Requested delta.")]
MaybeOrder = Annotated[float | None, typer.Option(help="Rényi order at which epsilon is meant.")]
Prior = Annotated[str, typer.Option(help="Beta or Dirichlet prior, comma-separated: 6,12.", show_default=False)]
Size = Annotated[int, typer.Option(min=0, max=2**48, help="Public number of records.", show_default=False)]


@app.callback(invoke_without_command=True)
def calibrate(context: typer.Context) -> None:
    """Find the parameter of a mechanism for a guarantee; no data is read.

    \b
    Example:
      discreet calibrate diffused --prior 6,12 --n 100 --order 15 --epsilon 0.1 --json
    """  # noqa: D301
    if context.invoked_subcommand is None:
        terminal.write(context.get_help())


@app.command("noisy-statistics")
def noisy_statistics(
    l1: Annotated[float | None, typer.Option(help="L1 sensitivity, for discrete Laplace noise.")] = None,
    l2: Annotated[float | None, typer.Option(help="L2 sensitivity, for discrete Gaussian noise.")] = None,
    epsilon: MaybeEpsilon = None,
    delta: MaybeDelta = None,
    rho: Annotated[float | None, typer.Option(help="Requested zCDP.")] = None,
    as_json: terminal.AsJson = False,
) -> None:
    """Scale of the noise.

    \b
    Example:
      discreet calibrate noisy-statistics --l1 2 --epsilon 0.5
      discreet calibrate noisy-statistics --l2 1.4142135623730951 --epsilon 1 --delta 1e-6
    """  # noqa: D301
    from discreet.mechanisms import calibrations as calibration

    _show(calibration.noisy_statistics(l1=l1, l2=l2, epsilon=epsilon, delta=delta, rho=rho), as_json)


@app.command("posterior-sample")
def posterior_sample(
    truncation: Annotated[float, typer.Option(help="Smallest probability of the parameter space.", show_default=False)],
    epsilon: Epsilon,
    levels: Annotated[int, typer.Option(min=2, max=2**31, help="Number of levels.")] = 2,
    as_json: terminal.AsJson = False,
) -> None:
    """Temperature of one posterior sample.

    \b
    Example:
      discreet calibrate posterior-sample --truncation 0.2 --epsilon 1
    """  # noqa: D301
    from discreet.mechanisms import calibrations as calibration

    _show(calibration.posterior_sample(truncation=truncation, epsilon=epsilon, levels=levels), as_json)


@app.command("private-gibbs")
def private_gibbs(
    levels: Annotated[str, typer.Option(help="Levels of every field, comma-separated: 8,30,2.", show_default=False)],
    epsilon_per_update: Annotated[float, typer.Option(help="Cost of each update.", show_default=False)],
    sweeps: Annotated[
        int, typer.Option(min=1, max=10**6, help="Number of sweeps, of two updates each.", show_default=False)
    ],
    truncation: Annotated[float, typer.Option(help="Smallest probability, as a share of an even one.")] = 0.1,
    as_json: terminal.AsJson = False,
) -> None:
    """Temperature of a Gibbs chain that pays for every update, and what the chain costs.

    \b
    Example:
      discreet calibrate private-gibbs --levels 8,30,2,2,2 --epsilon-per-update 0.05 --sweeps 200
    """  # noqa: D301
    from discreet.mechanisms import calibrations as calibration

    cost = {"truncation": truncation, "epsilon_per_update": epsilon_per_update}
    _show(calibration.private_gibbs(levels=_levels(levels), sweeps=sweeps, **cost), as_json)


@app.command("direct")
def direct(
    prior: Prior, n: Size, order: MaybeOrder = None, delta: MaybeDelta = None, as_json: terminal.AsJson = False
) -> None:
    """What one draw of the exact posterior costs.

    \b
    Example:
      discreet calibrate direct --prior 6,12 --n 100 --order 2
      discreet calibrate direct --prior 6,12 --n 100 --delta 1e-6
    """  # noqa: D301
    from discreet.mechanisms import calibrations as calibration

    _show(calibration.direct(prior=_prior(prior), n=n, order=order, delta=delta), as_json)


@app.command("diffused")
def diffused(
    prior: Prior,
    n: Size,
    epsilon: Epsilon,
    order: MaybeOrder = None,
    delta: MaybeDelta = None,
    as_json: terminal.AsJson = False,
) -> None:
    """Scale r of the counts in diffused sampling.

    \b
    Example:
      discreet calibrate diffused --prior 6,12 --n 100 --order 15 --epsilon 0.1
      discreet calibrate diffused --prior 6,12 --n 100 --epsilon 1 --delta 1e-6 --json
    """  # noqa: D301
    from discreet.mechanisms import calibrations as calibration

    _show(calibration.diffused(prior=_prior(prior), n=n, epsilon=epsilon, order=order, delta=delta), as_json)


@app.command("concentrated")
def concentrated(
    prior: Prior,
    n: Size,
    epsilon: Epsilon,
    order: MaybeOrder = None,
    delta: MaybeDelta = None,
    as_json: terminal.AsJson = False,
) -> None:
    """Shrink m of the prior in concentrated sampling.

    \b
    Example:
      discreet calibrate concentrated --prior 6,12 --n 100 --order 15 --epsilon 0.1
    """  # noqa: D301
    from discreet.mechanisms import calibrations as calibration

    _show(calibration.concentrated(prior=_prior(prior), n=n, epsilon=epsilon, order=order, delta=delta), as_json)


@app.command("gibbs-posterior")
def gibbs_posterior(
    prior_precision: Annotated[float, typer.Option(help="Strong convexity of the prior.", show_default=False)],
    epsilon: Epsilon,
    delta: Annotated[float, typer.Option(help="Requested delta.", show_default=False)],
    lipschitz: Annotated[float | None, typer.Option(help="Lipschitz constant of the loss.")] = None,
    gradient: Annotated[float | None, typer.Option(help="Largest gradient difference, if below 2 L.")] = None,
    n: Annotated[int, typer.Option(min=0, max=2**48, help="Public number of records.")] = 0,
    loss_convexity: Annotated[float, typer.Option(help="Strong convexity of every record's loss.")] = 0.0,
    bound: Annotated[str, typer.Option(help="gdp, renyi, minami or minami-printed.")] = "gdp",
    as_json: terminal.AsJson = False,
) -> None:
    """Inverse temperature of a Gibbs posterior.

    \b
    Example:
      discreet calibrate gibbs-posterior --lipschitz 1 --prior-precision 1 --epsilon 1 --delta 1e-5
    """  # noqa: D301
    from discreet.mechanisms import calibrations as calibration

    if bound not in ("gdp", "renyi", "minami", "minami-printed"):
        raise GuaranteeError(f"calibrate.bound must be gdp, renyi, minami or minami-printed, got {bound!r}")
    found = calibration.gibbs_posterior(
        epsilon=epsilon,
        delta=delta,
        lipschitz=lipschitz,
        gradient=gradient,
        prior_precision=prior_precision,
        n=n,
        loss_convexity=loss_convexity,
        bound=bound,  # type: ignore[arg-type]
    )
    if not found.proved:
        raise GuaranteeError(f"calibrate.bound must be proved, but {bound} is not at epsilon = {epsilon:g}: use gdp")
    _show(found, as_json)


def _prior(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise GuaranteeError(f"calibrate.prior must be numbers separated by commas, got {text!r}") from None


def _levels(text: str) -> tuple[int, ...]:
    parts = text.split(",")
    if not all(part.strip().isdecimal() and len(part) < 10 for part in parts):
        raise GuaranteeError(f"calibrate.levels must be whole numbers below 10^9 with commas between, got {text!r}")
    return tuple(int(part) for part in parts)


def _show(found: "Calibration", as_json: bool) -> None:
    document: dict[str, Any] = found.to_json()
    if as_json:
        terminal.emit(document)
        return
    lines = [(found.name, f"{found.value:.12g}"), ("guarantee", str(found.guarantee))]
    terminal.facts(terminal.console(), "calibrated", lines)
