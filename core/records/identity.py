"""Identity: when two spellings mean one person, one venue, one category.

A guarantee for k people counts people, so one person must not count twice because two systems spell an id differently.
In doubt, the rule treats two spellings as one person: counts of people are then too low, never too high.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from decimal import Decimal
from functools import lru_cache

__all__ = ["Identifier", "Names", "canonical"]

Identifier = str | int | float
"""The type of ids and names of persons, venues and categories in a feed."""

_PLAIN = re.compile(r"[g-z][a-z0-9_.@-]*|[1-9][0-9]{0,30}|0")
"""Ids that are their own canonical spelling, unless they are a word for nothing. This is tried first: most match."""

_NOTHING = frozenset(("null", "(null)", "<null>", "none", "nil", "nan", "<na>", "n/a", "#n/a", "undefined", "\\n"))
"""What programs write for a missing id."""

_NIL = "0" * 32
"""The digits of the nil UUID, which devices report if tracking is off."""

_UUID = re.compile(
    r"(?:urn:uuid:)?[{(]?([0-9a-f]{8})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{12})[)}]?"
)
_MAC = re.compile(r"(?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2}|(?:[0-9a-f]{4}\.){2}[0-9a-f]{4}")
_WHOLE = re.compile(r"([+-]?)([0-9]+)(?:\.0*)?")
_SCIENTIFIC = re.compile(r"[+-]?[0-9](?:\.[0-9]+e\+?|e\+)[0-9]{1,3}")
"""How spreadsheets and Java write large numbers: ``1.5E+15``, ``1.5E9``. Not ``1e2``, which may be hexadecimal."""

_IGNORABLE_LETTERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0")
"""Code points without an appearance that Unicode does not count among format characters."""

_QUOTES = frozenset(
    [sign for sign in map(chr, range(0x3100)) if unicodedata.category(sign) in {"Pi", "Pf"}]
    + list("\"'`\u201a\u201e\u2e42\u300c\u300d\u300e\u300f\u301d\u301e\u301f")
)
"""Quotation marks of all languages, after compatibility forms are replaced."""

_CONTROLS = {code: None for code in (*range(32), 127) if not chr(code).isspace()}

_MOST_SIGNS = 2**16
"""Size of the cache of code points: more than any script has, and small enough for memory."""

_REMEMBERED = 2**15
"""Size of the cache of canonical spellings: the same people, venues and categories occur again and again."""

_LONGEST_REMEMBERED = 64
"""Characters; the spelling of a longer text is not cached."""

_SHORTEST_REFUSED = 256
"""Characters; a text up to this length is compared with a list of names, however short the names are."""


def canonical(name: Identifier) -> str:
    """Return the one spelling that stands for all spellings of an id or a name; empty if it names nobody.

    1. Compatibility forms, upper case, and code points without an appearance do not count (NFKC_Casefold of the
       Unicode Standard, section 3.13), nor do control characters, white space and quotation marks around the name
       (nor ``="..."``, as spreadsheets protect texts); white space inside it is one space, and the minus sign is a
       hyphen.
    2. UUIDs and MAC addresses are compared by their hexadecimal digits alone.
    3. Whole numbers are compared as numbers: ``7``, ``7.0``, ``007`` and ``7E+00`` are one, in any script. So are
       UUIDs and MAC addresses without a letter, because written as digits alone they look like numbers.
    4. Words that programs write for nothing, such as ``null``, ``NaN`` or the nil UUID, name nobody.

    Unicode's normalization can take time quadratic in the length of a text: limit the length before you call this.

    >>> [canonical(one) for one in (" P01", 7, "007", 7.0, "Jose\u0301", "null")]
    ['p01', '7', '7', '7', 'josé', '']
    """
    # Python refuses to write integers of thousands of digits; Decimal does not.
    text = f"{Decimal(name):f}" if isinstance(name, int) and abs(name) >= 2**63 else str(name)
    if _PLAIN.fullmatch(text) is None:
        text = _remembered(text) if len(text) <= _LONGEST_REMEMBERED else _compared(text)
    return "" if text in _NOTHING else text


def _compared(text: str) -> str:
    """Return the part of a text that is compared: empty for the nil UUID."""
    shown = _settled(text)
    if (digits := _UUID.fullmatch(shown)) is not None:
        shown = "".join(digits.groups())
        if shown == _NIL:
            return ""
    elif _MAC.fullmatch(shown) is not None:
        shown = re.sub("[:.-]", "", shown)
    elif _SCIENTIFIC.fullmatch(shown) is not None and (number := Decimal(shown)) == number.to_integral_value():
        shown = f"{number:f}".partition(".")[0]
    if (whole := _WHOLE.fullmatch(shown)) is not None:
        number_shown = whole[2].lstrip("0") or "0"
        return f"-{number_shown}" if whole[1] == "-" and number_shown != "0" else number_shown
    return shown


_remembered = lru_cache(_REMEMBERED)(_compared)


def _settled(text: str) -> str:
    """Apply :func:`_shown` until nothing changes: a removed code point can bring together two that compose."""
    shown, seen, is_settled = text, None, False
    while not is_settled and shown != seen:
        seen = shown
        shown, is_settled = _shown(seen)
    return shown


def _shown(text: str) -> tuple[str, bool]:
    """Remove invisible code points and differences that are only a way of writing.

    Returns:
        The remaining text, and whether another application is known to leave it unchanged.
    """
    is_settled = True
    if text.isascii():
        text = text.lower()
        if not text.isprintable():
            text = text.translate(_CONTROLS)
    else:
        folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
        text = folded.translate(_SIGNS)
        is_settled = text == folded == folded.casefold()
    return _unquoted(" ".join(text.split())), is_settled


def _unquoted(text: str) -> str:
    """Remove all quotation marks around a text whose only white space is single spaces, also nested ones.

    So is the equals sign with which spreadsheets protect a text: ``="007"``.
    """
    begin, end = 0, len(text)
    while end - begin > 1 and text[end - 1] in _QUOTES:
        is_protected = end - begin > 2 and text[begin] == "=" and text[begin + 1] in _QUOTES
        if not is_protected and text[begin] not in _QUOTES:
            break
        begin, end = begin + 1 + is_protected, end - 1
        if begin < end and text[begin] == " ":
            begin += 1
        if begin < end and text[end - 1] == " ":
            end -= 1
    return text[begin:end]


class _Signs(dict[int, int | str | None]):
    """Replacement of each code point, for :meth:`str.translate`: itself, a digit, a hyphen, or None to remove it."""

    def __missing__(self, code: int) -> int | str | None:
        sign, shown = chr(code), None
        if sign.isdecimal():
            shown = str(unicodedata.decimal(sign))
        elif sign.isspace() or not _is_invisible(sign):
            shown = "-" if sign == "\N{MINUS SIGN}" else sign
        if len(self) < _MOST_SIGNS:
            self[code] = shown
        return shown


_SIGNS = _Signs()


def _is_invisible(sign: str) -> bool:
    return unicodedata.category(sign) in {"Cc", "Cf"} or _is_selector(sign) or sign in _IGNORABLE_LETTERS


def _is_selector(sign: str) -> bool:
    """Whether a code point only chooses a variant of the one before it."""
    return "\ufe00" <= sign <= "\ufe0f" or "\u180b" <= sign <= "\u180f" or "\U000e0000" <= sign <= "\U000e0fff"


class Names:
    """Finds a name in a list, whatever its spelling.

    An exact match comes first. Another spelling is found only if exactly one name of the list can be meant.

    Args:
        names: The list, without repeated names.

    >>> [Names(["Café", "CAFE", "cafe"]).find(one) for one in ("café ", "cafe", "Cafe")]
    [0, 2, -1]
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._exact = {name: i for i, name in enumerate(names)}
        self._by_spelling: dict[str, int] = {}
        for name, i in self._exact.items():
            self._by_spelling[canonical(name)] = -1 if canonical(name) in self._by_spelling else i
        self._by_spelling.pop("", None)
        self._longest = max(_SHORTEST_REFUSED, 4 * max(map(len, self._exact), default=0))

    def __len__(self) -> int:
        return len(self._exact)

    def is_too_long(self, name: str) -> bool:
        """Whether a text is so much longer than every name of the list that it is not compared with them."""
        return len(name) > self._longest

    def find(self, name: str) -> int:
        """Return the index of a name in the list, or -1 if it is not in the list, could be several, or is too long."""
        if (found := self._exact.get(name)) is not None:
            return found
        return -1 if self.is_too_long(name) else self._by_spelling.get(canonical(name), -1)
