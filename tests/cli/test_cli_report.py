"""`discreet report` writes one page of releases that were saved, under the names of their study, with its ledger."""

import json
from collections.abc import Callable
from pathlib import Path


def test_the_command_writes_the_page_of_a_study(run: Callable, study: Callable) -> None:
    folder = study()
    assert run("release", "study.toml", "--only", "smoking", "--quiet").code == 0
    ran = run("report", "--study", "study.toml", "-o", "page.html", "--json")
    assert (ran.code, ran.err) == (0, "")
    assert ran.document["releases"] == ["smoking"]
    assert ran.document["not_released"] == ["wards", "fevers", "draw"]
    document = (folder / "page.html").read_text()
    assert len(document.encode()) == ran.document["bytes"]
    assert document.count("not released yet") == 3
    assert "The ledger</h2>" in document
    assert run("report", "smoking.release.json", "-o", "one.html").out.startswith("Report")
    assert "The ledger</h2>" not in (folder / "one.html").read_text()
    refused = run("report", "smoking.release.json", "-o", "no/where.html")
    assert (refused.code, refused.err.count("\n")) == (5, 1)
    assert "No such file or directory: make 'no'" in refused.err


def test_a_ledger_that_did_not_pay_is_told(run: Callable, study: Callable) -> None:
    folder = study()
    assert run("release", "study.toml", "--only", "smoking", "--quiet").code == 0
    assert run("ledger", "create", "other.ledger", "--epsilon", "1").code == 0
    words = ("report", "smoking.release.json", "-o", "page.html", "--ledger")
    own = run(*words, "study.ledger", "--json")
    assert own.document["not_paid"] == []
    assert "another ledger paid" not in (folder / "page.html").read_text()
    assert run(*words, "other.ledger", "--json").document["not_paid"] == ["smoking"]
    assert "It has no entry of smoking: another ledger paid." in (folder / "page.html").read_text()
    assert "has no entry of smoking: name the one that paid" in " ".join(run(*words, "other.ledger").out.split())


def test_what_is_no_release_or_no_page_is_refused(study: Callable, run: Callable) -> None:
    """A study in the place of a release, nothing at all, a page that would be called something else."""
    folder = study()
    for words, said in (
        (("study.toml",), "write --study study.toml"),
        ((), "name its file, or --study"),
        (("--study", "study.toml"), "smoking, wards, fevers, draw are not released yet"),
        (("--study", "study.toml", "-o", "page.pdf"), "report --out must end in .html"),
    ):
        refused = run("report", *words)
        assert (refused.code, refused.err.count("\n")) == (4, 1)
        assert said in refused.err
    assert not (folder / "page.pdf").exists()


def test_more_than_twelve_releases_get_a_page_each(run: Callable, study: Callable) -> None:
    folder = study()
    assert run("release", "study.toml", "--only", "smoking", "--quiet").code == 0
    names = [f"copy {k}.release.json" for k in range(13)]
    for name in names:
        (folder / name).write_bytes((folder / "smoking.release.json").read_bytes())
    together = run("report", *names[:12], "-o", "few.html", "--json")
    assert together.document["page"] == "few.html"
    assert "pages" not in together.document
    assert not (folder / "few").exists()
    ran = run("report", *names, "-o", "many.html", "--ledger", "study.ledger", "--json")
    assert (ran.code, ran.err) == (0, "")
    assert ran.document["pages"] == [f"many/copy-{k}.html" for k in range(13)]
    assert sorted(path.name for path in (folder / "many").iterdir()) == sorted(
        Path(p).name for p in ran.document["pages"]
    )
    assert "The ledger</h2>" in (folder / "many.html").read_text()
    assert "The ledger</h2>" not in (folder / "many" / "copy-0.html").read_text()
    assert "one for each release, in 'many'" in " ".join(run("report", *names, "-o", "many.html").out.split())
    (folder / "file").write_text("in the way")
    refused = run("report", *names, "-o", "file.html", "--json")
    assert (refused.code, refused.err.count("\n")) == (5, 1)
    assert json.loads(refused.out)["error"]["message"].startswith("report --out must be a file that can be written")
