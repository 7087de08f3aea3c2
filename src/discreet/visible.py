"""Texts as a terminal may show them: no control character, no change of direction, no end of line, a bounded length.

Levels, identifiers, labels and file names come from other people. Shown raw, they could move the cursor, recolour or
hide what stands beside them, or pass for a line of their own.
"""

import unicodedata

__all__ = ["LONGEST", "visible"]

LONGEST = 2000

# Controls, formats (directions, joiners, tags), surrogates, private and unassigned code points.
HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn"}


def visible(text: str, longest: int = LONGEST) -> str:
    """One line of characters that can be seen: white space is a space, hidden characters are written as escapes."""
    # cut before escaping as well as after: an escape is up to ten times as long as what it stands for
    shown = "".join(map(_sign, text[: longest + 1]))
    if len(shown) <= longest:
        return shown
    tail = f"… ({len(text)} characters)"
    return shown[: longest - len(tail)] + tail


def _sign(character: str) -> str:
    if character.isspace():
        return " "
    if unicodedata.category(character) not in HIDDEN:
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
