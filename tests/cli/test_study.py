"""A study file says everything, and every mistake in it is found before anything is read or spent."""

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from discreet.cli.commands.init_command import TEMPLATE
from discreet.cli.study import Study
from discreet.cli.study_schema import json_schema
from discreet.errors import DiscreetError, GuaranteeError, QueryError, SchemaError
from discreet.guarantee import ZCDP, PureDP
from discreet.mechanisms import MECHANISMS, NoisyStatistics
from discreet.models import MODELS, BetaBernoulli, NaiveBayes
from discreet.schema import KINDS, Bounded, Categorical

STORED_SCHEMA = Path(__file__).parents[2] / "docs" / "study.schema.json"

GOOD = """
id = "patients-2026"
data = "patients.csv"
ledger = "study.ledger"
relation = "replace-one"
unit = {kind="record"}
n = 100

[columns]
smoker = {kind="binary"}
ward = {kind="categorical", levels=["A","B","C"], missing="exclude"}
stage = {kind="categorical", levels=[1, 2, 3], missing=2}
age = {kind="bounded", lower=0, upper=110, missing="exclude"}
visits = {kind="count", upper=20}

[[release]]
name = "smoking"
model = {kind="BetaBernoulli", column="smoker", prior=[1,1]}
mechanism = {kind="NoisyStatistics", epsilon=0.5}
out = "smoking.release.json"

[[release]]
name = "wards"
model = {kind="NaiveBayes", target="smoker", features=["ward", "stage"]}
mechanism = {kind="NoisyStatistics", rho=0.01, split={ward=1, stage=2.5}}
out = "wards.release.json"

[[release]]
name = "draw"
model = {kind="DirichletCategorical", column="stage", prior=[1, 2, 3.5]}
mechanism = {kind="PosteriorSample", epsilon=0.5, truncation=0.01, draws=2, label="second"}
out = "draw.release.json"
"""

