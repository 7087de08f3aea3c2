"""Formulas of the theory pages, set while the site is built: no script and no font from anywhere.

Proofs are written in plain text, so that they can be read beside the code: `P(Z = k) ∝ e^{-k²/2σ²}`. What stands
between backticks and is no code is shown with its exponents raised and its indices lowered.
"""

import re
from typing import Any

CODE = re.compile(r"<code>([^<]*)</code>")
SIGNS = re.compile(r"[=≤≥<>∈∉∝·√∑Σ∏∫‖|∞±→⊂∪∩×÷≈≠∼∀∃²³ⁿ⁻₀-₉ᵢⱼα-ωΑ-Ω^]|&[lg]t;")
IS_CODE = re.compile(
    r"[\"`]|'\w|\w\.\w*[a-z]{2}|[a-z]{3,}_[a-z]{2,}|[A-Z][a-z]+[A-Z]|\w{3,}=|^--|/\w+/|\.(?:py|md|toml|json|csv)\b"
)
WORDS = re.compile(r"[A-Za-z]{2,}")
OF_MATHEMATICS = {
    "arg",
    "cos",
    "cosh",
    "det",
    "dim",
    "erf",
    "exp",
    "log",
    "max",
    "min",
    "mod",
    "Pr",
    "sin",
    "sinh",
    "sup",
    "tanh",
    "tr",
    "TV",
}
RAISED = re.compile(r"\^(?:\{([^{}]*)\}|([-−]?[0-9]+|[A-Za-zα-ω*]))")
LOWERED = re.compile(r"_(?:\{([^{}]*)\}|([0-9]+|[A-Za-zα-ω*])(?![A-Za-z]))")


def is_formula(text: str) -> bool:
    """Whether a piece of code is meant to be read as mathematics."""
    words = set(WORDS.findall(text)) - OF_MATHEMATICS
    if not words:
        return re.search(r"[A-Za-zα-ωΑ-Ω]", text) is not None and IS_CODE.search(text) is None
    return SIGNS.search(text) is not None and IS_CODE.search(text) is None


def formula(text: str) -> str:
    """The formula with exponents and indices, from the innermost outward."""
    for sign, pattern in (("sub", LOWERED), ("sup", RAISED)):
        before = ""
        while before != text:
            before = text
            text = pattern.sub(lambda found, sign=sign: f"<{sign}>{found[1] or found[2]}</{sign}>", text)
    return f'<span class="formula">{text}</span>'


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Called by mkdocs for every page."""
    if not page.file.src_uri.startswith("theory/"):
        return html
    return CODE.sub(lambda found: formula(found[1]) if is_formula(found[1]) else found[0], html)
