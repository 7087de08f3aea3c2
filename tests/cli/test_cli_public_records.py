"""`discreet plan` with a target: what public records would be worth for the draws of a study."""

from collections.abc import Callable

DIRECT = """
[[release]]
name = "direct"
model = {kind="BetaBernoulli", column="smoker", prior=[6, 12]}
mechanism = {kind="DirectSample"}
out = "direct.release.json"
"""
TARGET = ("--target-epsilon", "1", "--target-delta", "1e-6")


def test_plan_answers_for_direct_draws_only(run: Callable, study: Callable) -> None:
    study(change=lambda text: text.replace("fevers", "unused") + DIRECT)
    ran = run("plan", "study.toml", "--runs", "3", "--json", *TARGET)
    assert (ran.code, ran.err) == (0, "")
    public = {made["name"]: made["public"] for made in ran.document["releases"]}
    assert public["direct"]["needed"] > 10
    assert public["direct"]["target"] == {"epsilon": 1.0, "delta": 1e-6}
    assert [row["public"] for row in public["direct"]["shared"]] == [0, 1, 3, 6, 15, 30]
    assert public["smoking"] is None
    text = run("plan", "study.toml", "--runs", "3", "--only", "direct", *TARGET)
    assert f"{public['direct']['needed']} records in the prior" in " ".join(text.out.split())


def test_a_target_must_be_whole_and_answerable(run: Callable, study: Callable) -> None:
    study()
    half = run("plan", "study.toml", "--runs", "3", "--target-epsilon", "1")
    assert (half.code, half.out) == (4, "")
    assert "--target-epsilon and --target-delta together" in half.err
    other = run("plan", "study.toml", "--runs", "3", "--only", "smoking", *TARGET)
    assert other.code == 4
    assert "must be a direct, diffused or concentrated sample, got NoisyStatistics" in other.err
