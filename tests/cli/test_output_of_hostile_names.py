"""Names from files reach a terminal visible, on one line and bounded, and a JSON document escaped and whole."""

import ast
import io
import json
import unicodedata
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.cli import terminal
from discreet.cli.progress_line import ERASED, Progress
from discreet.ledger import Ledger
from discreet.posterior import event_log
from discreet.visible import LONGEST, visible

HOSTILE = [
    *("\x1b[2J", "\x1b]0;title\x07", "\x9b31m", "\b\b\b", "\r", "\n", "\x0b", "\x85", "\u2028", "\x7f", "\x00\x01"),
    *("\u202e", "\u2066", "\u200f", "\u200b", "\ufeff", "\u00ad", "\U000e0041", "\ue000", "\U0001f600", "é", "漢"),
    *("[red]", "[/]", "[link=https://x.y]", "\\[bold", ":smile:", "{}", "%s", "{task.completed}", "\nerror: forged\n"),
]
COMMANDS = [
    ["check", "study.toml"],
    ["plan", "study.toml", "--runs", "2"],
    ["compare", "study.toml", "--epsilon", "1", "--runs", "2", "--only", "NAME"],
    ["release", "study.toml", "--dry-run"],
    ["release", "study.toml"],
    ["ledger", "show", "study.ledger"],
    ["ledger", "verify", "study.ledger"],
    ["posterior", "wards.release.json"],
    ["posterior", "by.release.json"],
    ["posterior", "bayes.release.json"],
]
REFUSED = [
    ["plan", "study.toml", "--only", "NAME?"],
    ["plan", "NAME"],
    ["NAME"],
    ["release", "--NAME"],
    ["posterior", "wards.release.json", "--prior", "NAME"],
    ["posterior", "wards.release.json", "--pooling", "NAME"],
    ["ledger", "verify", "study.ledger", "--head", "NAME"],
    ["ledger", "show", "NAME"],
    ["calibrate", "direct", "--prior", "NAME", "--n", "10"],
    ["init", "NAME/\x00", "--epsilon", "1"],
]


def names(seed: int, count: int, *, printable: bool = False) -> list[str]:
    """Different names of hostile pieces; a study itself refuses some of them where texts must be printable."""
    rng = np.random.default_rng(seed)
    pieces = [piece for piece in HOSTILE if piece.isprintable() or not printable]
    return ["".join(rng.choice(pieces, 4)).strip("\x00") + f" {number}" for number in range(count)]


def quoted(text: str) -> str:
    """A TOML string."""
    return '"' + "".join(f"\\U{ord(sign):08x}" for sign in text) + '"'


def write_study(folder: Path, seed: int) -> list[str]:
    """A study in which every name is hostile; its names."""
    first, second, third, dataset, label = shown = names(seed, 5, printable=True)
    ward, flu, *levels = hidden = names(seed + 100, 5)
    levels[-1] += "\x1b[31mx" * 30
    quote = quoted
    mechanism = f'{{kind="NoisyStatistics", epsilon=0.5, label={quote(label)}}}'
    (folder / "study.toml").write_text(f"""
id = {quote(dataset)}
data = "t.parquet"
ledger = "study.ledger"
n = 30
[columns]
{quote(ward)} = {{kind="categorical", levels=[{", ".join(map(quote, levels))}]}}
{quote(flu)} = {{kind="binary"}}
[[release]]
name = {quote(first)}
model = {{kind="DirichletCategorical", column={quote(ward)}}}
mechanism = {mechanism}
out = "wards.release.json"
[[release]]
name = {quote(second)}
model = {{kind="BetaBernoulli", column={quote(flu)}, by={quote(ward)}}}
mechanism = {mechanism}
out = "by.release.json"
[[release]]
name = {quote(third)}
model = {{kind="NaiveBayes", target={quote(ward)}, features=[{quote(flu)}]}}
mechanism = {mechanism}
out = "bayes.release.json"
""")
    pq.write_table(pa.table({ward: levels * 10, flu: [0, 1, 1] * 10}), folder / "t.parquet")
    return [*shown, *hidden[:2], *levels]


def assert_shown(text: str) -> None:
    """Nothing hidden, no endless line."""
    for line in text.split("\n"):
        assert not [sign for sign in line if unicodedata.category(sign) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}]
        assert len(line) <= LONGEST + 100


def hostile_session(run: Callable, folder: Path, seed: int) -> None:
    """Every command on a hostile study, as text and as JSON."""
    given = write_study(folder, seed)
    ledger = Ledger.create("study.ledger", dc.Budget(5.0))
    made = dc.open(pa.table({"x": [0, 1]}), dc.Schema({"x": dc.Binary()}), id="\x1b[2J\u202e" + given[-1])
    dc.release(dc.BetaBernoulli("x"), made, dc.NoisyStatistics(epsilon=1.0, label=given[0]), ledger)
    for command in COMMANDS:
        command = [part.replace("NAME", given[0]) for part in command]
        for extra in ([], ["--json"]):
            ran = run(*command, *extra)
            assert ran.code == 0, ran.err
            assert_shown(ran.err)
            if extra:
                assert all(sign == "\n" or " " <= sign <= "~" for sign in ran.out)
            else:
                assert_shown(ran.out)
            if command[0] == "plan":  # markup is not read
                assert given[0] in (ran.document["releases"][0]["name"] if extra else ran.out)
    told = json.dumps(run("release", "study.toml", "--json").document, ensure_ascii=False)
    assert all(json.dumps(name, ensure_ascii=False)[1:-1] in told for name in given)


