"""Numbers that are written as text."""

from __future__ import annotations

__all__ = ["to_number"]


def to_number(text: str, decimal: str = ".") -> float:
    """Read a decimal number, or a word for infinity or NaN.

    Raises:
        ValueError: The text is not a number. ``4_8.2`` and digits of other scripts are refused, although Python
            reads them.

    >>> to_number(" 4.82e1"), to_number("48,2", ",")
    (48.2, 48.2)
    """
    if "_" in text or not text.isascii():
        raise ValueError("not a number")
    if decimal != ".":
        if "." in text:  # it would separate thousands
            raise ValueError("not a number")
        text = text.replace(decimal, ".")
    return float(text)