# (what, text to replace, its replacement, error, words of the message, seen by the JSON Schema as well)
BAD: list[tuple[str, str, str, type[DiscreetError], str, bool]] = [
    ("unknown key", "n = 100", "n = 100\nepsilon = 1", SchemaError, "got 'epsilon'", True),
    ("no data", 'data = "patients.csv"', "", SchemaError, "Study.data must be given, got nothing", True),
    ("no ledger", 'ledger = "study.ledger"', "", SchemaError, "Study.ledger must be given, got nothing", True),
    (
        "database",
        '"patients.csv"',
        '{url="postgresql://u:secret@h/d", table="a.b"}',
        SchemaError,
        "without a password",
        True,
    ),
    ("place", '"patients.csv"', '{url="postgresql://u@h/d"}', SchemaError, "Study.data.table must be", True),
    ("cluster", '"patients.csv"', '{shark="patients"}', SchemaError, "Study.data must be a file, or a table", True),
    ("address", '"patients.csv"', '"postgresql://u:secret@h/d"', SchemaError, "Study.data must be a file", False),
    ("ledger address", '"study.ledger"', '"postgresql://u:secret@h/d"', SchemaError, "must have no password", False),
    ("empty id", '"patients-2026"', '""', SchemaError, "Study.id must be", True),
    ("relation", '"replace-one"', '"swap"', SchemaError, "Schema.relation must be", True),
    (
        "unit",
        'kind="record"',
        'kind="family"',
        SchemaError,
        "Unit.kind must be one of ['label-only', 'person', 'record']",
        True,
    ),
    ("unit key", 'kind="record"', 'kind="record", id="x"', SchemaError, "got 'id'", True),
    ("n", "n = 100", "n = -1", SchemaError, "Schema.n must be a whole number", True),
    ("n_max", "n = 100", "n_max = 100", SchemaError, "Schema.n_max must not be given", False),
    ("columns", '[columns]\nsmoker = {kind="binary"}', "columns = 3\n[other]", SchemaError, "", True),
    (
        "column kind",
        'kind="binary"',
        'kind="boolean"',
        SchemaError,
        "column 'smoker': Column.kind must be one of",
        True,
    ),
    ("column kind type", 'kind="binary"', 'kind=["binary"]', SchemaError, "column 'smoker': Column.kind", True),
    ("column no table", '{kind="binary"}', "3", SchemaError, "column 'smoker': Column.kind must be one of", True),
    ("column key", 'kind="binary"', 'kind="binary", level=2', SchemaError, "column 'smoker': Binary must have", True),
    ("no levels", 'levels=["A","B","C"], ', "", SchemaError, "column 'ward': Categorical.levels must be given", True),
    ("one level", '["A","B","C"]', '["A"]', SchemaError, "column 'ward': Categorical.levels must be at least", False),
    ("no lower", "lower=0, ", "", SchemaError, "column 'age': Bounded.lower must be given, got nothing", True),
    ("no upper", "lower=0, upper=110,", "lower=0,", SchemaError, "column 'age': Bounded.upper must be given", True),
    ("nan bound", "upper=110", "upper=nan", SchemaError, "column 'age': Bounded.upper must be a finite number", False),
    ("text bound", "upper=110", 'upper="110"', SchemaError, "column 'age': Bounded.upper must be a finite", True),
    ("no count", ", upper=20", "", SchemaError, "column 'visits': Count.upper must be given, got nothing", True),
    ("no name", 'name = "smoking"\n', "", SchemaError, "release number 1: Release.name must be given", True),
    ("control name", '"smoking"\n', r'"a\u001b[2J"' + "\n", SchemaError, "Release.name must be a printable", False),
    ("no out", 'out = "smoking.release.json"', "", SchemaError, "release 'smoking': Release.out must be given", True),
    ("out type", '"smoking.release.json"', '"smoking.csv"', SchemaError, "Release.out must end in '.json'", True),
    ("release key", 'name = "smoking"\n', 'name = "smoking"\nseed = 1\n', SchemaError, "got 'seed'", True),
    ("model kind", '"BetaBernoulli"', '"Bernoulli"', QueryError, "release 'smoking': Model.kind must be one of", True),
    ("model key", "prior=[1,1]", "priors=[1,1]", QueryError, "release 'smoking': BetaBernoulli must have only", True),
    ("no column", ', column="smoker"', "", QueryError, "release 'smoking': BetaBernoulli.column must be given", True),
    ("column name", 'column="smoker"', 'column="smokes"', SchemaError, "must contain 'smokes'", False),
    ("column type", 'column="smoker"', "column={}", QueryError, "release 'smoking': arguments must have", True),
    ("wrong column", 'column="smoker"', 'column="age"', QueryError, "release 'smoking': BetaBernoulli.column", False),
    ("prior", "prior=[1,1]", "prior=[1,0]", QueryError, "release 'smoking': BetaBernoulli.prior must be", False),
    ("prior length", "prior=[1,1]", "prior=[1]", QueryError, "release 'smoking': BetaBernoulli.prior must be", True),
    ("features", '["ward", "stage"]', "3", QueryError, "release 'wards'", True),
    (
        "mechanism",
        '"NoisyStatistics", e',
        '"Exact", e',
        GuaranteeError,
        "Mechanism.kind must be one of",
        True,
    ),
    (
        "typo",
        "epsilon=0.5}",
        "epsillon=0.5}",
        GuaranteeError,
        "'smoking': NoisyStatistics must have only",
        True,
    ),
    ("no price", ", epsilon=0.5}", "}", GuaranteeError, "'smoking': NoisyStatistics must get epsilon", False),
    ("draws", "draws=2", "draws=0", GuaranteeError, "'draw': PosteriorSample.draws must be a whole number", False),
    ("split", "split={ward=1", "split={wart=1", GuaranteeError, "'wards': NoisyStatistics.split must name", False),
    ("truncation", "truncation=0.01", "truncation=0.4", QueryError, "'draw': PosteriorSample.truncation", False),
    (
        "same name",
        'name = "wards"',
        'name = "smoking"',
        SchemaError,
        "must be different, got 'smoking' twice",
        False,
    ),
    ("same out", '"wards.release.json"', '"./smoking.release.json"', SchemaError, "out of release 'smoking'", False),
    ("out ledger", '"study.ledger"', '"draw.release.json"', SchemaError, "which is the ledger", False),
]


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], Path]:
    def written(text: str) -> Path:
        file = tmp_path / "study.toml"
        file.write_text(text, encoding="utf-8")
        return file

    return written


def test_a_good_study_is_what_it_says(write: Callable[[str], Path], tmp_path: Path) -> None:
    study = Study.load(write(GOOD))
    assert study.id == "patients-2026"
    assert (study.folder, study.data, study.ledger) == (tmp_path, "patients.csv", tmp_path / "study.ledger")
    assert study.schema.columns["ward"] == Categorical(["A", "B", "C"], missing="exclude")
    assert study.schema.columns["stage"] == Categorical([1, 2, 3], missing=2)
    assert study.schema.columns["age"] == Bounded(0, 110, missing="exclude")
    assert study.schema.n == 100
    first, second, third = study.releases
    assert (first.model, first.mechanism) == (BetaBernoulli("smoker"), NoisyStatistics(epsilon=0.5))
    assert second.model == NaiveBayes("smoker", ("ward", "stage"))
    assert first.out == tmp_path / "smoking.release.json"
    assert first.guarantee(study.schema) == PureDP(0.5)
    assert second.guarantee(study.schema) == ZCDP(0.01)
    assert third.mechanism.label == "second"


def test_the_id_defaults_to_the_data_as_typed(write: Callable[[str], Path]) -> None:
    assert Study.load(write(GOOD.replace('id = "patients-2026"', ""))).id == "patients.csv"


def test_n_may_be_left_to_be_counted(write: Callable[[str], Path]) -> None:
    split = GOOD.replace("epsilon=0.5}", "epsilon=0.5, split={ones=1}}").replace("n = 100", "")
    study = Study.load(write(split))
    assert study.schema.n is None
    assert "sensitivity 1 " in study.releases[0].guarantee(study.schema).basis.theorem


