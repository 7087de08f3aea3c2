"""The ledger: the only state. It reserves a guarantee durably, or refuses, before any row is read."""

from discreet.ledger.events import Entry
from discreet.ledger.ledger import Ledger

__all__ = ["Entry", "Ledger"]
