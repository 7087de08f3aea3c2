"""Where a ledger is: a file, or "postgresql://…"."""

import os

from discreet.ledger.base import Store
from discreet.ledger.postgres.postgres_address import is_address
from discreet.ledger.postgres.postgres_store import PostgresStore
from discreet.ledger.sqlite import SqliteStore

__all__ = ["Place", "store_at"]

Place = str | os.PathLike[str]


def store_at(place: Place) -> Store:
    """The store of a ledger by its path or address."""
    return PostgresStore(place) if is_address(place) else SqliteStore(place)
