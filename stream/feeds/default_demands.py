"""The file of default demands: those of people whose records do not state their own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from core.ingest.validate import Rules, user_hash
from core.records.demands import ALLOWED_DELTA_M, ALLOWED_K, NO_DEMANDS, DefaultDemands, allows_delta_m, allows_k
from core.records.identity import canonical
from core.records.record import POINT
from stream.feeds.csv_tables import read_table, wrong_line
from stream.formats.input.numbers import to_number
from stream.settings.errors import SettingsError
from stream.settings.kinds import KindSettings

__all__ = ["read_default_demands"]

_SETTING = "privacy.demands_file"
_COLUMNS = ("user", "k", "delta_m")
_ROW = np.dtype([("line", "<i8"), *((name, POINT[name]) for name in _COLUMNS)])


def read_default_demands(settings: KindSettings, rules: Rules) -> DefaultDemands:
    """Read ``privacy.demands_file``; without it nobody has default demands.

    A user's id is hashed as soon as its line is read. No message repeats a value of a line: it could be an id.

    Raises:
        SettingsError: The file cannot be read, or one of its lines has an invalid demand.
    """
    file = settings.privacy.demands_file
    if file is None:
        return NO_DEMANDS
    rows = np.fromiter(_rows(file, rules), dtype=_ROW)
    rows = rows[np.argsort(rows["user"], kind="stable")]
    again = np.flatnonzero(rows["user"][1:] == rows["user"][:-1])
    if len(again):
        earliest = again[np.argmin(rows["line"][again + 1])]
        line, second = rows["line"][earliest : earliest + 2].tolist()
        raise _wrong(
            file,
            second,
            f"the user is already in line {line}, perhaps in another spelling: every user has one line",
        )
    return DefaultDemands(users=rows["user"].copy(), k=rows["k"].copy(), delta_m=rows["delta_m"].copy())


def _rows(file: Path, rules: Rules) -> Iterator[tuple[int, int, int, float]]:
    """Yield the line number, user hash, k and delta of every user in the file."""
    for line, (user, k, delta_m) in read_table(file, _SETTING, _COLUMNS):
        yield line, _hash(user, rules, file, line), _k(k, file, line), _delta_m(delta_m, file, line)


def _hash(user: str, rules: Rules, file: Path, line: int) -> int:
    if len(user) > rules.max_user_length:
        raise _wrong(file, line, f"user must be at most {rules.max_user_length} characters long (limits.user_length)")
    if not (name := canonical(user)):
        raise _wrong(file, line, "user names nobody: it must be the id of a user, in any spelling of their records")
    return user_hash(name, rules.user_key)


def _k(text: str, file: Path, line: int) -> int:
    value = _number(text)
    if value is None:
        return 0
    if not (allows_k(value) and value.is_integer()):
        raise _wrong(file, line, f"{ALLOWED_K}, a whole number, or empty")
    return int(value)


def _delta_m(text: str, file: Path, line: int) -> float:
    value = _number(text)
    if value is None:
        return np.inf
    if not allows_delta_m(value):
        raise _wrong(file, line, f"{ALLOWED_DELTA_M}, or empty")
    return value


def _number(text: str) -> float | None:
    """Read a number; NaN if the text is not a number, None if it is blank."""
    if not text.strip():
        return None
    try:
        return to_number(text)
    except ValueError:
        return np.nan


def _wrong(file: Path, line: int, rule: str) -> SettingsError:
    return wrong_line(_SETTING, file, line, rule)
