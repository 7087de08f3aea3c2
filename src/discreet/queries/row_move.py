"""How far one row moves statistics, in L1 and in squared L2: replaced by another row, or there and not."""

from dataclasses import dataclass
from fractions import Fraction

__all__ = ["RowMove", "row_move"]


@dataclass(frozen=True)
class RowMove:
    """How far one row moves statistics: replaced by another row, or toggled (there or not)."""

    replace_l1: Fraction
    toggle_l1: Fraction
    replace_squared: Fraction
    toggle_squared: Fraction

    def __add__(self, other: "RowMove") -> "RowMove":
        """Statistics released together: both distances add."""
        return RowMove(
            self.replace_l1 + other.replace_l1,
            self.toggle_l1 + other.toggle_l1,
            self.replace_squared + other.replace_squared,
            self.toggle_squared + other.toggle_squared,
        )


def row_move(replace_l1: int, toggle_l1: int, replace_squared: int, toggle_squared: int) -> RowMove:
    """A move of whole numbers."""
    return RowMove(Fraction(replace_l1), Fraction(toggle_l1), Fraction(replace_squared), Fraction(toggle_squared))
