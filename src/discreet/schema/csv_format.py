"""How a CSV file is written: a public fact about the file that is declared, never found out from its lines.

It is no part of what is asked: the same table in another notation is the same request.
"""

import codecs
import re
from dataclasses import dataclass

from discreet.errors import SchemaError

__all__ = ["Csv"]

# One byte is one letter there, and ASCII is itself: no byte of a cell can hide a line feed or a delimiter after it.
ONE_BYTE = re.compile(r"iso8859-\d+|cp125\d|cp437|cp850|koi8-[ru]|mac-roman")


@dataclass(frozen=True)
class Csv:
    """The delimiter of columns, the decimal mark, the quote (an empty text: none) and the encoding of a CSV file.

    With a decimal comma `3,5` is the number 3.5, and a number with a point, which might be one in thousands, is none.
    Encodings are UTF-8 and those of one byte for a letter: `"latin-1"`, `"cp1252"`, ...
    """

    delimiter: str = ","
    decimal: str = "."
    quote: str = '"'
    encoding: str = "utf-8"

    def __post_init__(self) -> None:
        if not _is_sign(self.delimiter):
            raise SchemaError(
                f"Csv.delimiter must be one ASCII sign, no letter, digit or line end, got {self.delimiter!r}"
                + ("; a shell writes a tab as $'\\t'" if self.delimiter == "\\t" else "")
            )
        if self.decimal not in (".", ","):
            raise SchemaError(f'Csv.decimal must be "." or ",", got {self.decimal!r}')
        if self.decimal == self.delimiter:
            raise SchemaError(f"Csv.decimal must be another sign than the delimiter, got {self.decimal!r} for both")
        if self.quote != "" and not _is_sign(self.quote):
            raise SchemaError(f"Csv.quote must be one ASCII sign, or an empty text for none, got {self.quote!r}")
        if self.quote in (self.delimiter, self.decimal):
            raise SchemaError(f"Csv.quote must be another sign than delimiter and decimal mark, got {self.quote!r}")
        object.__setattr__(self, "encoding", _encoding(self.encoding))


def _is_sign(text: object) -> bool:
    return isinstance(text, str) and len(text) == 1 and text.isascii() and not text.isalnum() and text not in "\n\r\0"


def _encoding(name: object) -> str:
    """The one name of an encoding that has several."""
    try:
        found = codecs.lookup(name).name if isinstance(name, str) else ""
    except (LookupError, ValueError):
        found = ""
    found = "utf-8" if found == "utf-8-sig" else found  # its mark is dropped anyway
    if found != "utf-8" and not ONE_BYTE.fullmatch(found):
        raise SchemaError(f"Csv.encoding must be UTF-8 or an encoding of one byte for a letter, got {name!r}")
    return found
