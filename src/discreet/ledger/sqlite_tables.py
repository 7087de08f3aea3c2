"""The table of a ledger file, by format, and how a file is known to be one."""

import sqlite3

from discreet.errors import LedgerError

__all__ = ["APPLICATION_ID", "CLOSED", "FORMAT", "SCHEMAS", "recognise"]

FORMAT = 2  # 2: several filters at once, and events of a migration
CLOSED = 1002  # as 2, but spent elsewhere since it was copied: versions that do not know of copies must not go on
APPLICATION_ID = 0x64636C67  # "dclg"

# The last trigger also stops INSERT OR REPLACE, which deletes rows without asking the delete trigger.
TABLE = """CREATE TABLE events (
  seq INTEGER PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ({})),
  entry TEXT NOT NULL,
  request TEXT UNIQUE CHECK ((request IS NOT NULL) = (kind = 'reserve')),
  body TEXT NOT NULL,
  previous TEXT NOT NULL UNIQUE,
  hash TEXT NOT NULL UNIQUE,
  UNIQUE (kind, entry)
)"""
AROUND = (
    "CREATE INDEX events_of_kind ON events (kind, seq)",
    "CREATE TRIGGER no_update BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'append-only'); END",
    "CREATE TRIGGER no_delete BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'append-only'); END",
    """CREATE TRIGGER only_append BEFORE INSERT ON events
WHEN NEW.seq IS NOT (SELECT coalesce(max(seq), 0) + 1 FROM events)
  OR EXISTS (SELECT 1 FROM events WHERE kind = NEW.kind AND entry = NEW.entry)
  OR EXISTS (SELECT 1 FROM events WHERE request = NEW.request)
  OR EXISTS (SELECT 1 FROM events WHERE previous = NEW.previous)
  OR EXISTS (SELECT 1 FROM events WHERE hash = NEW.hash)
BEGIN SELECT RAISE(ABORT, 'append-only'); END""",
)
TODAY = (TABLE.format("'create', 'reserve', 'settle', 'migrate'"), *AROUND)
SCHEMAS = {1: (TABLE.format("'create', 'reserve', 'settle'"), *AROUND), FORMAT: TODAY, CLOSED: TODAY}


def recognise(connection: sqlite3.Connection) -> int:
    """The format of a ledger; a file of another kind or version, or with other tables and triggers, is refused."""
    if connection.execute("PRAGMA application_id").fetchone() != (APPLICATION_ID,):
        raise LedgerError("Ledger.path must be a discreet ledger, got another kind of file")
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version not in SCHEMAS:
        raise LedgerError(f"Ledger format must be at most {FORMAT}, got one that a newer version of discreet wrote")
    declared = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid")
    if tuple(sql for (sql,) in declared) != SCHEMAS[version]:
        raise LedgerError("Ledger must have exactly the tables and triggers it was created with: it was altered")
    return int(version)
