"""Signatures: the values that a person may carry as far as a release says, each as likely as the others.

The signatures of m-invariance (Xiao and Tao 2007, Definition 3). An entry is the code of a sensitive value, or
:data:`NONE`, "no sensitive value", which may occur several times. A person's role is the entry that is true.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import ceil

import msgspec

__all__ = ["NONE", "UNPROTECTED", "Signature", "SignedRole", "entries_needed", "label_of", "published", "role_of_label"]

NONE = -1
"""Stands for "no sensitive value", which nobody has to hide."""

Signature = tuple[int, ...]
"""Codes of values, ascending, then :data:`NONE` as often as needed."""

SignedRole = tuple[Signature, int]
"""A signature and the index of the entry that is true of the person; index 0 of the empty signature."""

UNPROTECTED: SignedRole = ((), 0)
"""The role of people without a sensitive value who hide nobody."""


def entries_needed(c: float) -> int:
    """Return the fewest entries of a signature of which each is true with a probability of at most ``c``.

    >>> entries_needed(0.5), entries_needed(0.3), entries_needed(0.1)
    (2, 4, 10)
    """
    return ceil(1 / Fraction(str(c)))


def published(signature: Signature, names: Sequence[str]) -> tuple[str | None, ...]:
    """Return the names of the entries; None for :data:`NONE`.

    >>> published((1, NONE), ["flu", "measles"])
    ('measles', None)
    """
    return tuple(None if code == NONE else names[code] for code in signature)


def label_of(role: SignedRole, names: Sequence[str]) -> str:
    """Write a role for a roster, by names: codes may mean other values after a change of the settings.

    >>> label_of(((0, NONE), 1), ["flu"])
    '[["flu",null],1]'
    """
    return msgspec.json.encode((published(role[0], names), role[1])).decode()


def role_of_label(label: str, codes: Mapping[str, int]) -> SignedRole | None:
    """Read a role from a roster; None if it has a value that is no longer sensitive, or was written by another model.

    >>> role_of_label('[["flu",null],1]', {"flu": 0}), role_of_label('[["flu",null],1]', {})
    (((0, -1), 1), None)
    """
    try:
        names, role = msgspec.json.decode(label, type=tuple[tuple[str | None, ...], int])
    except msgspec.DecodeError:
        return None
    if not all(name is None or name in codes for name in names):
        return None
    return tuple(NONE if name is None else codes[name] for name in names), role
