"""Identity: when two spellings mean one person, one venue, one category.

A promise to k people counts people, so one person must not count twice because two systems spell an id differently.
Where the rule is in doubt it takes two spellings for one: counts of people are then too low, never too high.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from decimal import Decimal
from functools import lru_cache

__all__ = ["Identifier", "Names", "canonical"]

Identifier = str | int | float
"""What a feed may name a person, a venue or a category with."""

_PLAIN = re.compile(r"[g-z][a-z0-9_.@-]*|[1-9][0-9]{0,30}|0")
"""Ids that are their own canonical spelling, unless they are a word for nothing: nearly all, so this is tried first."""

_NOTHING = frozenset(("null", "(null)", "<null>", "none", "nil", "nan", "<na>", "n/a", "#n/a", "undefined", "\\n"))
"""What programs write where nobody is named."""

_NIL = "0" * 32
"""The digits of the nil UUID, which devices give when tracking is off."""

_UUID = re.compile(
    r"(?:urn:uuid:)?[{(]?([0-9a-f]{8})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{12})[)}]?"
)
_MAC = re.compile(r"(?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2}|(?:[0-9a-f]{4}\.){2}[0-9a-f]{4}")
_WHOLE = re.compile(r"([+-]?)([0-9]+)(?:\.0*)?")
_SCIENTIFIC = re.compile(r"[+-]?[0-9](?:\.[0-9]+e\+?|e\+)[0-9]{1,3}")
"""As spreadsheets and Java write large numbers: ``1.5E+15``, ``1.5E9``. Not ``1e2``, which may be hexadecimal."""

_IGNORABLE_LETTERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0")
"""Code points without an appearance that Unicode does not count among format characters."""

_CONTROLS = {code: None for code in (*range(32), 127) if not chr(code).isspace()}

_MOST_SIGNS = 2**16
"""Code points whose appearance is remembered: more than any script has, and few enough for memory."""

_REMEMBERED = 2**15
"""Texts whose canonical spelling is remembered: the same people, venues and categories come again and again."""

_LONGEST_REMEMBERED = 64
"""Characters."""

_SHORTEST_REFUSED = 256
"""Characters; a shorter text is compared with every list of names, however short these are."""


def canonical(name: Identifier) -> str:
    """Return the one spelling that stands for all spellings of an id or a name; empty where it names nobody.

    1. Compatibility forms, upper case, and code points without an appearance do not count (NFKC_Casefold of the
       Unicode Standard, section 3.13), nor do control characters, white space and quotation marks around the name;
       white space inside it is one space, and the minus sign is a hyphen.
    2. UUIDs and MAC addresses are compared by their hexadecimal digits alone.
    3. Whole numbers are compared as numbers: ``7``, ``7.0``, ``007`` and ``7E+00`` are one, in any script. So are
       UUIDs and MAC addresses without a letter, which nothing tells from numbers where they are written as digits.
    4. Words that programs write for nothing, such as ``null``, ``NaN`` or the nil UUID, name nobody.

    Unicode's normalization can take the square of a text's length: limit the length of a text before you call this.

    >>> [canonical(one) for one in (" P01", 7, "007", 7.0, "Jose\u0301", "null")]
    ['p01', '7', '7', '7', 'josé', '']
    """
    # Python refuses to write integers of thousands of digits; Decimal does not.
    text = f"{Decimal(name):f}" if isinstance(name, int) and abs(name) >= 2**63 else str(name)
    if _PLAIN.fullmatch(text) is None:
        text = _remembered(text) if len(text) <= _LONGEST_REMEMBERED else _compared(text)
    return "" if text in _NOTHING else text


def _compared(text: str) -> str:
    """Return what is compared of a text: empty for the nil UUID."""
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
    """Leave out what does not count until nothing of it is left: so doing can bring together what composes."""
    shown, seen, is_settled = text, None, False
    while not is_settled and shown != seen:
        seen = shown
        shown, is_settled = _shown(seen)
    return shown


def _shown(text: str) -> tuple[str, bool]:
    """Leave out what nobody sees, and what says only how something is written.

    Returns:
        What is left, and whether it is known that it would stay as it is.
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
    """Leave out quotation marks around a text whose only white space is single spaces, as often as it has them."""
    begin, end = 0, len(text)
    while end - begin > 1 and text[begin] == text[end - 1] == '"':
        begin, end = begin + 1, end - 1
        if begin < end and text[begin] == " ":
            begin += 1
        if begin < end and text[end - 1] == " ":
            end -= 1
    return text[begin:end]


class _Signs(dict[int, int | str | None]):
    """What stands for a code point, for :meth:`str.translate`: itself, a digit, a hyphen, or None for nothing."""

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
        self._longest = max(_SHORTEST_REFUSED, 4 * max(map(len, self._exact), default=0))

    def __len__(self) -> int:
        return len(self._exact)

    def is_too_long(self, name: str) -> bool:
        """Whether a text is so much longer than every name of the list that it is not compared with them."""
        return len(name) > self._longest

    def find(self, name: str) -> int:
        """Return the index of a name in the list, or -1 where it is not there, could be several, or is too long."""
        if (found := self._exact.get(name)) is not None:
            return found
        return -1 if self.is_too_long(name) else self._by_spelling.get(canonical(name), -1)
