"""Profiles: the attributes of a person that a record states beside user, time and place, packed into 32 bits.

Each attribute of a :class:`Profile` has a digit: 0 if it is not given, else one more than the index of its value. The
digits form a number in mixed radix, with the first attribute's digit the most significant. The number 0 means that no
attribute is given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np
import numpy.typing as npt

from core.records.arrays import IntArray, UserHashes
from core.records.by_user import same_as_before
from core.records.identity import Names, canonical

__all__ = [
    "NOT_GIVEN",
    "AttributeValue",
    "Categorical",
    "Codes",
    "Encoded",
    "Numeric",
    "Profile",
    "common_profiles",
    "distinct_profiles",
]

AttributeValue = str | int | float | bool | None
"""Type of an attribute's value in a record; None if it is not given."""

Codes = npt.NDArray[np.uint32]

NOT_GIVEN = -1
"""Stands for the value of an attribute that is not given."""

_MOST_CODES = 2**32
_LARGEST = 2**53
"""Up to this value all programs read integers of JSON alike."""

_MOST_DIGITS = 16
_WRONG = -1


@dataclass(frozen=True, slots=True)
class Numeric:
    """An attribute that is a whole number.

    Raises:
        ValueError: The range is empty or too large.
    """

    name: str
    """The field of a record."""

    low: int
    """Smallest value, 0 or above."""

    high: int
    """Largest value."""

    optional: bool = False
    """Whether a record may lack it."""

    def __post_init__(self) -> None:
        if not 0 <= self.low <= self.high <= _LARGEST:
            raise ValueError(
                f"{self.name} is from {self.low} to {self.high}: it must be a range of whole numbers that begins at 0 "
                f"or above, does not end before its beginning, and ends at {_LARGEST} at most"
            )

    @property
    def needed(self) -> bool:
        """Whether a record without it is rejected."""
        return not self.optional

    @property
    def n_values(self) -> int:
        """How many values there are."""
        return self.high - self.low + 1

    @property
    def allowed(self) -> str:
        """What a value must be, without its name."""
        return f"a whole number from {self.low} to {self.high}"

    def digits(self, column: Sequence[AttributeValue]) -> IntArray:
        """Return the digit of each value, shape ``(n,)``: 0 if it is missing, negative if it is not allowed.

        ``41``, ``41.0`` and ``"41"``, as in text files, are all the whole number 41.
        """
        low, high = self.low, self.high
        numbers = (value if type(value) is int else _whole(value) for value in column)
        digits = (0 if n is None else n - low + 1 if low <= n <= high else _WRONG for n in numbers)
        return np.fromiter(digits, dtype=np.int64, count=len(column))

    def values_of(self, digits: IntArray) -> IntArray:
        """Return the value for each digit, shape ``(n,)``; :data:`NOT_GIVEN` for 0."""
        return np.where(digits > 0, digits + (self.low - 1), NOT_GIVEN)


@dataclass(frozen=True, slots=True)
class Categorical:
    """An attribute with a closed set of values, which records may spell in any way.

    Raises:
        ValueError: There are no values, or one is repeated.
    """

    name: str
    """The field of a record."""

    values: tuple[str, ...]
    """The allowed values, in the order of their numbers."""

    optional: bool = False
    """Whether a record may lack it."""

    others: bool = False
    """Whether other values are allowed and count as not given; a record may then also lack the attribute."""

    _names: Names = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_names", Names(self.values))
        if not self.values or len(self._names) < len(self.values):
            raise ValueError(f"{self.name} needs at least one value, and every value only once")

    @property
    def needed(self) -> bool:
        """Whether a record without it is rejected."""
        return not self.optional and not self.others

    @property
    def n_values(self) -> int:
        """How many values there are."""
        return len(self.values)

    @property
    def allowed(self) -> str:
        """What a value must be, without its name."""
        return f"one of the {self.n_values} values that privacy.attributes allows"

    def digits(self, column: Sequence[AttributeValue]) -> IntArray:
        """Return the digit of each value, shape ``(n,)``: 0 if it is missing, negative if it is not allowed.

        A value that is not a text is compared as JSON writes it: ``7``, ``7.5``, ``true``.
        """
        return np.fromiter(map(self._digit, column), dtype=np.int64, count=len(column))

    def _digit(self, value: AttributeValue) -> int:
        text = value if type(value) is str else _text(value)
        if text is None:
            return 0
        if (found := self._names.find(text)) >= 0:
            return found + 1
        says_nothing = not self._names.is_too_long(text) and not canonical(text)
        return 0 if self.others or says_nothing else _WRONG

    def values_of(self, digits: IntArray) -> IntArray:
        """Return the index of the value for each digit, shape ``(n,)``; :data:`NOT_GIVEN` for 0."""
        return digits - 1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Encoded:
    """The codes of records, and the faults of their attributes."""

    codes: Codes = field(repr=False)
    """Shape ``(n,)``; a value that is missing or not allowed counts as not given."""

    missing: IntArray = field(repr=False)
    """The first needed attribute that each record lacks, shape ``(n,)``; -1 if it lacks none."""

    wrong: IntArray = field(repr=False)
    """The first attribute of each record whose value is not allowed, shape ``(n,)``; -1 if all are."""