def test_one_release_is_found_by_its_name(write: Callable[[str], Path]) -> None:
    study = Study.load(write(GOOD))
    assert [request.name for request in study.only("draw")] == ["draw"]
    assert study.only(None) == study.releases
    with pytest.raises(QueryError, match="must contain 'x', got \\['smoking', 'wards', 'draw'\\]"):
        study.only("x")


@pytest.mark.parametrize(("old", "new", "error", "words"), [case[1:5] for case in BAD], ids=[case[0] for case in BAD])
def test_mistakes_are_named(
    write: Callable[[str], Path], old: str, new: str, error: type[DiscreetError], words: str
) -> None:
    assert old in GOOD
    with pytest.raises(error) as caught:
        Study.load(write(GOOD.replace(old, new, 1)))
    assert words in str(caught.value)
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("value", ["0", "-1", "nan", "inf", '"1e400"', "1e400", "true"])
@pytest.mark.parametrize("name", ["smoking", "draw"])
def test_bad_epsilons_are_refused_with_their_release(write: Callable[[str], Path], name: str, value: str) -> None:
    kind = {"smoking": "NoisyStatistics", "draw": "PosteriorSample"}[name]
    text = GOOD.replace(f'"{kind}", epsilon=0.5', f'"{kind}", epsilon={value}')
    with pytest.raises(GuaranteeError, match=f"^release '{name}': {kind}.epsilon must be a finite number above 0"):
        Study.load(write(text))


@pytest.mark.parametrize("text", ["id = ", "[columns\n", 'id = "a"\nid = "b"', "\x00", "a,b\n1,2\n"])
def test_syntax_errors_are_schema_errors(write: Callable[[str], Path], text: str) -> None:
    with pytest.raises(SchemaError, match="Study file must be TOML"):
        Study.load(write(text))


def test_other_files_are_refused_without_a_quote(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match=r"must be readable.*No such file"):
        Study.load(tmp_path / "none.toml")
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"secret\xff\xfe")
    with pytest.raises(SchemaError) as caught:
        Study.load(binary)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "text", ['release = []\n[columns]\na = {kind="binary"}', "release = 3\n[columns]", "release = [3]\n[columns]"]
)
def test_releases_must_be_tables(write: Callable[[str], Path], text: str) -> None:
    body = 'data = "a.csv"\nledger = "a.ledger"\n' + text
    with pytest.raises(SchemaError):
        Study.load(write(body if "binary" in body else body + '\na = {kind="binary"}'))


def test_a_pattern_is_read_next_to_the_study_even_in_a_folder_with_brackets(tmp_path: Path) -> None:
    folder = tmp_path / "year [2026]"
    folder.mkdir()
    for part in ("a", "b"):
        (folder / f"part-{part}.csv").write_text("smoker\n1\n0\n")
    text = (
        'data = "part-*.csv"\nledger = "l"\n[columns]\nsmoker = {kind="binary"}\n' + GOOD[GOOD.index("[[release]]") :]
    )
    (folder / "study.toml").write_text(text.split('[[release]]\nname = "wards"')[0])
    assert Study.load(folder / "study.toml").open().schema.n == 4


# The JSON Schema


def checker() -> Any:
    jsonschema.Draft202012Validator.check_schema(json_schema())
    return jsonschema.Draft202012Validator(json_schema())


@pytest.mark.parametrize("text", [GOOD, TEMPLATE], ids=["good", "template"])
def test_the_json_schema_accepts_good_studies(text: str) -> None:
    checker().validate(tomllib.loads(text))


@pytest.mark.parametrize(
    ("old", "new"), [case[1:3] for case in BAD if case[5]], ids=[case[0] for case in BAD if case[5]]
)
def test_the_json_schema_refuses_bad_studies(old: str, new: str) -> None:
    assert not checker().is_valid(tomllib.loads(GOOD.replace(old, new, 1)))


@pytest.mark.parametrize("value", ["0", "-1", '"1e400"', "true"])
def test_the_json_schema_refuses_bad_epsilons(value: str) -> None:
    assert not checker().is_valid(tomllib.loads(GOOD.replace("epsilon=0.5", f"epsilon={value}")))


def test_the_json_schema_lists_the_registries() -> None:
    properties = json_schema()["properties"]
    release = properties["release"]["items"]["properties"]
    for variants, registry in (
        (properties["columns"]["additionalProperties"], KINDS),
        (release["model"], MODELS),
        (release["mechanism"], MECHANISMS),
    ):
        assert [variant["properties"]["kind"]["const"] for variant in variants["oneOf"]] == list(registry)
        assert all(variant["additionalProperties"] is False and variant["description"] for variant in variants["oneOf"])


def test_the_stored_json_schema_is_up_to_date() -> None:
    """Rewrite it with: discreet init --json-schema > docs/study.schema.json"""
    assert json.loads(STORED_SCHEMA.read_text()) == json_schema()
