"""Names, views, roles and servers that mean harm: refused or harmless, nothing written, nothing spent, nothing said."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from cell_oracle import l1_distance
from postgres_tables import PLACE, stored
from test_postgres_sums import COLUMNS, HOSTILE, TYPES, query_of, table

import discreet as dc
from discreet.sources.readers import postgres_table
from postgres_server import Server

ONE = dc.Schema({"x": dc.Count(9)})
MODEL, MECHANISM = dc.GammaPoisson("x", prior=(1.0, 1.0)), dc.NoisyStatistics(epsilon=0.5)


def run(url: str, *statements: str) -> Any:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            cursor = connection.execute(statement)  # type: ignore[arg-type]
        return cursor.fetchall() if cursor.description else None


def bare(problem: BaseException) -> None:
    """Nothing of what the server or the driver said."""
    assert problem.__cause__ is None
    assert problem.__context__ is None


NAMES = ['"; DROP TABLE clinic.rows; --', "select", "Ünï ☃ 'x'", 'a"b', "%s", "{x}", "x\\", "a.b", "ROW", "$1", ":x"]


def test_names_of_columns_and_levels_are_names(postgres: Server) -> None:
    for name in NAMES[::3]:
        schema = dc.Schema({name: dc.Categorical([name, "'; DROP TABLE clinic.rows; --", "%(x)s"])})
        with stored(postgres, {name: "text"}, [[name], [name], ["%(x)s"], [None]]) as url:
            data = dc.open(url, schema, table=PLACE, id=f"'{name}")
            query = dc.DirichletCategorical(name).query(data.schema)
            assert data.source.statistics(query)["counts"].tolist() == [3, 0, 1]
            assert run(url, "SELECT count(*) FROM clinic.rows") == [(4,)]


def test_names_of_tables_are_names(postgres: Server) -> None:
    with stored(postgres, {"x": "int"}, [[1]]) as url:
        for name in NAMES:
            quoted = '"' + name.replace('"', '""') + '"'
            run(url, f"CREATE TABLE clinic.{quoted} AS SELECT 3 AS x FROM generate_series(1, 7)")
            data = dc.open(url, ONE, table=f"clinic.{quoted}")
            assert data.schema.n == 7
            assert data.id == f"clinic.{quoted}"


@pytest.mark.parametrize(
    "place",
    [
        *(None, "", "rows", "clinic.", ".rows", "clinic.rows; DROP TABLE clinic.rows", "other.clinic.rows", 7),
        *(
            "clinic.rows WHERE true",
            "(SELECT 1)",
            "generate_series(1,2)",
            "pg_read_file('/etc/passwd')",
            "clinic.ro\0ws",
        ),
        *("clinic.numbers", "clinic.keys", "Clinic.Rows", 'clinic."rows', "pg_temp.rows"),
    ],
)
def test_what_is_no_table_is_refused(postgres: Server, place: Any) -> None:
    before = (
        "CREATE SEQUENCE clinic.numbers",
        "CREATE TABLE clinic.t (k int PRIMARY KEY)",
        "ALTER INDEX clinic.t_pkey RENAME TO keys",
    )
    with stored(postgres, {"x": "int"}, [[1]], *before) as url:
        with pytest.raises(dc.SchemaError, match=r"open\.table must be") as caught:
            dc.open(url, ONE, table=place, id="t")
        bare(caught.value)
        assert run(url, "SELECT count(*) FROM clinic.rows") == [(1,)]


WRITES = "CREATE FUNCTION clinic.writes() RETURNS int LANGUAGE plpgsql VOLATILE AS $$ BEGIN {}; RETURN 3; END $$"


@pytest.mark.parametrize(
    "deed",
    [
        "INSERT INTO clinic.rows VALUES (7)",
        "DELETE FROM clinic.rows",
        "CREATE TABLE clinic.made (x int)",
        "SET TRANSACTION READ WRITE; INSERT INTO clinic.rows VALUES (7)",
        "SET transaction_read_only = off; INSERT INTO clinic.rows VALUES (7)",
        "PERFORM nextval('clinic.numbers')",
        "RAISE EXCEPTION 'secret of row %', 1",
        "RAISE WARNING 'secret of row %', 1",
        "NOTIFY secrets, 'row'",
    ],
)
def test_a_view_that_writes_writes_nothing(postgres: Server, deed: str, tmp_path: Path, capfd: Any) -> None:
    """Refused, or harmless; the entry of a refused release stays reserved, and is the only one."""
    ledger = dc.Ledger.create(tmp_path / "study.ledger", dc.Budget(epsilon=3.0))
    schema = dc.Schema({"x": dc.Count(9)}, relation="add-remove", n_max=9)
    with stored(postgres, {"x": "int"}, [[1]], "CREATE SEQUENCE clinic.numbers") as url:
        run(url, WRITES.format(deed), "CREATE VIEW clinic.v AS SELECT clinic.writes() AS x FROM clinic.rows")
        data = dc.open(url, schema, table="clinic.v")
        refused = None
        try:
            dc.release(MODEL, data, MECHANISM, ledger)
        except dc.ReleaseError as problem:
            refused = problem
            bare(problem)
        assert refused is None or "the request stays charged" in str(refused)
        assert (refused is None) == deed.startswith(("RAISE WARNING", "NOTIFY"))
        assert run(url, "SELECT x FROM clinic.rows") == [(1,)]
        assert run(url, "SELECT to_regclass('clinic.made'), (SELECT is_called FROM clinic.numbers)") == [(None, False)]
        assert [str(entry.spend) for entry in ledger.entries()] == ["0.5"]
    assert "secret" not in "".join(capfd.readouterr())


def test_functions_and_operators_of_others_are_not_found(postgres: Server) -> None:
    """Names are looked up in pg_catalog alone, whatever the role's or the database's search path says."""
    tricks = (
        "CREATE FUNCTION public.md5(text) RETURNS text LANGUAGE sql AS $$ SELECT 'same' $$",
        "CREATE FUNCTION public.sum(bigint) RETURNS bigint LANGUAGE sql AS $$ SELECT 0::bigint $$",
        "CREATE FUNCTION public.never(double precision, double precision) RETURNS boolean LANGUAGE sql AS $$ SELECT false $$",
        "CREATE OPERATOR public.>= (LEFTARG = double precision, RIGHTARG = double precision, FUNCTION = public.never)",
        "CREATE TABLE public.pg_class AS SELECT 1 AS x",
        "CREATE TABLE public.rows AS SELECT 9 AS x, 'a' AS who FROM generate_series(1, 9)",
    )
    schema = dc.Schema({"x": dc.Count(9)}, unit=dc.Person("who", 1))
    cells = [[i % 10, f"p{i % 5}"] for i in range(30)]
    found = []
    for extra in ((), tricks):
        with stored(postgres, {"x": "int", "who": "text"}, cells, *extra) as url:
            if extra:
                name = url.partition("@/")[2].partition("?")[0].replace("%20", " ")
                run(url, f'ALTER DATABASE "{name}" SET search_path = public, pg_catalog')
            data = dc.open(url, schema, table=PLACE)
            found.append({k: v.tolist() for k, v in data.source.statistics(MODEL.query(data.schema)).items()})
    assert found[0] == found[1]


def test_row_level_security_refuses_rather_than_hides(postgres: Server) -> None:
    with stored(postgres, {"x": "int"}, [[1], [2]]) as url:
        run(
            url,
            "DO $$ BEGIN CREATE ROLE seen LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$",
            "GRANT USAGE ON SCHEMA clinic TO seen",
            "GRANT SELECT ON clinic.rows TO seen",
        )
        theirs = url.replace("postgres@", "seen@")
        assert dc.open(theirs, ONE, table=PLACE).schema.n == 2
        run(url, "ALTER TABLE clinic.rows ENABLE ROW LEVEL SECURITY", "CREATE POLICY p ON clinic.rows USING (x = 1)")
        with pytest.raises(dc.SchemaError, match="without row-level security for this role"):
            dc.open(theirs, ONE, table=PLACE)
        run(
            url,
            "CREATE VIEW clinic.v WITH (security_invoker) AS SELECT * FROM clinic.rows",
            "GRANT SELECT ON clinic.v TO seen",
        )
        with pytest.raises(dc.SchemaError, match="one that it may read whole") as caught:
            dc.open(theirs, ONE, table="clinic.v")
        bare(caught.value)
        run(url, "REVOKE SELECT ON clinic.rows FROM seen", "ALTER TABLE clinic.rows DISABLE ROW LEVEL SECURITY")
        with pytest.raises(dc.SchemaError, match="must be a column that this role may read"):
            dc.open(theirs, ONE, table=PLACE)
        run(url, "DROP OWNED BY seen", "DROP ROLE seen")


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://u:hunter2@h/d",
        "postgresql://h/d?password=hunter2",
        "postgres://u@h/d?sslpassword=hunter2",
        "postgresql://h/d?pass%77ord=hunter2",
        "postgresql://u:hunter2@h:port/d",
        "postgresql://u@h/d?nosuchoption=hunter2",
    ],
)
def test_addresses_with_a_password_or_that_are_none_are_refused_and_not_repeated(address: str) -> None:
    with pytest.raises(dc.SchemaError, match=r"open\.source must be an address") as caught:
        dc.open(address, ONE, table=PLACE)
    assert "hunter2" not in str(caught.value)
    bare(caught.value)


def test_another_machine_is_spoken_to_in_cipher_unless_it_is_said_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PGSSLMODE", "PGSERVICE", "PGHOST"):
        monkeypatch.delenv(name, raising=False)
    assert "sslmode=require" in postgres_table._address("postgresql://u@db.example/d")
    assert "sslmode=verify-full" in postgres_table._address("postgresql://u@db.example/d?sslmode=verify-full")
    for near in (
        "postgresql:///d",
        "postgresql://u@localhost/d",
        "postgresql:///d?host=/run",
        "postgresql:///?service=s",
    ):
        assert "sslmode" not in postgres_table._address(near)
    monkeypatch.setenv("PGSSLMODE", "verify-ca")
    assert "sslmode" not in postgres_table._address("postgresql://u@db.example/d")


def test_neighbours_have_equal_events(postgres: Server, capfd: Any) -> None:
    """Every hostile cell in every column: the same shapes and silence, and a bounded move."""
    cells, schema = table(60, seed=4), dc.Schema(COLUMNS, relation="add-remove", n_max=99)
    query = query_of(schema)
    events, answers = set(), []
    with stored(postgres, TYPES, zip(*cells.values(), strict=True)) as url:
        run(url, "CREATE TABLE clinic.one AS SELECT * FROM clinic.rows LIMIT 1")
        run(url, "CREATE VIEW clinic.all_rows AS SELECT * FROM clinic.rows UNION ALL SELECT * FROM clinic.one")
        source = dc.open(url, schema, table="clinic.all_rows").source
        for i in range(max(map(len, HOSTILE.values()))):
            row = {name: hostile[i % len(hostile)] for name, hostile in HOSTILE.items()}
            change = psycopg.sql.SQL("UPDATE clinic.one SET {}").format(
                psycopg.sql.SQL(", ").join(
                    psycopg.sql.SQL("{} = %s").format(psycopg.sql.Identifier(name)) for name in row
                )
            )
            with psycopg.connect(url) as connection:
                connection.execute(change, list(row.values()))
            found = source.statistics(query)
            events.add(tuple((key, array.shape, str(array.dtype)) for key, array in found.items()))
            answers.append(found)
        assert len(events) == 1
        assert max(l1_distance(query, one, other) for one in answers for other in answers) <= 2 * query.l1
    assert capfd.readouterr() == ("", "")


SLOW = "CREATE VIEW clinic.slow AS SELECT CASE WHEN pg_sleep({}) IS NULL THEN 0 ELSE x END AS x FROM clinic.rows"
BUSY = "FROM pg_stat_activity WHERE state = 'active' AND pid <> pg_backend_pid() AND query LIKE '%coded%'"


def during(url: str, deed: Callable[[], Any]) -> threading.Thread:
    """Do it as soon as a scan runs."""

    def wait() -> None:
        for _ in range(600):
            if run(url, f"SELECT count(*) {BUSY}") != [(0,)]:
                deed()
                return
            time.sleep(0.02)

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


def test_a_backend_that_is_terminated_is_one_error_and_one_charge(postgres: Server, tmp_path: Path) -> None:
    ledger = dc.Ledger.create(tmp_path / "study.ledger", dc.Budget(epsilon=3.0))
    schema = dc.Schema({"x": dc.Count(9)}, relation="add-remove", n_max=9)
    with stored(postgres, {"x": "int"}, [[4]]) as url:
        run(url, SLOW.format(1.0))
        data = dc.open(url, schema, table="clinic.slow", id="t")
        thread = during(url, lambda: run(url, f"SELECT pg_terminate_backend(pid) {BUSY}"))
        with pytest.raises(dc.ReleaseError, match="the same request again resumes it and costs nothing") as caught:
            dc.release(MODEL, data, MECHANISM, ledger)
        thread.join()
        bare(caught.value)
        assert [(entry.status, str(entry.spend)) for entry in ledger.entries()] == [("reserved", "0.5")]
        release = dc.release(MODEL, data, MECHANISM, ledger)
        assert [(entry.status, str(entry.spend)) for entry in ledger.entries()] == [("settled", "0.5")]
        assert release.entry == ledger.entries()[0].id


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Ctrl-C interrupts, also where tests run in the background of a shell, which has its children ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_cancels_the_statement(postgres: Server) -> None:
    schema = dc.Schema({"x": dc.Count(9)}, relation="add-remove", n_max=9)
    with stored(postgres, {"x": "int"}, [[4]]) as url:
        run(url, SLOW.format(60))
        source = dc.open(url, schema, table="clinic.slow", id="t").source
        thread = during(url, lambda: os.kill(os.getpid(), signal.SIGINT))
        with pytest.raises(KeyboardInterrupt) as caught:
            source.statistics(MODEL.query(schema))
        thread.join()
        bare(caught.value)
        for _ in range(100):
            if run(url, f"SELECT count(*) {BUSY}") == [(0,)]:
                break
            time.sleep(0.05)
        assert run(url, f"SELECT count(*) {BUSY}") == [(0,)]


def test_a_statement_that_takes_too_long_is_stopped(postgres: Server) -> None:
    schema = dc.Schema({"x": dc.Count(9)}, relation="add-remove", n_max=9)
    with stored(postgres, {"x": "int"}, [[4]]) as url:
        run(url, SLOW.format(60))
        source = dc.open(url, schema, table="clinic.slow", timeout=0.2).source
        with pytest.raises(dc.ReleaseError) as caught:
            source.statistics(MODEL.query(schema))
        bare(caught.value)
        for wrong in (0, -1, "1", True, 1e9):
            with pytest.raises(dc.SchemaError, match=r"open\.timeout must be"):
                dc.open(url, schema, table="clinic.slow", timeout=wrong)  # type: ignore[arg-type]
