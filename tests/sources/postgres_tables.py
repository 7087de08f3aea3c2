"""Tables of a test in a real server: their types as declared, their cells as a client sends them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Any

import psycopg
from psycopg import sql

from postgres_server import Server

PLACE = "clinic.rows"
NUMBERS = count()


@contextmanager
def stored(server: Server, types: Mapping[str, str], rows: Iterable[Sequence[Any]], *before: str) -> Iterator[str]:
    """The address of a database whose table `PLACE` has these columns and rows; `before` runs first."""
    with server.database(f"stored {next(NUMBERS)}") as url:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CREATE SCHEMA clinic")
            for statement in before:
                connection.execute(statement)  # type: ignore[arg-type]
            declared = [sql.SQL("{} " + kind).format(sql.Identifier(name)) for name, kind in types.items()]  # type: ignore[arg-type]
            connection.execute(sql.SQL("CREATE TABLE clinic.rows ({})").format(sql.SQL(", ").join(declared)))
            with connection.cursor() as cursor, cursor.copy("COPY clinic.rows FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
        yield url
