"""The command line: the library's verbs, one thin file each. Heavy imports wait until a command runs."""

import os
import sys
import warnings
from collections.abc import Sequence

import typer
from typer.main import get_command

from discreet.cli import interrupts, streams, terminal
from discreet.cli.commands import calibrate_command as calibrate
from discreet.cli.commands import check_command as check
from discreet.cli.commands import compare_command as compare
from discreet.cli.commands import demo_command as demo
from discreet.cli.commands import init_command as init
from discreet.cli.commands import ledger_command as ledger
from discreet.cli.commands import plan_command as plan
from discreet.cli.commands import posterior_command as posterior
from discreet.cli.commands import records_command as records
from discreet.cli.commands import release_command as release
from discreet.cli.commands import report_command as report
from discreet.cli.commands import reproduce_command as reproduce

__all__ = ["app", "main"]

COMPLETION = "_DISCREET_COMPLETE"  # what the completion scripts of shells set

# Pretty tracebacks print local variables, which may be private rows: `main` prints one line instead.
app = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode=None)
app.command(epilog=terminal.EXIT_CODES)(demo.demo)
app.command(epilog=terminal.EXIT_CODES)(init.init)
app.command(epilog=terminal.EXIT_CODES)(check.check)
app.command(epilog=terminal.EXIT_CODES)(plan.plan)
app.command(epilog=terminal.EXIT_CODES)(compare.compare)
app.command(epilog=terminal.EXIT_CODES)(release.release)
app.command(epilog=terminal.EXIT_CODES)(posterior.posterior)
app.command(epilog=terminal.EXIT_CODES)(records.synthesize)
app.command(epilog=terminal.EXIT_CODES)(records.predict)
app.command(epilog=terminal.EXIT_CODES)(report.report)
app.command(epilog=terminal.EXIT_CODES)(reproduce.reproduce)
app.add_typer(ledger.app, name="ledger")
app.add_typer(calibrate.app, name="calibrate")


@app.callback(invoke_without_command=True, epilog=terminal.EXIT_CODES)
def discreet(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", help="Print the version and exit."),
) -> None:
    """Private Bayesian posteriors from a sensitive table, paid from a ledger.

    \b
    Example:
      discreet demo
      discreet init study --epsilon 3 --delta 1e-6
      discreet check study/study.toml
      discreet plan study/study.toml
      discreet release study/study.toml --dry-run
      discreet release study/study.toml
      discreet posterior study/smoking.release.json
      discreet report --study study/study.toml -o report.html
    """  # noqa: D301  # \b keeps the lines of the example
    if version:
        from discreet import __version__

        terminal.write(f"discreet {__version__}")
    elif context.invoked_subcommand is None:
        terminal.write(context.get_help())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    Those of `terminal.EXIT_CODES`; 128 and the number of the signal that stopped it.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    with streams.guarded(), interrupts.unwinding() as signals:
        try:
            code = _told(given)
        except KeyboardInterrupt:  # while the words for another end were looked for; no second one is raised
            code = terminal.INTERRUPTED
            sys.stderr.write("error: interrupted\n")
    return 128 + signals[0] if signals and code != 0 else code  # however its end was told


def _told(given: list[str]) -> int:
    """Run a command and say how it ended, outside of any handler: whatever is raised meanwhile has no context."""
    try:
        end = _run(given)
        code = end if isinstance(end, int) else terminal.report(end, as_json="--json" in given)
        sys.stdout.flush()
    except streams.DeadOutput as dead:
        code = dead.code
        if not dead.quiet:
            sys.stderr.write(f"error: {dead}\n")
    return code


def _run(given: list[str]) -> int | BaseException:
    """The exit code, or what stopped the command."""
    try:
        command = get_command(app)
        if COMPLETION in os.environ:  # a shell asks what may come next: answered with SystemExit
            command.main(given, "discreet", standalone_mode=False)
        with warnings.catch_warnings(), command.make_context("discreet", list(given)) as context:
            warnings.simplefilter("ignore")  # whether a computation warns may depend on a row
            command.invoke(context)
    except typer.Exit as asked:  # help was shown
        return asked.exit_code
    except (streams.DeadOutput, SystemExit):
        raise
    except BaseException as problem:  # also panics of compiled libraries, which are no Exception
        return problem
    return 0
