"""Times that are written as text: RFC 3339 and its relatives, texts without an offset, and any stated format."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from time import strptime
from typing import Literal
from zoneinfo import ZoneInfo

import msgspec

from core.records.record import Moment, Reason
from stream.formats.input.errors import UnreadableError
from stream.formats.input.rejection_reasons import NO_OFFSET, TIME
from stream.formats.input.times.calendar import moment_at
from stream.formats.input.times.formats import UTC_NAMES, with_names_of_utc

__all__ = ["AMBIGUOUS", "Ambiguous", "TextTimes", "moment"]

Ambiguous = Literal["reject", "earlier", "later"]
"""What a local time means that occurs twice, when clocks are put back."""

AMBIGUOUS: tuple[Ambiguous, ...] = ("reject", "earlier", "later")

_WITH_OFFSET = re.compile(
    r"(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2})(?:[Tt]| +)(?P<minute>[0-9]{2}:[0-9]{2})"
    r"(?::(?P<second>[0-9]{2})(?:[.,](?P<fraction>[0-9]+))?)?"
    r" ?(?:(?P<utc>[Zz]|UTC|GMT)|(?P<hours>[+-][0-9]{2}):?(?P<minutes>[0-9]{2})?)"
    r"(?: (?P<name>(?![AaPp][Mm]\b)[A-Za-z]{1,5}|[+-][0-9]{2}(?:[0-9]{2})?))?(?: m=[+-][0-9.]+)?"
)
"""A date, a time of day and an offset, as widely used libraries print them. It may differ from RFC 3339 in this:

