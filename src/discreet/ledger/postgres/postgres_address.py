"""Addresses of ledgers in databases: "postgresql://user@host/database?ledger=name", the rest as libpq reads it.

A password in an address would end in study files, messages and process lists: it is refused, and taken from the
environment (PGPASSWORD), ~/.pgpass or a service file. Everything else, such as sslmode, is libpq's.
"""

import re
from dataclasses import dataclass
from typing import Any, Self, TypeGuard
from urllib.parse import unquote, urlsplit

from discreet.errors import LedgerError
from discreet.sources.readers.postgres_table import has_password

__all__ = ["SHAPE", "LedgerAddress", "is_address"]

SCHEME = re.compile(r"postgres(ql)?://", re.IGNORECASE)
NAME = re.compile("[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")  # as it is, in SQL
DEFAULT = "study"
SECRET = {"password", "sslpassword", "oauth_client_secret"}

UNSAFE = (
    "Ledger address must have no password in it, got one: set PGPASSWORD, or use ~/.pgpass or a service file "
    "(postgresql:///?service=name)"
)
SHAPE = "Ledger address must be postgresql://user@host/database?ledger=name, got something else"


@dataclass(frozen=True)
class LedgerAddress:
    """What libpq connects to, and the name of the ledger there."""

    server: str
    name: str

    @classmethod
    def read(cls, text: str) -> Self:
        """The parts of an address; nothing of one with a password is repeated."""
        try:
            parts = urlsplit(text)
            options = [option for option in parts.query.split("&") if option]
            keys = [unquote(option.partition("=")[0], errors="strict") for option in options]
            names = [
                unquote(option.partition("=")[2]) for option, key in zip(options, keys, strict=True) if key == "ledger"
            ]
        except (ValueError, UnicodeError):
            raise LedgerError(SHAPE) from None
        if has_password(text) or not SECRET.isdisjoint(keys):
            raise LedgerError(UNSAFE)
        if parts.fragment or len(names) > 1:
            raise LedgerError(SHAPE)
        (name,) = names or (DEFAULT,)
        if not NAME.fullmatch(name):
            raise LedgerError(f"Ledger name must be at most 63 letters, digits, '_', '-' and '.', got {name!r}")
        kept = "&".join(option for option, key in zip(options, keys, strict=True) if key != "ledger")
        return cls(parts._replace(query=kept).geturl() if parts.netloc else _without_host(text, kept), name)

    def __str__(self) -> str:
        return f"{self.server}{'&' if '?' in self.server else '?'}ledger={self.name}"


def _without_host(text: str, query: str) -> str:
    """The address again: urlsplit drops the slashes of one without a host."""
    path = text.partition("?")[0]
    return f"{path}?{query}" if query else path


def is_address(place: Any) -> TypeGuard[str]:
    """Whether a place is a database and not a file."""
    return isinstance(place, str) and SCHEME.match(place) is not None
