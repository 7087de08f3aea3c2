"""Releases, studies and ledgers as files: regular, bounded, unambiguous; written complete or not at all."""

import copy
import errno
import json
import os
import random
import socket
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import discreet as dc
from discreet import recipe
from discreet.cli.study import Study
from discreet.errors import DiscreetError, ReleaseError
from discreet.ledger import Ledger
from discreet.release import Release, load


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    schema = dc.Schema({"x": dc.Binary(), "w": dc.Categorical(["a", "b"])})
    data = dc.open(pa.table({"x": [0, 1, 1], "w": ["a", "b", "a"]}), schema, id="t")
    ledger = Ledger.create(tmp_path_factory.mktemp("paid") / "t.ledger", dc.Budget(3.0, 1e-6))
    return dc.release(dc.BetaBernoulli("x", by="w"), data, dc.NoisyStatistics(epsilon=0.5), ledger)


def special(folder: Path) -> dict[str, Path]:
    """Everything a name may stand for that is no regular file."""
    os.mkfifo(folder / "pipe")
    (folder / "folder").mkdir()
    (folder / "to_pipe").symlink_to("pipe")
    (folder / "round").symlink_to("round")
    where = os.getcwd()
    os.chdir(folder)  # the names of sockets are short
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind("socket")
    finally:
        os.chdir(where)
    names = ("pipe", "folder", "to_pipe", "round", "socket")
    return {name: folder / name for name in names} | {"zero": Path("/dev/zero"), "null": Path("/dev/null")}


def kinds(folder: Path) -> dict[str, int]:
    return {path.name: stat.S_IFMT(path.lstat().st_mode) for path in folder.iterdir()}


READERS: dict[str, Callable[[Path], Any]] = {"release": load, "study": Study.load, "ledger": Ledger.open}


@pytest.mark.parametrize("reader", list(READERS))
def test_only_regular_files_are_read(tmp_path: Path, reader: str) -> None:
    for name, path in special(tmp_path).items():
        with pytest.raises(DiscreetError):
            READERS[reader](path)
        assert path.exists() or name == "round"


@pytest.mark.parametrize("reader", ["release", "study"])
def test_files_without_end_are_not_read(tmp_path: Path, reader: str) -> None:
    endless = tmp_path / "endless"
    with endless.open("wb") as file:
        file.truncate(2**40)  # takes no room
    with pytest.raises(DiscreetError, match="larger than"):
        READERS[reader](endless)
    growing = tmp_path / "growing"
    growing.write_bytes(b" " * 100)
    with pytest.raises(OSError, match="larger than 99 bytes"):
        recipe.read_text(growing, 99)
    assert recipe.read_text(growing, 100) == " " * 100


def assert_replaces_only_files(folder: Path, save: Callable[[Path], None]) -> None:
    places = special(folder)
    before = kinds(folder)
    for name, path in places.items():
        if name not in ("zero", "null"):  # a test does not gamble with the machine's own devices
            with pytest.raises(ReleaseError, match="must be able to write"):
                save(path)
    assert kinds(folder) == before


def test_a_release_never_replaces_what_is_no_file(tmp_path: Path, release: Release) -> None:
    assert_replaces_only_files(tmp_path, release.save)
    for path in (f"{tmp_path}/a\0b", f"{tmp_path}/none/a", f"{tmp_path}/{'a' * 300}"):
        with pytest.raises(ReleaseError, match="must be able to write"):
            release.save(path)


def test_a_rename_over_anything_is_caught(tmp_path: Path) -> None:
    def renamed(path: Path) -> None:
        made = path.with_name("made")
        made.write_text("{}")
        try:
            made.replace(path)
        except OSError:
            raise ReleaseError("Release.save must be able to write") from None

    with pytest.raises((AssertionError, pytest.fail.Exception)):
        assert_replaces_only_files(tmp_path, renamed)


def test_a_link_is_followed_and_kept(tmp_path: Path, release: Release) -> None:
    (tmp_path / "kept").mkdir()
    for name in ("kept/there", "kept/new"):
        link = tmp_path / f"to_{Path(name).name}"
        link.symlink_to(name)
        release.save(link)
        assert link.is_symlink()
        assert load(tmp_path / name).to_json() == load(link).to_json()