* the offset is without minutes (PostgreSQL), after a space (Ruby, git), or a word;
* seconds are missing (Java's ``OffsetDateTime`` leaves out zeros), or a comma is before their fraction (ISO 8601);
* a name of the zone follows, and what Go writes of its monotonic clock.
"""

_OF_DOTNET = re.compile(r"\\?/Date\((-?[0-9]{1,15})(?:[+-][0-9]{4})?\)\\?/")
"""Milliseconds since 1970, as .NET writes them in JSON. An offset behind them says only where the clock was."""

_LEAP = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ]+[0-9]{2}:[0-9]{2}):60(?:[.,][0-9]+)?")
_BEFORE_60 = ":59.999"
"""A leap second counts as the last millisecond before it."""

_LOCAL = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt ]+([0-9]{2}:[0-9]{2})(:[0-9]{2})?([.,][0-9]+)?")
_ZONE_SUFFIX = re.compile(r"(?:\[!?[A-Za-z0-9._+=/-]+\])+$")
"""The name of the zone and of the calendar, beside an offset (RFC 9557), as Java's ``ZonedDateTime`` writes it."""


def moment(text: str) -> datetime:
    """Read a time in RFC 3339, or in a form that differs little from it, with an offset.

    A leap second counts as the last millisecond before it. A name of a zone behind the offset has no effect.

    Raises:
        msgspec.ValidationError: The text is not such a time; the message repeats nothing of it.

    >>> moment("2016-12-31T23:59:60Z").isoformat()
    '2016-12-31T23:59:59.999000+00:00'
    >>> moment("2025-10-09 08:53:20+02").isoformat()
    '2025-10-09T08:53:20+02:00'
    >>> moment("2025-10-09T08:53+02:00[Europe/Vienna]").isoformat()
    '2025-10-09T08:53:00+02:00'
    >>> moment("2025-10-09 08:53:20.5 +0200 CEST").isoformat()
    '2025-10-09T08:53:20.500000+02:00'
    >>> moment("/Date(1760000000000+0200)/").isoformat()
    '2025-10-09T08:53:20+00:00'
    """
    try:
        return msgspec.convert(text, Moment)
    except msgspec.ValidationError:
        if (of_dotnet := _OF_DOTNET.fullmatch(text)) is not None:
            return moment_at(int(of_dotnet[1]) * 1000)
        found = _WITH_OFFSET.fullmatch(_ZONE_SUFFIX.sub("", text))
        if found is None or _is_doubtful(found):
            raise
        is_leap = found["second"] == "60"
        second = _BEFORE_60 if is_leap else f":{found['second'] or '00'}.{found['fraction'] or '0'}"
        offset = "Z" if found["utc"] else f"{found['hours']}:{found['minutes'] or '00'}"
        time = msgspec.convert(f"{found['date']}T{found['minute']}{second}{offset}", Moment)
        if is_leap and not _ends_month(time):
            raise
        return time


def _is_doubtful(found: re.Match[str]) -> bool:
    """Whether a text may mean another time: a range of hours, or one in a zone that has another offset."""
    if found["second"] is None and found["hours"] and found["hours"].startswith("-") and "T" not in found.string:
        return True
    if (name := found["name"]) is None:
        return False
    offset = "+0000" if found["utc"] else f"{found['hours']}{found['minutes'] or '00'}"
    if name[0] in "+-":
        return name.ljust(5, "0") != offset
    if name.upper() in UTC_NAMES:
        return offset not in ("+0000", "-0000")
    return found["utc"] is not None


def _ends_month(before: datetime) -> bool:
    """Whether a time is the last millisecond of a month of UTC.

    Leap seconds end such a month (ITU-R TF.460-6, 2.1): a second 60 anywhere else is a wrong time.
    """
    try:
        after = (before + timedelta(milliseconds=1)).astimezone(UTC)
    except OverflowError:  # the last second of the year 9999
        return False
    return (after.day, after.hour, after.minute, after.second) == (1, 0, 0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class TextTimes:
    """How texts become times.

    >>> vienna = TextTimes(zone=ZoneInfo("Europe/Vienna"))
    >>> vienna.read("2025-07-01 12:00:00", "ts").isoformat()
    '2025-07-01T12:00:00+02:00'
    >>> TextTimes(format="%a %b %d %H:%M:%S %z %Y").read("Tue Apr 03 18:00:09 +0000 2012", "ts").isoformat()
    '2012-04-03T18:00:09+00:00'
    """

    zone: ZoneInfo | None = None
    """The zone of times without an offset; None to reject them."""

    ambiguous: Ambiguous = "reject"
    """What to do with a local time that occurs twice. One that never occurs is always rejected."""

    format: str | None = None
    """A format of :meth:`datetime.datetime.strptime`, the only form of texts; None for RFC 3339."""

    def read(self, text: str, name: str) -> datetime:
        """Read a time.

        Args:
            text: The text.
            name: The name of its field, for the error.

        Raises:
            UnreadableError: The text is not such a time, or it has no offset and no zone is set.
        """
        text = text.strip()
        found, is_leap = self._with_format(text, name) if self.format is not None else self._with_rfc3339(text, name)
        found = found if found.tzinfo is not None else self._in_zone(found, name)
        if is_leap and not _ends_month(found):
            raise self._of_another_form(name)
        return found

    def _with_format(self, text: str, name: str) -> tuple[datetime, bool]:
        """Return a time, and whether it stands for a leap second."""
        form = self.format or ""
        for zoned in with_names_of_utc(form):
            if (found := _parsed(text, zoned)) is not None:
                of_zone, is_leap = found
                return of_zone if of_zone.tzinfo is not None else of_zone.replace(tzinfo=UTC), is_leap
        if with_names_of_utc(form) or (found := _parsed(text, form)) is None:
            raise self._of_another_form(name)
        return found

    def _with_rfc3339(self, text: str, name: str) -> tuple[datetime, bool]:
        """Return a time, and whether it stands for a leap second whose zone is still to come."""
        try:
            return moment(text), False
        except msgspec.ValidationError:
            pass
        leap = _LEAP.fullmatch(text)
        if leap is not None:
            text = f"{leap[1]}{_BEFORE_60}"
        if (match := _LOCAL.fullmatch(text)) is None:
            raise self._of_another_form(name)
        try:
            local = datetime.fromisoformat(f"{match[1]}T{match[2]}{match[3] or ':00'}{(match[4] or '')[:7]}")
        except ValueError:
            raise self._of_another_form(name) from None
        return local, leap is not None

    def _of_another_form(self, name: str) -> UnreadableError:
        if self.format is None:
            detail = f"must be {TIME}; a text of another form was found"
        elif with_names_of_utc(self.format):
            *others, last = UTC_NAMES
            detail = f"does not have the form of time.format, in which %Z is {', '.join(others)} or {last}"
        else:
            detail = "does not have the form of time.format"
        return UnreadableError(Reason.WRONG_TYPE, f"{name} {detail}")

    def _in_zone(self, local: datetime, name: str) -> datetime:
        if self.zone is None:
            raise UnreadableError(Reason.WRONG_TYPE, f"{name} {NO_OFFSET}")
        try:
            earlier, later = (local.replace(tzinfo=self.zone, fold=fold) for fold in (0, 1))
            occurs = earlier.astimezone(UTC).astimezone(self.zone).replace(tzinfo=None) == local
        except OverflowError:
            raise UnreadableError(Reason.TIME_OUT_OF_RANGE, f"{name} is outside of the years 1 to 9999") from None
        if earlier.utcoffset() == later.utcoffset():
            return earlier
        if not occurs:
            raise UnreadableError(
                Reason.TIME_AMBIGUOUS, f"{name} never occurs in time.zone: clocks are put forward over it"
            )
        if self.ambiguous == "reject":
            raise UnreadableError(
                Reason.TIME_AMBIGUOUS,
                f"{name} occurs twice in time.zone, when clocks are put back: time.ambiguous can say which is meant",
            )
        return earlier if self.ambiguous == "earlier" else later


def _parsed(text: str, form: str) -> tuple[datetime, bool] | None:
    """Return a time that is written in a format, and whether it stands for a leap second; None if it is not."""
    try:
        return datetime.strptime(text, form), False  # noqa: DTZ007 - a zone follows
    except ValueError:
        pass
    try:
        found = strptime(text, form)  # which reads a second 60
        if found.tm_sec != 60:
            return None
        zone = None if found.tm_gmtoff is None else timezone(timedelta(seconds=found.tm_gmtoff))
        return datetime(*found[:5], 59, 999_000, tzinfo=zone), True
    except ValueError:
        return None