@pytest.mark.parametrize("seed", [1, 2])
def test_names_reach_the_terminal_visible(
    run: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.chdir(tmp_path)
    hostile_session(run, tmp_path, seed)


def test_a_raw_name_is_caught(run: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(terminal, "visible", lambda text: text)
    with pytest.raises(AssertionError):
        hostile_session(run, tmp_path, 1)


def test_refusals_repeat_names_visible_and_bounded(run: Callable, study: Callable) -> None:
    study()
    assert run("release", "study.toml", "--only", "wards").code == 0
    for name in (*names(7, 6), "\u202e" * 100_000, "[red]" * 50_000):
        for command in REFUSED:
            for extra in ([], ["--json"]):
                ran = run(*(part.replace("NAME", name) for part in command), *extra)
                assert ran.code in (2, 4, 5), command
                assert_shown(ran.err)
                assert ran.err.count("\n") == 1
                assert len(ran.err) <= LONGEST + 100
                assert "Traceback" not in ran.err
                assert len(ran.out) <= 8 * LONGEST
                assert ran.out.isascii()


def test_names_of_files_reach_the_terminal_visible(
    run: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in names(9, 4):
        name = name.replace("\x00", "").replace("/", "")
        for command in (["init", name], ["init", name], ["ledger", "create", f"{name}.ledger"]):
            for extra in ([], ["--json"]):
                ran = run(*command, "--epsilon", 1, *extra)
                assert_shown(ran.out + ran.err)
                assert "Traceback" not in ran.err
        assert (tmp_path / name / "study.toml").exists()


def test_the_map_of_an_event_log_keeps_its_lines() -> None:
    lines = event_log._columns(["a\nb", "\u202ec", "x" * 50])
    assert lines == ["a b                 ", "\\u202ec             ", "x" * 19 + "…"]


class Watched(io.StringIO):
    """A standard error that somebody looks at."""

    def isatty(self) -> bool:
        return True


def test_a_name_on_a_counting_line_is_shown_and_taken_away(monkeypatch: pytest.MonkeyPatch) -> None:
    errors, output = Watched(), io.StringIO()
    monkeypatch.setattr("sys.stderr", errors)
    monkeypatch.setattr("sys.stdout", output)
    count = Progress("[red]a[/]\u202e{task.completed}\x9b")
    count(3)
    count(1000)
    told = "[red]a[/]\\u202e{task.completed}\\x9b"
    shown = f"{ERASED}{told} 3 states{ERASED}{told} 1,003 states"
    assert errors.getvalue() == shown
    terminal.emit({"a": 1})  # on standard output, whoever looks at standard error
    assert json.loads(output.getvalue()) == {"a": 1}
    assert errors.getvalue() == shown + ERASED


@given(text=st.text(st.characters(), max_size=60) | st.text(max_size=5).map(lambda text: text * 500))
@settings(derandomize=True, deadline=None, max_examples=60)
def test_whatever_is_shown_is_one_bounded_visible_line(text: str) -> None:
    shown = visible(text)
    assert_shown(shown)
    assert "\n" not in shown
    assert len(shown) <= LONGEST
    assert visible(shown) == shown
    if text.isprintable() and text.isascii() and len(text) <= LONGEST:
        assert shown == text


def bare_output(tree: ast.AST) -> list[str]:
    """Ways to write that are not those of the one module for it."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if called in ("print", "typer.echo", "typer.secho", "click.echo", "os.write", "echo", "input"):
                found.append(called)
        if isinstance(node, ast.ImportFrom | ast.Import):
            names = [getattr(node, "module", None) or "", *(alias.name for alias in node.names)]
            found += [name for name in names if name.split(".")[0] in ("rich", "click", "logging")]
        if isinstance(node, ast.Attribute) and node.attr in ("stdout", "stderr", "__stdout__", "__stderr__"):
            found.append(ast.unparse(node))
    return found


def test_only_one_module_writes() -> None:
    folder = Path(terminal.__file__).parent
    for file in folder.glob("*.py"):
        if file.name not in ("terminal.py", "streams.py", "progress_line.py"):
            found = bare_output(ast.parse(file.read_text()))
            assert set(found) <= ({"sys.stdout", "sys.stderr"} if file.name == "__init__.py" else set()), file.name
    assert bare_output(ast.parse("import typer\ntyper.echo('x')\nprint(1)\nfrom rich.console import Console"))