@dataclass(frozen=True, slots=True)
class Profile:
    """The attributes of a person, in a fixed order.

    Raises:
        ValueError: Two attributes share a name, or the combinations of their values do not fit 32 bits.
    """

    attributes: tuple[Numeric | Categorical, ...]
    """The attributes; the first has the most significant digit."""

    def __post_init__(self) -> None:
        if len(set(self.names)) < len(self.names):
            raise ValueError("two attributes share a name: every attribute needs a name of its own")
        if self.n_codes > _MOST_CODES:
            raise ValueError(
                f"the attributes have {self.n_codes} combinations of values, including values that are not given: at "
                f"most {_MOST_CODES} are allowed; use coarser ranges, fewer values or fewer attributes"
            )

    @property
    def names(self) -> tuple[str, ...]:
        """The fields of a record, in order."""
        return tuple(attribute.name for attribute in self.attributes)

    @property
    def n_codes(self) -> int:
        """The number of codes; every attribute may also be not given."""
        return prod(attribute.n_values + 1 for attribute in self.attributes)

    def encode(self, columns: Sequence[Sequence[AttributeValue]]) -> Encoded:
        """Pack the attributes of records into codes.

        Args:
            columns: For each attribute its values, ``n`` of them.

        Returns:
            The codes, and for each record the faults of its attributes.

        >>> profile = Profile((Numeric("age", 18, 99), Categorical("plan", ("basic", "plus"), optional=True)))
        >>> encoded = profile.encode([[18, 41, None, 41], ["plus", None, "plus", "gold"]])
        >>> encoded.codes.tolist(), encoded.missing.tolist(), encoded.wrong.tolist()
        ([5, 72, 2, 72], [-1, -1, 0, -1], [-1, -1, -1, 1])
        """
        n = len(columns[0]) if columns else 0
        missing, wrong = np.full(n, -1, dtype=np.int64), np.full(n, -1, dtype=np.int64)
        digits: list[IntArray] = []
        for i, (attribute, column) in enumerate(zip(self.attributes, columns, strict=True)):
            own = attribute.digits(column)
            wrong[(own < 0) & (wrong < 0)] = i
            if attribute.needed:
                missing[(own == 0) & (missing < 0)] = i
            digits.append(np.maximum(own, 0))
        return Encoded(codes=self._packed(digits, n), missing=missing, wrong=wrong)

    def decode(self, codes: Codes) -> list[IntArray]:
        """Return for each attribute its values, or the indexes of categorical values, each of shape ``(n,)``.

        :data:`NOT_GIVEN` stands for a value that is not given.

        Raises:
            ValueError: A code is none of this profile.

        >>> profile = Profile((Numeric("age", 18, 99), Categorical("plan", ("basic", "plus"))))
        >>> [column.tolist() for column in profile.decode(np.array([5, 72, 0], np.uint32))]
        [[18, 41, -1], [1, -1, -1]]
        """
        own = zip(self.attributes, self._digits(codes), strict=True)
        return [attribute.values_of(digits) for attribute, digits in own]

    def part(self, codes: Codes, names: Sequence[str]) -> tuple[Profile, Codes]:
        """Return the profile of some of the attributes, and the codes in it, shape ``(n,)``.

        Args:
            codes: Codes of this profile, shape ``(n,)``.
            names: Which attributes; they stay in the order of this profile.

        Raises:
            ValueError: A code is none of this profile.
        """
        own = [i for i, name in enumerate(self.names) if name in names]
        digits = self._digits(codes)
        part = Profile(tuple(self.attributes[i] for i in own))
        return part, part._packed([digits[i] for i in own], len(codes))

    def _packed(self, digits: Sequence[IntArray], n: int) -> Codes:
        codes = np.zeros(n, dtype=np.int64)
        for attribute, own in zip(self.attributes, digits, strict=True):
            codes = codes * (attribute.n_values + 1) + own
        return codes.astype(np.uint32)

    def _digits(self, codes: Codes) -> list[IntArray]:
        rest = codes.astype(np.int64)
        if len(rest) and rest.max() >= self.n_codes:
            raise ValueError(f"a profile has a code beyond the {self.n_codes} that its attributes have")
        digits: list[IntArray] = []
        for attribute in reversed(self.attributes):
            rest, own = np.divmod(rest, attribute.n_values + 1)
            digits.append(own)
        return digits[::-1]


