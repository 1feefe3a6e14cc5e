"""Times that are written as text: RFC 3339 and its relatives, texts without an offset, and any stated format."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

import msgspec

from core.records.record import Moment, Reason
from stream.formats.input.errors import UnreadableError
from stream.formats.input.rejection_reasons import NO_OFFSET, TIME

__all__ = ["AMBIGUOUS", "Ambiguous", "TextTimes", "moment"]

Ambiguous = Literal["reject", "earlier", "later"]
"""What a local time means that occurs twice, when clocks are put back."""

AMBIGUOUS: tuple[Ambiguous, ...] = ("reject", "earlier", "later")

_SECOND_60 = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}):60(?:\.[0-9]+)?([Zz]|[+-][0-9]{2}:?[0-9]{2})"
)
_SHORT_OFFSET = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?[+-][0-9]{2}")
"""PostgreSQL writes offsets of whole hours so."""

_LOCAL = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt ]+([0-9]{2}:[0-9]{2})(:[0-9]{2})?(\.[0-9]+)?")
_UTC_WORD = re.compile(r" ?(?:UTC|GMT)$")


def moment(text: str) -> datetime:
    """Read a time in RFC 3339 with an offset; a leap second counts as the last millisecond before it.

    An offset may be without minutes, as PostgreSQL writes it, or the word UTC.

    Raises:
        msgspec.ValidationError: The text is not such a time; the message repeats nothing of it.

    >>> moment("2016-12-31T23:59:60Z").isoformat()
    '2016-12-31T23:59:59.999000+00:00'
    >>> moment("2025-10-09 08:53:20+02").isoformat()
    '2025-10-09T08:53:20+02:00'
    """
    try:
        return msgspec.convert(text, Moment)
    except msgspec.ValidationError:
        if (found := _leap_second(text)) is not None:
            return found
        if _SHORT_OFFSET.fullmatch(text):
            return msgspec.convert(f"{text}:00", Moment)
        if _UTC_WORD.search(text) and _LOCAL.fullmatch(local := _UTC_WORD.sub("", text)):
            return moment(f"{local}Z")
        raise


def _leap_second(text: str) -> datetime | None:
    """Return the last millisecond before a leap second; None if the text is not one.

    Leap seconds end a month of UTC (ITU-R TF.460-6, 2.1): a second 60 anywhere else is a wrong time.
    """
    if (match := _SECOND_60.fullmatch(text)) is None:
        return None
    try:
        before = msgspec.convert(f"{match[1]}:59.999{match[2]}", Moment)
        after = before + timedelta(milliseconds=1)
        after -= after.utcoffset() or timedelta()
    except (msgspec.ValidationError, OverflowError):  # such as the last second of the year 9999
        return None
    is_end_of_month = (after.day, after.hour, after.minute, after.second) == (1, 0, 0, 0)
    return before if is_end_of_month else None


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
    """A format of :meth:`datetime.datetime.strptime`; None for RFC 3339."""

    def read(self, text: str, name: str) -> datetime:
        """Read a time.

        Args:
            text: The text.
            name: The name of its field, for the error.

        Raises:
            UnreadableError: The text is not such a time, or it has no offset and no zone is set.
        """
        found = self._with_format(text, name) if self.format is not None else self._with_rfc3339(text, name)
        return found if found.tzinfo is not None else self._in_zone(found, name)

    def _with_format(self, text: str, name: str) -> datetime:
        try:
            return datetime.strptime(text.strip(), self.format or "")  # noqa: DTZ007 - a zone follows
        except ValueError:
            raise UnreadableError(Reason.WRONG_TYPE, f"{name} does not have the form of time.format") from None

    def _with_rfc3339(self, text: str, name: str) -> datetime:
        text = text.strip()
        try:
            return moment(text)
        except msgspec.ValidationError:
            pass
        if (match := _LOCAL.fullmatch(text)) is None:
            raise _of_another_form(name)
        try:
            return datetime.fromisoformat(f"{match[1]}T{match[2]}{match[3] or ':00'}{(match[4] or '')[:7]}")
        except ValueError:
            raise _of_another_form(name) from None

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


def _of_another_form(name: str) -> UnreadableError:
    return UnreadableError(Reason.WRONG_TYPE, f"{name} must be {TIME}; a text of another form was found")
