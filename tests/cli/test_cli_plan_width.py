"""`discreet plan --width` and `--rms`: the least epsilon that reaches what is wanted, and the curve around it."""

from collections.abc import Callable

QUICK = ("--runs", "16", "--n", "400")


def test_plan_finds_the_epsilon_for_a_width(run: Callable, study: Callable) -> None:
    study()
    ran = run("plan", "study.toml", "--only", "smoking", "--width", "0.1", "--json", *QUICK)
    assert (ran.code, ran.err) == (0, "")
    (made,) = ran.document["releases"]
    reached = made["reached"]
    assert (reached["measure"], reached["asked"], reached["argument"]) == ("width", 0.1, "epsilon")
    assert made["guarantee"]["epsilon"] == reached["level"]
    assert {"epsilon": reached["level"], "width": made["width"]["probability"]} in reached["curve"]
    text = run("plan", "study.toml", "--only", "smoking", "--width", "probability=0.1", *QUICK)
    assert f"epsilon = {reached['level']:.4g} for an expected width of 0.1" in " ".join(text.out.split())
    lines = [line.split() for line in text.out.splitlines()]
    assert ["epsilon", "90%", "width"] in lines
    assert next(line for line in lines if line[-1:] == ["asked"])[0] == f"{reached['level']:.4g}"


def test_plan_finds_the_epsilon_for_an_error(run: Callable, study: Callable) -> None:
    study()
    ran = run("plan", "study.toml", "--only", "smoking", "--rms", "0.04", "--json", *QUICK)
    assert ran.document["releases"][0]["reached"]["measure"] == "rms"


def test_releases_that_cannot_reach_it_say_so_beside_those_that_can(run: Callable, study: Callable) -> None:
    study(change=lambda text: text.replace("fevers", "unused"))
    ran = run("plan", "study.toml", "--width", "0.1", "--json", *QUICK)
    assert ran.code == 0
    answers = {made["name"]: made for made in ran.document["releases"]}
    assert answers["smoking"]["reached"]["asked"] == 0.1
    assert "with its number" in answers["unused"]["refused"]


def test_refusals(run: Callable, study: Callable) -> None:
    study()
    for words, said in (
        (("--width", "0.001"), "which it is without noise"),
        (("--width", "0.95"), "which the prior alone gives"),
        (("--width", "narrow"), "must be a number, or NAME=NUMBER"),
        (("--width", "0.1", "--rms", "0.1"), "width or rms, got both"),
    ):
        ran = run("plan", "study.toml", "--only", "smoking", *words, *QUICK)
        assert (ran.code, ran.out) == (4, "")
        assert said in ran.err


def test_what_is_expected_of_a_column_is_typed(run: Callable, study: Callable) -> None:
    study()
    ran = run("plan", "study.toml", "--only", "smoking", "--expect", "smoker=0.3", "--runs", "3")
    assert (ran.code, ran.err) == (0, "")
    assert "of tables as they are expected to be" in " ".join(ran.out.split())
    both = ("--expect", "ward=0.5,0.3,0.2", "--expect", "fever=0.1", "--expect", "smoker=0.3")
    assert run("plan", "study.toml", "--only", "fevers", *both, "--runs", "3", "--json").document["releases"][0][
        "expected"
    ]
    for bad in ("smoker", "smoker=few", "=0.3"):
        refused = run("plan", "study.toml", "--only", "smoking", "--expect", bad)
        assert (refused.code, refused.err.count("\n")) == (4, 1)
        assert "must be COLUMN=NUMBERS, as in age=50,15" in refused.err
