"""The calendar: numbers become instants, local times, days and times of day."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

__all__ = ["day_text", "local_text", "moment_at", "time_text"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EARLIEST, _LATEST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
_DAY_US = 86_400_000_000
_UNIX_DAY = date(1970, 1, 1).toordinal()


def moment_at(unix_us: int) -> datetime:
    """Return an instant by its microseconds since 1970.

    Outside of the years 1 to 9999 it is the nearest instant that can be written, which the settings reject.

    >>> moment_at(1_760_000_000_000_000).isoformat(), moment_at(2**63).year
    ('2025-10-09T08:53:20+00:00', 9999)
    """
    try:
        return _EPOCH + timedelta(microseconds=unix_us)
    except OverflowError:
        return _LATEST if unix_us > 0 else _EARLIEST


def local_text(unix_us: int) -> str:
    """Return a local time, without an offset, by its microseconds since the beginning of the local year 1970.

    >>> local_text(1_760_000_000_000_000)
    '2025-10-09T08:53:20'
    """
    return moment_at(unix_us).replace(tzinfo=None).isoformat()


def day_text(days: int) -> str | None:
    """Return a day by its number since 1970; None outside of the years 1 to 9999.

    >>> day_text(20_370), day_text(2**31)
    ('2025-10-09', None)
    """
    try:
        return date.fromordinal(_UNIX_DAY + days).isoformat()
    except (ValueError, OverflowError):
        return None


def time_text(us: int) -> str | None:
    """Return a time of day by its microseconds since midnight; None if a day has not as many.

    >>> time_text(32_000_000_000), time_text(86_400_000_000)
    ('08:53:20', None)
    """
    return (_EPOCH + timedelta(microseconds=us)).time().isoformat() if 0 <= us < _DAY_US else None
