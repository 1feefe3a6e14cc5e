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
from stream.formats.input.time_formats import UTC_NAMES, with_names_of_utc

__all__ = ["AMBIGUOUS", "Ambiguous", "TextTimes", "moment"]

Ambiguous = Literal["reject", "earlier", "later"]
"""What a local time means that occurs twice, when clocks are put back."""

AMBIGUOUS: tuple[Ambiguous, ...] = ("reject", "earlier", "later")

_SECOND_60 = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ]+[0-9]{2}:[0-9]{2}):60(?:\.[0-9]+)?([Zz]|[+-][0-9]{2}(?::?[0-9]{2})?|)"
)
_BEFORE_60 = ":59.999"
"""A leap second counts as the last millisecond before it."""

_SHORT_OFFSET = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?[+-][0-9]{2}")
"""PostgreSQL writes offsets of whole hours so."""

_LOCAL = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt ]+([0-9]{2}:[0-9]{2})(:[0-9]{2})?(\.[0-9]+)?")
_UTC_WORD = re.compile(r" ?(?:UTC|GMT)$")
_ZONE_SUFFIX = re.compile(r"(?:\[!?[A-Za-z0-9._+=/-]+\])+$")
"""The name of the zone and of the calendar, beside an offset (RFC 9557), as Java's ``ZonedDateTime`` writes it."""


def moment(text: str) -> datetime:
    """Read a time in RFC 3339 with an offset; a leap second counts as the last millisecond before it.

    An offset may be without minutes, as PostgreSQL writes it, or the word UTC. It counts if the name of a zone follows.

    Raises:
        msgspec.ValidationError: The text is not such a time; the message repeats nothing of it.

    >>> moment("2016-12-31T23:59:60Z").isoformat()
    '2016-12-31T23:59:59.999000+00:00'
    >>> moment("2025-10-09 08:53:20+02").isoformat()
    '2025-10-09T08:53:20+02:00'
    >>> moment("2025-10-09T08:53:20+02:00[Europe/Vienna]").isoformat()
    '2025-10-09T08:53:20+02:00'
    """
    try:
        return msgspec.convert(text, Moment)
    except msgspec.ValidationError:
        if (leap := _SECOND_60.fullmatch(text)) is not None:
            before = moment(f"{leap[1]}{_BEFORE_60}{leap[2]}")
            if _ends_month(before):
                return before
        elif _SHORT_OFFSET.fullmatch(text):
            return msgspec.convert(f"{text}:00", Moment)
        elif _UTC_WORD.search(text) and _LOCAL.fullmatch(local := _UTC_WORD.sub("", text)):
            return moment(f"{local}Z")
        elif (named := _ZONE_SUFFIX.search(text)) is not None:
            return moment(text[: named.start()])
        raise


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
        leap = _SECOND_60.fullmatch(text)
        if leap is not None and not leap[2]:
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
