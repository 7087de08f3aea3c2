"""`discreet report` writes one page of releases that were saved, under the names of their study, with its ledger."""

from collections.abc import Callable


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
