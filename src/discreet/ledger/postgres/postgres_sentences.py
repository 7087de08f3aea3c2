"""What a PostgreSQL server says, which may quote anything, in sentences of our own."""

from typing import TYPE_CHECKING

from discreet.errors import LedgerError

if TYPE_CHECKING:
    import psycopg

__all__ = ["ABSENT", "ALTERED", "NOT_DURABLE", "NOT_INSTALLED", "TAKEN", "LostConnectionError", "as_ledger_error"]

NOT_INSTALLED = "Ledger must be a file where psycopg is not installed (pip install discreet[postgres]), got an address"
TAKEN = "Ledger.path must be a new name, because a ledger is never overwritten (Ledger.open opens one), got {}"
ABSENT = "Ledger.path must be an existing ledger (Ledger.create makes one), got {}"
ALTERED = "Ledger must have exactly the tables, functions and triggers it was created with: it was altered"
NOT_DURABLE = "Ledger must be on a server that waits for its disk, got one with fsync = off; nothing was released"

LOST = (
    "Ledger must be on a server that can be reached, lets this user in and stays, but it did not answer; nothing was "
    "released, and the same request again finds what was paid"
)
BUSY = "Ledger must be free within a minute, but another process kept it locked; nothing was released"
REFUSED = "Ledger must be continued by discreet alone: the database refused an event; nothing was released"
OTHER = "Ledger must be in a database that can do what is asked of it, but it could not; nothing was released"
ONE_LEDGER = (
    "Ledger must be the only one of its database that pays for a dataset, but another one does: both budgets add up, "
    "and only a ledger that was made to say so may pay (discreet ledger create --acknowledge ID); nothing was released"
)
RIGHTS = "Ledger must be open to this role (its owner says: discreet ledger grant); nothing was released"
SENTENCES = {
    "3D000": "Ledger must be in a database that exists; nothing was released",
    "22": OTHER,
    "23": REFUSED,
    "25006": "Ledger must be on a server that can be written to, got a standby; nothing was released",
    "42501": RIGHTS,
    "42704": "Ledger.grant role must be a role of the database (CREATE ROLE makes one), got another",
    "3F000": "Ledger.path must be an existing ledger (Ledger.create makes one), got a database without one",
    "42P01": "Ledger.path must be an existing ledger (Ledger.create makes one), got a database without one",
    "42883": "Ledger.path must be an existing ledger (Ledger.create makes one), got a database without one",
    "53": "Ledger must be on a server that has room; nothing was released",
    "54": "Ledger must get a recipe and a release below a gigabyte; nothing was released",
    "55P03": BUSY,
    "57014": BUSY,
}
# Two writers in each other's way, a server that stops or starts, a session that was ended for being idle.
AGAIN = {"40001", "40P01", "57P01", "57P02", "57P03", "57P05", "25P03", "25P04"}


class LostConnectionError(LedgerError):
    """The connection is gone, or the server asks to try again: what was on its way may or may not have happened."""


def as_ledger_error(error: "psycopg.Error") -> LedgerError:
    """A sentence for an error of the driver; a lost connection has a type of its own."""
    import psycopg

    state = error.sqlstate or ""
    if state in AGAIN or state.startswith("08") or (not state and isinstance(error, psycopg.OperationalError)):
        return LostConnectionError(LOST)
    if error.diag.constraint_name == "one_ledger":
        return LedgerError(ONE_LEDGER)
    return LedgerError(SENTENCES.get(state, SENTENCES.get(state[:2], OTHER)))
