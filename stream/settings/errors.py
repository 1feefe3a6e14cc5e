"""The error that every wrong setting raises, and the sentence for a file that cannot be read."""

from __future__ import annotations

__all__ = ["SettingsError", "cannot_be_read"]


class SettingsError(Exception):
    """A setting is wrong; the message names the setting, its value and what is allowed."""


def cannot_be_read(fault: OSError) -> str:
    """Say why a file that is named cannot be read, and what to do.

    >>> cannot_be_read(FileNotFoundError(2, "No such file or directory")).partition(":")[0]
    'cannot be read (No such file or directory)'
    """
    return (
        f"cannot be read ({fault.strerror}): check the path, and that this user may read the file (in a container or "
        "Pod: that it is mounted)"
    )
