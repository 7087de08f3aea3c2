"""`discreet calibrate`: the parameter of a mechanism for a requested guarantee. Needs no data and no ledger.

Its commands are the `calibrate` functions of the registered mechanisms, and their options are those functions'
arguments. They are looked up when one is asked for: the registry takes longer to import than help may take.
"""

import inspect
import re
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperGroup
from typer.main import get_group

from discreet.cli import terminal
from discreet.errors import GuaranteeError

if TYPE_CHECKING:
    from discreet.mechanisms.base import Argument, Calibration

__all__ = ["app", "commands"]

KINDS = {int: "whole numbers below 10^9", float: "numbers"}


class Registered(TyperGroup):
    """A group whose commands are the mechanisms."""

    def list_commands(self, ctx: Any) -> list[str]:
        """In the order of the registry."""
        return list(commands())

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """By name; None where there is no such mechanism."""
        return commands().get(cmd_name)


app = typer.Typer(rich_markup_mode=None, cls=Registered)


@app.callback(invoke_without_command=True)
def calibrate(context: typer.Context) -> None:
    """Find what a mechanism needs for a guarantee, free.

    \b
    Example:
      discreet calibrate diffused --prior 6,12 --n 100 --order 15 --epsilon 0.1 --json
    """  # noqa: D301
    if context.invoked_subcommand is None:
        terminal.write(context.get_help())


@cache
def commands() -> dict[str, Any]:
    """The commands by name: the short one that a mechanism gives itself, or its class name with hyphens."""
    from discreet.mechanisms import MECHANISMS

    found, made = typer.Typer(rich_markup_mode=None), {}
    for name, mechanism in MECHANISMS.items():
        if mechanism.calibrate is not None:
            short = mechanism.short_name
            made[short if short and short not in made else _hyphenated(name)] = mechanism.calibrate
    for name, function in made.items():
        found.command(name, epilog=terminal.EXIT_CODES)(_command(function))
    return dict(get_group(found).commands)


def _command(function: "Callable[..., Calibration]") -> Callable[..., None]:
    """The function as typer reads commands: an option for each argument, and --json."""
    hints = get_type_hints(function, include_extras=True)
    lists: dict[str, type[Any]] = {}
    options = []
    for one in inspect.signature(function).parameters.values():
        kind, about = get_args(hints[one.name])
        if get_origin(kind) is tuple:
            lists[one.name], kind = get_args(kind)[0], str
        options.append(one.replace(annotation=Annotated[kind, _option(about, one.default is one.empty)]))

    def command(as_json: bool = False, quiet: bool = False, **given: Any) -> None:
        found = function(**{name: _listed(name, value, lists.get(name)) for name, value in given.items()})
        if not found.proved:
            bound, epsilon = given["bound"], given["epsilon"]
            raise GuaranteeError(
                f"calibrate.bound must be proved, but {bound} is not at epsilon = {epsilon:g}: use gdp"
            )
        _show(found, as_json, quiet)

    options += [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=shown)
        for name, shown in (("as_json", terminal.AsJson), ("quiet", terminal.Quiet))
    ]
    command.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in options}
    command.__doc__ = inspect.cleandoc(function.__doc__ or "").replace("Example:", "\b\nExample:")
    return command


def _option(about: "Argument", required: bool) -> Any:
    return typer.Option(help=about.help, min=about.least, max=about.most, show_default=not required)


def _listed(name: str, value: Any, kind: type[Any] | None) -> Any:
    """The numbers of an argument with commas between them; every other argument as it is."""
    if kind is None:
        return value
    parts = [part.strip() for part in value.split(",")]
    try:
        if kind is int and not all(part.isdecimal() and len(part) < 10 for part in parts):
            raise ValueError
        return tuple(kind(part) for part in parts)
    except ValueError:
        raise GuaranteeError(f"calibrate.{name} must be {KINDS[kind]} separated by commas, got {value!r}") from None


def _hyphenated(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower()


def _show(found: "Calibration", as_json: bool, quiet: bool) -> None:
    document: dict[str, Any] = found.to_json()
    if as_json:
        terminal.emit(document)
        return
    lines = [(found.name, f"{found.value:.12g}"), ("guarantee", str(found.guarantee))]
    terminal.facts(terminal.console(quiet=quiet), "calibrated", lines)
