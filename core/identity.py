"""Identity: when two spellings mean one person, one venue, one category.

A promise to k people counts people, so one person must not count twice because two systems spell an id differently.
Where the rule is in doubt it takes two spellings for one: counts of people are then too low, never too high.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from decimal import Decimal

__all__ = ["Identifier", "Names", "canonical"]

Identifier = str | int | float
"""What a feed may name a person, a venue or a category with."""

_PLAIN = re.compile(r"[g-z][a-z0-9_.@-]*|[1-9][0-9]{0,30}|0")
"""Ids that are their own canonical spelling, unless they are a word for nothing: nearly all, so this is tried first."""

_NOTHING = frozenset(
    ("null", "(null)", "<null>", "none", "nil", "nan", "<na>", "n/a", "#n/a", "undefined", "\\n", "0" * 32)
)
"""What programs write where nobody is named; the last is the nil UUID, which devices give when tracking is off."""

_UUID = re.compile(
    r"(?:urn:uuid:)?[{(]?([0-9a-f]{8})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{12})[)}]?"
)
_MAC = re.compile(r"(?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2}|(?:[0-9a-f]{4}\.){2}[0-9a-f]{4}")
_WHOLE = re.compile(r"([+-]?)0*([0-9]+)(?:\.0*)?")
_SCIENTIFIC = re.compile(r"[+-]?[0-9](?:\.[0-9]+e\+?|e\+)[0-9]{1,3}")
"""As spreadsheets and Java write large numbers: ``1.5E+15``, ``1.5E9``. Not ``1e2``, which may be hexadecimal."""

_IGNORABLE_LETTERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0")
"""Code points without an appearance that Unicode does not count among format characters."""


_CONTROLS = {code: None for code in (*range(32), 127) if not chr(code).isspace()}


def canonical(name: Identifier) -> str:
    """Return the one spelling that stands for all spellings of an id or a name; empty where it names nobody.

    1. Compatibility forms, upper case, and code points without an appearance do not count (NFKC_Casefold of the
       Unicode Standard, section 3.13), nor do control characters, white space and quotation marks around the name;
       white space inside it is one space.
    2. UUIDs and MAC addresses are compared by their hexadecimal digits alone.
    3. Whole numbers are compared as numbers: ``7``, ``7.0``, ``007`` and ``7E+00`` are one, in any script.
    4. Words that programs write for nothing, such as ``null``, ``NaN`` or the nil UUID, name nobody.

    >>> [canonical(one) for one in (" P01", 7, "007", 7.0, "Jose\u0301", "null")]
    ['p01', '7', '7', '7', 'josé', '']
    """
    # Python refuses to write integers of thousands of digits; Decimal does not.
    text = f"{Decimal(name):f}" if isinstance(name, int) and abs(name) >= 2**63 else str(name)
    if _PLAIN.fullmatch(text) is None:
        text = _compared(text)
    return "" if text in _NOTHING else text


def _compared(text: str) -> str:
    shown, seen = _shown(text), ""
    while shown != seen:  # what is left out can bring together what composes
        seen, shown = shown, _shown(shown)
    if (digits := _UUID.fullmatch(shown)) is not None:
        return "".join(digits.groups())
    if _MAC.fullmatch(shown) is not None:
        return re.sub("[:.-]", "", shown)
    if (whole := _WHOLE.fullmatch(shown)) is not None:
        return ("-" if whole[1] == "-" and whole[2] != "0" else "") + whole[2]
    if _SCIENTIFIC.fullmatch(shown) is not None and (number := Decimal(shown)) == number.to_integral_value():
        return f"{number:f}".partition(".")[0]
    return shown


def _shown(text: str) -> str:
    """Leave out what nobody sees, and what says only how something is written."""
    if text.isascii():
        text = text.lower().translate(_CONTROLS)
    else:
        text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
        kept = (sign for sign in text if sign.isspace() or not _is_invisible(sign))
        text = "".join(str(unicodedata.decimal(sign)) if sign.isdecimal() else sign for sign in kept)
    text = " ".join(text.split())
    while len(text) > 1 and text[0] == text[-1] == '"':
        text = text[1:-1].strip()
    return text


def _is_invisible(sign: str) -> bool:
    return unicodedata.category(sign) in {"Cc", "Cf"} or _is_selector(sign) or sign in _IGNORABLE_LETTERS


def _is_selector(sign: str) -> bool:
    """Whether a code point only chooses a variant of the one before it."""
    return "\ufe00" <= sign <= "\ufe0f" or "\u180b" <= sign <= "\u180f" or "\U000e0000" <= sign <= "\U000e0fff"


class Names:
    """Finds a name of a list in whatever spelling it is given.

    A name that is in the list exactly as given is found first. In another spelling it is found where only one name of
    the list can be meant.

    Args:
        names: The list; every name differs from the others.

    >>> [Names(["Café", "CAFE", "cafe"]).find(one) for one in ("café ", "cafe", "Cafe")]
    [0, 2, -1]
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._exact = {name: i for i, name in enumerate(names)}
        self._by_spelling: dict[str, int] = {}
        for name, i in self._exact.items():
            self._by_spelling[canonical(name)] = -1 if canonical(name) in self._by_spelling else i
        self._by_spelling.pop("", None)

    def __len__(self) -> int:
        return len(self._exact)

    def find(self, name: str) -> int:
        """Return the index of a name in the list, or -1 where it is not there or could be several."""
        found = self._exact.get(name)
        return self._by_spelling.get(canonical(name), -1) if found is None else found
