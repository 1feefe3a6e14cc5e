"""Lines: the physical lines of a file with their numbers, and the values of a line of CSV."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import IO

__all__ = ["BLOCK", "CsvError", "NumberedLines", "blocks", "cells", "numbered"]

BLOCK = 2**18
"""Bytes read at a time."""

NumberedLines = Iterator[tuple[int, bytes]]
"""Lines without their ends, each with its number; the first is 1."""


class CsvError(ValueError):
    """A line is not CSV; the message says why, without any of its values."""


def blocks(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield the content of a stream in blocks."""
    while block := stream.read(BLOCK):
        yield block


def numbered(content: Iterable[bytes], max_bytes: int) -> NumberedLines:
    """Yield the lines of a file, whether they end in LF, CR LF or CR; the last may have no end.

    Args:
        content: The bytes, in blocks of any size.
        max_bytes: A longer line is cut, to ``max_bytes + 1`` or a little more, to bound the memory.

    >>> list(numbered([b"a\\r", b"\\nb\\rc", b"\\n\\nd"], 10))
    [(1, b'a'), (2, b'b'), (3, b'c'), (4, b''), (5, b'd')]
    """
    number, rest, after_cr = 0, b"", False
    for block in filter(None, content):
        lines = (rest + block.removeprefix(b"\n") if after_cr else rest + block).splitlines()
        after_cr = block.endswith(b"\r")
        rest = b"" if block.endswith((b"\n", b"\r")) else lines.pop()[: max_bytes + 1]
        for line in lines:
            number += 1
            yield number, line
    if rest:
        yield number + 1, rest


@cache
def _patterns(delimiter: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return how a quoted and a plain value of a line look, with what ends them."""
    sign = re.escape(delimiter)
    around = r"[^\S\t]*" if delimiter == "\t" else r"\s*"
    protected = "" if delimiter == "=" else "=?"
    quoted = re.compile(rf'{around}{protected}"([^"]*(?:""[^"]*)*)"{around}(?:{sign}|\Z)')
    return quoted, re.compile(rf'([^"{sign}]*)(?:{sign}|\Z)')


def cells(line: str, delimiter: str = ",") -> list[str]:
    """Split a line of CSV (RFC 4180) into its values, without white space around them.

    A quoted value must end in the line in which it begins. Otherwise a mark that is never closed would include all
    lines up to the next mark. An equals sign before a quoted value protects it in spreadsheets, and is no part of it.

    Raises:
        CsvError: The line has a NUL character, or a misplaced quotation mark.

    >>> cells('a, "b ""c"", d" ,'), cells('="007",1')
    (['a', 'b "c", d', ''], ['007', '1'])
    """
    if "\0" in line:
        raise CsvError("the line has a NUL character")
    if '"' not in line:
        return [value.strip() for value in line.split(delimiter)]
    quoted, plain = _patterns(delimiter)
    found: list[str] = []
    at = 0
    while at <= len(line):
        if (match := quoted.match(line, at)) is not None:
            found.append(match[1].replace('""', '"').strip())
        elif (match := plain.match(line, at)) is not None:
            found.append(match[1].strip())
        else:
            raise CsvError("the line has a quotation mark that is not closed, or that is inside a value")
        if match.end() == len(line) and not match[0].endswith(delimiter):
            break
        at = match.end()
    return found
