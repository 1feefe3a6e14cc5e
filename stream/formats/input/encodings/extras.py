"""Libraries that not every installation has."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

__all__ = ["MissingExtraError", "needs_extra"]


class MissingExtraError(Exception):
    """A library is not installed; the message says how to install it."""


@contextlib.contextmanager
def needs_extra(extra: str, library: str) -> Iterator[None]:
    """Import libraries of an extra within a ``with`` block.

    Args:
        extra: Name of the extra in ``pip install 'shoal[...]'``.
        library: Name of the library, for the message.

    Raises:
        MissingExtraError: It is not installed.
    """
    try:
        yield
    except ImportError:
        raise MissingExtraError(f"this needs {library}: pip install 'shoal[{extra}]'") from None
