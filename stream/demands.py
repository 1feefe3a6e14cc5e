"""Demands: the file that says what users demand where their records do not."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from core.demands import ALLOWED_DELTA_M, ALLOWED_K, NO_DEMANDS, DefaultDemands, allows_delta_m, allows_k
from core.records import POINT
from core.validate import Rules, user_hash
from stream.settings import KindSettings, SettingsError

__all__ = ["default_demands"]

_COLUMNS = ("user", "k", "delta_m")
_ROW = np.dtype([("line", "<i8"), *((name, POINT[name]) for name in _COLUMNS)])


def default_demands(settings: KindSettings, rules: Rules) -> DefaultDemands:
    """Read ``privacy.demands_file``; where it is not set nobody demands anything by default.

    A user's id is hashed as soon as its line is read, and no sentence repeats what stands in a line: it could be an id.

    Raises:
        SettingsError: The file cannot be read, or one of its lines demands what cannot be demanded.
    """
    file = settings.privacy.demands_file
    if file is None:
        return NO_DEMANDS
    try:
        rows = np.fromiter(_rows(file, rules), dtype=_ROW)
    except OSError as fault:
        raise SettingsError(f"privacy.demands_file {file}: cannot be read ({fault.strerror})") from None
    rows = rows[np.argsort(rows["user"], kind="stable")]
    again = np.flatnonzero(rows["user"][1:] == rows["user"][:-1])
    if len(again):
        earliest = again[np.argmin(rows["line"][again + 1])]
        line, second = rows["line"][earliest : earliest + 2].tolist()
        raise _wrong(file, second, f"the user stands in line {line} already: every user has one line")
    return DefaultDemands(users=rows["user"].copy(), k=rows["k"].copy(), delta_m=rows["delta_m"].copy())


def _rows(file: Path, rules: Rules) -> Iterator[tuple[int, int, int, float]]:
    """Yield line, user hash, k and delta of everybody who is listed."""
    # Surrogates stand for what is not UTF-8, so that its line can be named.
    with file.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as text:
        lines = _lines(file, text)
        line, header = next(lines, (1, []))
        names = [name.strip() for name in header]
        if any(names.count(name) != 1 for name in _COLUMNS):
            raise _wrong(file, line, "the header must have each of the columns user, k, delta_m once")
        columns = [names.index(name) for name in _COLUMNS]
        for line, cells in lines:
            # A comma too many, as in 1,5 for 1.5, would move what follows it to the next column.
            if len(cells) != len(names):
                raise _wrong(file, line, f"must have {len(names)} values as the header has, and has {len(cells)}")
            user, k, delta_m = (cells[column] for column in columns)
            yield line, _hash(user, rules, file, line), _k(k, file, line), _delta_m(delta_m, file, line)


def _lines(file: Path, text: Iterator[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield the lines that are not blank, each with its number."""
    # Strict, because the rest of the file would be part of a value whose quotation mark is never closed.
    reader = csv.reader(text, strict=True)
    line = 1
    try:
        for cells in reader:
            "".join(cells).encode()
            if len(cells) > 1 or "".join(cells).strip():
                yield line, cells
            line = reader.line_num + 1
    except (csv.Error, UnicodeEncodeError) as fault:
        raise _wrong(file, line, f"is no CSV in UTF-8 ({type(fault).__name__})") from None


def _hash(user: str, rules: Rules, file: Path, line: int) -> int:
    if not user.strip():
        raise _wrong(file, line, "user is blank: it must be the id of a user, as in their records")
    if user != user.strip():  # taken as it is or without them, somebody could get less than they demand
        raise _wrong(file, line, "user must not begin or end with a space")
    if len(user) > rules.max_user_length:
        raise _wrong(file, line, f"user must be at most {rules.max_user_length} characters long (limits.user_length)")
    return user_hash(user, rules.user_key)


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
    """Read a number, NaN where there is none, None where there is nothing."""
    if not text.strip():
        return None
    try:
        return float(text)
    except ValueError:
        return np.nan


def _wrong(file: Path, line: int, rule: str) -> SettingsError:
    return SettingsError(f"privacy.demands_file {file}, line {line}: {rule}")