def common_profiles(users: UserHashes, codes: Codes) -> tuple[UserHashes, Codes]:
    """Return one code for each user of a window: the most frequent in the user's rows, of equals the smallest.

    Args:
        users: Keyed user hash of each row, shape ``(n,)``, in any order.
        codes: Code of each row, shape ``(n,)``.

    Returns:
        The ``u`` users, ascending, in the order of sequences and trajectories, and their codes, both of shape ``(u,)``.

    >>> [own.tolist() for own in common_profiles(np.array([7, 3, 7, 7, 3], np.uint64), np.array([4, 9, 5, 5, 8], "u4"))]
    [[3, 7], [8, 5]]
    """
    owner, code, n_rows = _counted(users, codes)
    order = np.lexsort((code, -n_rows, owner))
    first = ~same_as_before(owner)  # the order keeps owners where they are
    return owner[first], code[order][first]


def distinct_profiles(users: UserHashes, codes: Codes) -> tuple[UserHashes, IntArray, Codes]:
    """Return the set of codes of each user of a window, without 0, which means not given.

    Args:
        users: Keyed user hash of each row, shape ``(n,)``, in any order.
        codes: Code of each row, shape ``(n,)``, such as :meth:`Profile.part` gives for one attribute.

    Returns:
        The ``u`` users, ascending, shape ``(u,)``; where the set of each user begins, then the number of codes, shape
        ``(u + 1,)``; the codes, ascending in each set.

    >>> sets = distinct_profiles(np.array([7, 3, 7, 7, 3], np.uint64), np.array([4, 0, 5, 5, 0], np.uint32))
    >>> [column.tolist() for column in sets]
    [[3, 7], [0, 0, 2], [4, 5]]
    """
    owner, code, _ = _counted(users, codes)
    first = np.flatnonzero(~same_as_before(owner))
    sizes = np.add.reduceat(code > 0, first, dtype=np.int64) if len(first) else np.empty(0, dtype=np.int64)
    return owner[first], np.append(0, np.cumsum(sizes)).astype(np.int64), code[code > 0]


def _counted(users: UserHashes, codes: Codes) -> tuple[UserHashes, Codes, IntArray]:
    """Return the different pairs of user and code, ascending, and how many rows each has; three of shape ``(p,)``."""
    order = np.lexsort((codes, users))
    users, codes = users[order], codes[order]
    first = np.flatnonzero(~same_as_before(users, codes))
    return users[first], codes[first], np.diff(np.append(first, len(users)))


def _whole(value: AttributeValue) -> int | None:
    """Read a whole number; None if there is no value, negative if the value is not a whole number."""
    if value is None:
        return None
    if isinstance(value, str):
        return int(value) if value.isascii() and value.isdecimal() and len(value) <= _MOST_DIGITS else _WRONG
    if isinstance(value, float) and value.is_integer():  # neither NaN nor infinite
        return int(value)
    return value if type(value) is int else _WRONG  # a bool is an int in Python, but not a number here


def _text(value: AttributeValue) -> str | None:
    """Write a value as JSON does; None if there is no value."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return _text(int(value))
    # Programs do not agree on larger integers, and Python refuses to write those of thousands of digits.
    return str(value) if isinstance(value, float) or abs(value) <= _LARGEST else "a number beyond all"
