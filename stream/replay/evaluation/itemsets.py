"""Rows of items: one line for each person, with the locations visited, as tools for sets and sequences write them.

A line is the items of one person, separated by one character. A generalized item is a set in braces or brackets,
``{a,b}`` or ``(a,b)``, whose members are separated by commas, or the name of an inner node of a hierarchy. ``*``,
``(null)`` and an empty item are suppressed.
"""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from core.records.arrays import numbered, starts_of
from core.trajectories.journeys import Journeys, NamedLabel
from stream.formats.files.opened_file import open_unpacked
from stream.formats.files.record_file import FileFormatError

__all__ = ["ItemRows", "read_hierarchy", "read_items"]

_SEPARATORS = "|;\t,"
"""What may separate items, in the order in which it is looked for."""

_SUPPRESSED = frozenset(("", "*", "(null)", "{}", "()"))


@dataclass(frozen=True, kw_only=True)
class ItemRows:
    """How rows of items are written."""

    form: Literal["sequences", "sets"]
    """Whether the order of items means something."""

    has_header: bool = False
    has_ids: bool = False
    """Whether the first item of each row is the id of its person."""

    separator: str = ""
    """One character; empty for the first of ``| ; tab ,`` that occurs outside braces in the first row with any."""

    hierarchy: Mapping[str, NamedLabel] = field(default_factory=dict)
    """The leaves below each inner node, ascending."""


def read_items(path: Path, rows: ItemRows) -> Journeys:
    """Read such a file.

    Args:
        path: The file, gzipped or not, in UTF-8.
        rows: How it is written.

    Raises:
        FileFormatError: A brace is not closed, an id is missing or repeated, or the file is no text or has no rows.
    """
    separator, ids = rows.separator, list[str]()
    sizes: list[int] = []
    visited: list[NamedLabel] = []
    for number, line in _lines(path, rows.has_header):
        separator = separator or next((sign for sign in _SEPARATORS if sign in _outside_braces(line)), "")
        items = _split(line, separator, path, number)
        if rows.has_ids:
            ids.append(items.pop(0))
            if not ids[-1]:
                raise FileFormatError(f"{path}, line {number}: the id of its person is empty")
        kept = [_label(item, rows.hierarchy) for item in items if item not in _SUPPRESSED]
        if rows.form == "sets":
            kept = sorted(set(kept))
        visited += kept
        sizes.append(len(kept))
    if not sizes:
        raise FileFormatError(f"{path}: has no rows of items: each line has those of one person")
    if len(set(ids)) < len(ids):
        raise FileFormatError(f"{path}: an id has several rows: each person has one")
    label_of, labels = numbered(visited)
    return Journeys(
        users=np.arange(len(sizes)),
        windows_ms=np.zeros(len(sizes), np.int64),
        starts=starts_of(np.array(sizes, np.int64)),
        labels=tuple(labels),
        label_of=label_of,
        is_ordered=rows.form == "sequences",
        people=tuple(ids) if rows.has_ids else None,
    )


def read_hierarchy(path: Path) -> dict[str, NamedLabel]:
    """Read the hierarchy of generalized items: a CSV with the header ``item,parent``.

    Returns:
        The leaves below each inner node, ascending.

    Raises:
        FileFormatError: The header differs, an item has two parents, or an item is below itself.
    """
    with path.open(newline="", encoding="utf-8-sig") as file:
        table = csv.DictReader(file)
        if {"item", "parent"} - set(table.fieldnames or ()):
            raise FileFormatError(f"{path}: the header must be item,parent")
        parents: dict[str, str] = {}
        for row in table:
            item, parent = (row["item"] or "").strip(), (row["parent"] or "").strip()
            if parents.setdefault(item, parent) != parent:
                raise FileFormatError(f"{path}, line {table.line_num}: the item has two parents")
    inner = set(parents.values()) - {""}
    below: dict[str, set[str]] = {node: set() for node in inner}
    for leaf in parents.keys() - inner:
        node, steps = parents[leaf], 0
        while node:
            if (steps := steps + 1) > len(parents) + 1:
                raise FileFormatError(f"{path}: an item is below itself")
            below[node].add(leaf)
            node = parents.get(node, "")
    return {node: tuple(sorted(leaves)) for node, leaves in below.items() if leaves}


def _lines(path: Path, has_header: bool) -> Iterator[tuple[int, str]]:
    try:
        with io.TextIOWrapper(open_unpacked(path), encoding="utf-8-sig") as file:
            for number, line in enumerate(file, start=1):
                if not (has_header and number == 1):
                    yield number, line.strip("\r\n")
    except (UnicodeDecodeError, EOFError, gzip.BadGzipFile):
        raise FileFormatError(f"{path}: is no text in UTF-8, or is damaged") from None


def _outside_braces(line: str) -> str:
    depth, kept = 0, []
    for sign in line:
        depth += (sign in "{(") - (sign in "})")
        if depth == 0:
            kept.append(sign)
    return "".join(kept)


def _split(line: str, separator: str, path: Path, number: int) -> list[str]:
    """Split a line at the separators that are outside braces."""
    items, depth = [""], 0
    for sign in line:
        depth += (sign in "{(") - (sign in "})")
        if depth < 0:
            break
        if sign == separator and depth == 0:
            items.append("")
        else:
            items[-1] += sign
    if depth != 0:
        raise FileFormatError(f"{path}, line {number}: a brace is not closed, or closed without being opened")
    return [item.strip().strip('"') for item in items]


def _label(item: str, hierarchy: Mapping[str, NamedLabel]) -> NamedLabel:
    if item[0] in "{(" and item[-1] in "})":
        members = {member.strip() for member in item[1:-1].split(",")} - _SUPPRESSED
        leaves = {leaf for member in members for leaf in hierarchy.get(member, (member,))}
        return tuple(sorted(leaves))
    return hierarchy.get(item, (item,))