def failing(problem: BaseException) -> Callable[..., None]:
    def fail(*_: object) -> None:
        raise problem

    return fail


@pytest.mark.parametrize("step", ["os.fsync", "pathlib.Path.replace"])
@pytest.mark.parametrize("problem", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_nothing_is_left_where_a_release_could_not_be_written(
    tmp_path: Path, release: Release, monkeypatch: pytest.MonkeyPatch, step: str, problem: BaseException
) -> None:
    (tmp_path / "r.json").write_text("as it was")
    monkeypatch.setattr(step, failing(problem))
    with pytest.raises(ReleaseError if isinstance(problem, OSError) else KeyboardInterrupt):
        release.save(tmp_path / "r.json")
    assert [path.name for path in tmp_path.iterdir()] == ["r.json"]
    assert (tmp_path / "r.json").read_text() == "as it was"


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o000, 0o027])
def test_a_release_has_the_mode_of_a_ledger(tmp_path: Path, release: Release, mask: int) -> None:
    before = os.umask(mask)
    try:
        release.save(tmp_path / "r.json")
        Ledger.create(tmp_path / "t.ledger", dc.Budget(1.0))
    finally:
        os.umask(before)
    assert (tmp_path / "r.json").stat().st_mode == (tmp_path / "t.ledger").stat().st_mode


def objects(node: Any) -> Iterator[dict[str, Any]]:
    """Every object of a document, but for the mappings whose keys are names: columns and values."""
    if isinstance(node, dict):
        yield node
        for key, item in node.items():
            yield from objects(list(item.values()) if key in ("columns", "value") else item)
    if isinstance(node, list):
        for item in node:
            yield from objects(item)


def assert_extra_keys_are_refused(body: dict[str, Any], read: Callable[[Any], Any]) -> None:
    count = len(list(objects(body)))
    assert count > 6
    for number in range(count):
        changed = copy.deepcopy(body)
        list(objects(changed))[number]["extra"] = 1
        with pytest.raises(DiscreetError):
            read(changed)


def test_an_extra_key_is_refused_wherever_it_stands(release: Release) -> None:
    assert_extra_keys_are_refused(release.to_json(), Release.from_json)


def test_a_reader_that_skips_unknown_keys_is_caught(release: Release) -> None:
    def lenient(body: dict[str, Any]) -> Release:
        return Release.from_json({key: item for key, item in body.items() if key != "extra"})

    with pytest.raises((AssertionError, pytest.fail.Exception)):
        assert_extra_keys_are_refused(release.to_json(), lenient)


def twice(text: str, number: int) -> str:
    """The document with the line of one key written twice, the second time with another value."""
    lines = text.split("\n")
    places = [i for i, line in enumerate(lines) if '": ' in line and line.endswith(",") and "[" not in line]
    place = places[number % len(places)]
    key = lines[place].partition('": ')[0]
    return "\n".join([*lines[: place + 1], f'{key}": null,', *lines[place + 1 :]])


def test_a_key_that_is_given_twice_is_refused_wherever_it_stands(tmp_path: Path, release: Release) -> None:
    release.save(tmp_path / "r.json")
    text = (tmp_path / "r.json").read_text()
    rng = random.Random(3)
    for _ in range(30):
        (tmp_path / "r.json").write_text(twice(text, rng.randrange(1000)))
        with pytest.raises(ReleaseError, match="every key once"):
            load(tmp_path / "r.json")
    json.loads(twice(text, 0))  # the plain reader takes the last one without a word


@pytest.mark.parametrize("text", ["", "[1", '{"a": NaN}', '{"a": Infinity}', "\ufffd", "[" * 100_000, "\x00"])
def test_what_is_no_json_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "r.json").write_text(text)
    with pytest.raises(ReleaseError, match="must be JSON"):
        load(tmp_path / "r.json")
    (tmp_path / "r.json").write_bytes(b'{"a": "\xff"}')
    with pytest.raises(ReleaseError, match="must be JSON"):
        load(tmp_path / "r.json")


def test_a_saved_release_is_read_back(tmp_path: Path, release: Release) -> None:
    release.save(tmp_path / "r.json")
    assert load(tmp_path / "r.json").to_json() == release.to_json()
    assert [path.name for path in tmp_path.iterdir()] == ["r.json"]
