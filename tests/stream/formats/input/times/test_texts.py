"""Times that are written as text."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.records.record import Reason
from stream.formats.input.errors import UnreadableError
from stream.formats.input.times.formats import format_fault
from stream.formats.input.times.texts import AMBIGUOUS, TextTimes
from tests.budgets import examples

VIENNA = ZoneInfo("Europe/Vienna")
ZONES = ("UTC", "Europe/Vienna", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "Africa/Casablanca")


def fault_of(times: TextTimes, text: str) -> tuple[Reason, str]:
    """Return why a text is no time."""
    with pytest.raises(UnreadableError) as fault:
        times.read(text, "ts")
    return fault.value.reason, fault.value.detail


def read_or_reason(times: TextTimes, text: str) -> datetime | Reason:
    """Return the time in UTC, or why a text is none."""
    try:
        return times.read(text, "ts").astimezone(UTC)
    except UnreadableError as fault:
        return fault.reason


@given(
    zone=st.sampled_from(ZONES),
    instant=st.integers(31_536_000, 2_114_380_800).map(lambda unix_s: datetime.fromtimestamp(unix_s, tz=UTC)),
    separator=st.sampled_from("T "),
)
def test_a_local_time_means_its_instant_or_one_of_two(zone: str, instant: datetime, separator: str) -> None:
    """
    Written in any zone and read again: the same instant, unless clocks were put back there; then it is rejected by
    default, and one of the two rules gives the instant.
    """
    local = instant.astimezone(ZoneInfo(zone))
    text = local.replace(tzinfo=None).isoformat(separator)
    found = {rule: read_or_reason(TextTimes(zone=ZoneInfo(zone), ambiguous=rule), text) for rule in AMBIGUOUS}
    # The oracle: all instants within a day that have this local time.
    fold = [local.replace(fold=fold).astimezone(UTC) for fold in (0, 1)]
    instants = sorted(
        {one for one in fold if one.astimezone(ZoneInfo(zone)).replace(tzinfo=None) == local.replace(tzinfo=None)}
    )
    assert instant in instants
    rejected = Reason.TIME_AMBIGUOUS if len(instants) == 2 else instants[0]
    assert found == {"reject": rejected, "earlier": instants[0], "later": instants[-1]}


@given(
    zone=st.sampled_from(ZONES),
    instant=st.integers(31_536_000, 2_114_380_800).map(lambda unix_s: datetime.fromtimestamp(unix_s, tz=UTC)),
    tags=st.sampled_from(["", "[u-ca=iso8601]", "[!u-ca=gregory]"]),
    critical=st.sampled_from(["", "!"]),
)
def test_an_offset_counts_whatever_zone_is_named_behind_it(
    zone: str, instant: datetime, tags: str, critical: str
) -> None:
    """
    RFC 9557, as Java's ZonedDateTime writes it: the same instant as without the names, also where clocks are put back.
    """
    text = f"{instant.astimezone(ZoneInfo(zone)).isoformat()}[{critical}{zone}]{tags}"
    assert read_or_reason(TextTimes(zone=VIENNA), text) == instant


@pytest.mark.parametrize(
    "text", ["2025-10-09T08:53:20[Europe/Vienna]", "2025-10-09T08:53:20+02:00[]", "[Europe/Vienna]"]
)
def test_a_name_of_a_zone_without_an_offset_is_no_offset(text: str) -> None:
    """
    A name alone is not read: which rules it stands for changes with every edition of the time zone database.
    """
    assert fault_of(TextTimes(), text)[0] is Reason.WRONG_TYPE


def as_go(local: datetime) -> str:
    """Go's ``Time.String``, which names a zone without a name by its offset."""
    offset, name = local.strftime("%z"), local.tzname() or ""
    name = name if name[0] not in "+-" else offset.removesuffix("00") if offset.endswith("00") else offset
    return f"{local:%Y-%m-%d %H:%M:%S}.{local:%f}123 {offset} {name} m=+0.000012"


def as_java(local: datetime) -> str:
    """Java's ``OffsetDateTime.toString``, which leaves out what is 0."""
    end = "" if not local.second and not local.microsecond else f":{local:%S}"
    end += f".{local:%f}" if local.microsecond else ""
    return f"{local:%Y-%m-%dT%H:%M}{end}{local.isoformat()[-6:]}"


@settings(max_examples=examples(300))
@given(
    zone=st.sampled_from(ZONES),
    unix_s=st.integers(31_536_000, 2_114_380_800) | st.integers(525_600, 35_239_680).map(lambda minute: 60 * minute),
    microsecond=st.sampled_from([0, 1, 500_000]),
)
@pytest.mark.parametrize(
    "written",
    [
        as_go,
        as_java,
        lambda local: f"{as_java(local)}[{local.tzinfo}]",
        lambda local: local.isoformat(" ", "microseconds").replace(".", ","),
        lambda local: f"{local:%Y-%m-%d %H:%M:%S %z}",  # Ruby, git
    ],
    ids=["Go", "Java, offset", "Java, zone", "comma", "space"],
)
def test_libraries_print_times_that_are_read(
    written: Callable[[datetime], str], zone: str, unix_s: int, microsecond: int
) -> None:
    """
    In every zone, to the last digit that is written.
    """
    local = datetime.fromtimestamp(unix_s, tz=ZoneInfo(zone)).replace(microsecond=microsecond)
    found = TextTimes().read(written(local), "ts")
    assert found == (local if "." in written(local) or "," in written(local) else local.replace(microsecond=0))


@pytest.mark.parametrize(
    "text",
    [
        "2025-10-09 10:00-11:00",  # from ten to eleven
        "2025-10-09 08:53:20 +0200 UTC",
        "2025-10-09 08:53:20 +0200 +03",
        "2025-10-09 08:53:20 UTC CEST",
        "2025-10-09 08:53:20 +0200 PM",
        "2025-10-09 08:53:20 +0200 CEST 2025",
        "2025-10-09T08:53.5Z",
        "2025-10-09T08:53:20+2:00",
    ],
)
def test_a_text_that_may_mean_another_time_is_rejected(text: str) -> None:
    """
    Two offsets that differ, a range of hours, a time of day of twelve hours.
    """
    assert fault_of(TextTimes(zone=VIENNA), text)[0] is Reason.WRONG_TYPE


def test_a_local_time_that_never_occurs_is_rejected_under_every_rule() -> None:
    """
    Clocks in Vienna are put forward over 02:30 on 30 March 2025, and back over it on 26 October.
    """
    for rule in AMBIGUOUS:
        reason, detail = fault_of(TextTimes(zone=VIENNA, ambiguous=rule), "2025-03-30 02:30:00")
        assert (reason, "never occurs" in detail) == (Reason.TIME_AMBIGUOUS, True)
    reason, detail = fault_of(TextTimes(zone=VIENNA), "2025-10-26 02:30:00")
    assert (reason, "occurs twice" in detail) == (Reason.TIME_AMBIGUOUS, True)
    both = [TextTimes(zone=VIENNA, ambiguous=rule).read("2025-10-26 02:30:00", "ts") for rule in ("earlier", "later")]
    assert both[1].astimezone(UTC) - both[0].astimezone(UTC) == timedelta(hours=1)


@pytest.mark.parametrize(
    "text",
    [
        "2025-10-09T08:53:20Z",
        "2025-10-09t08:53:20z",
        "2025-10-09 08:53:20+00",
        "2025-10-09 08:53:20.000000+00",
        "2025-10-09 10:53:20+02",
        "2025-10-09T08:53:20+0000",
        "2025-10-09T08:53:20.000+00:00",
        "2025-10-09 08:53:20 UTC",
        " 2025-10-09T08:53:20Z ",
    ],
)
def test_an_offset_wins_over_the_zone(text: str) -> None:
    """
    However it is written.
    """
    for times in (TextTimes(), TextTimes(zone=VIENNA)):
        assert times.read(text, "ts") == datetime(2025, 10, 9, 8, 53, 20, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2025-10-09T08:53:20", datetime(2025, 10, 9, 6, 53, 20, tzinfo=UTC)),
        ("2025-10-09 08:53", datetime(2025, 10, 9, 6, 53, tzinfo=UTC)),
        ("2025-10-09 08:53:20.123456789", datetime(2025, 10, 9, 6, 53, 20, 123456, tzinfo=UTC)),
        ("2025-01-09 08:53:20.5", datetime(2025, 1, 9, 7, 53, 20, 500_000, tzinfo=UTC)),
    ],
)
def test_without_an_offset_the_zone_decides(text: str, instant: datetime) -> None:
    """
    Without a zone the offset is missing, and the sentence says so.
    """
    assert TextTimes(zone=VIENNA).read(text, "ts") == instant
    assert "has no offset" in fault_of(TextTimes(), text)[1]


def test_a_stated_format_is_the_only_one() -> None:
    """
    With an offset of its own, or in the zone of the settings.
    """
    foursquare = TextTimes(format="%a %b %d %H:%M:%S %z %Y")
    assert foursquare.read("Tue Apr 03 18:00:09 +0000 2012", "ts") == datetime(2012, 4, 3, 18, 0, 9, tzinfo=UTC)
    danish = TextTimes(format="%d/%m/%Y %H:%M:%S", zone=ZoneInfo("UTC"))
    assert danish.read("03/04/2012 18:00:09", "ts") == datetime(2012, 4, 3, 18, 0, 9, tzinfo=UTC)
    assert fault_of(danish, "2012-04-03T18:00:09Z") == (Reason.WRONG_TYPE, "ts does not have the form of time.format")


@pytest.mark.parametrize("zone", [None, VIENNA])
@pytest.mark.parametrize("name", ["UTC", "GMT", "Z", "utc"])
@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("%Y-%m-%d %H:%M:%S %Z", "2025-10-09 08:53:20 {}"),
        ("%a %b %d %H:%M:%S %Z %Y", "Thu Oct 09 08:53:20 {} 2025"),
        ("%Y%m%d%H%M%S%Z", "20251009085320{}"),
        ("%Y-%m-%d %H:%M:%S %Z%z", "2025-10-09 10:53:20 {}+0200"),
        ("%%Z %Y-%m-%d %H:%M:%S %Z", "%Z 2025-10-09 08:53:20 {}"),
    ],
)
def test_a_name_of_utc_wins_over_the_zone(form: str, text: str, name: str, zone: ZoneInfo | None) -> None:
    """
    As an offset does, which wins over a name.
    """
    found = TextTimes(zone=zone, format=form).read(text.format(name), "ts")
    assert found == datetime(2025, 10, 9, 8, 53, 20, tzinfo=UTC)


@pytest.mark.parametrize("zone_of_machine", ["UTC", "Europe/Vienna", "Asia/Kolkata"])
@pytest.mark.parametrize("name", ["CEST", "CET", "EST", "IST", "BST", "Europe/Vienna", ""])
def test_other_names_of_zones_are_rejected(name: str, zone_of_machine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    They mean different offsets in different countries; that the machine is in such a zone changes nothing.
    """
    monkeypatch.setenv("TZ", zone_of_machine)
    time.tzset()
    try:
        times = TextTimes(zone=VIENNA, format="%Y-%m-%d %H:%M:%S %Z")
        reason, detail = fault_of(times, f"2025-10-09 08:53:20 {name}")
    finally:
        monkeypatch.undo()
        time.tzset()
    assert (reason, "%Z is UTC, GMT or Z" in detail) == (Reason.WRONG_TYPE, True)


LEAP = datetime(2016, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "zone", "form"),
    [
        ("2016-12-31T23:59:60Z", None, None),
        ("2016-12-31 23:59:60 UTC", None, None),
        ("2016-12-31 23:59:60+00", None, None),
        ("2017-01-01 00:59:60+01", None, None),
        ("2017-01-01 00:59:60.5+01", None, None),
        ("2017-01-01 05:29:60+0530", None, None),
        ("2016-12-31 18:59:60-05:00", None, None),
        ("2016-12-31 23:59:60", "UTC", None),
        ("2016-12-31T23:59:60.25", "UTC", None),
        ("2017-01-01 00:59:60", "Europe/Vienna", None),
        ("2017-01-01 05:29:60", "Asia/Kolkata", None),
        ("31/12/2016 23:59:60", "UTC", "%d/%m/%Y %H:%M:%S"),
        ("01/01/2017 00:59:60", "Europe/Vienna", "%d/%m/%Y %H:%M:%S"),
        ("01/01/2017 00:59:60 +0100", None, "%d/%m/%Y %H:%M:%S %z"),
        ("31/12/2016 23:59:60 UTC", None, "%d/%m/%Y %H:%M:%S %Z"),
        ("20161231235960", "UTC", "%Y%m%d%H%M%S"),
    ],
)
def test_a_leap_second(text: str, zone: str | None, form: str | None) -> None:
    """
    However it is written, it is the last millisecond before it.
    """
    times = TextTimes(zone=None if zone is None else ZoneInfo(zone), format=form)
    assert times.read(text, "ts") == LEAP


@pytest.mark.parametrize(
    ("text", "zone", "form"),
    [
        ("2016-12-30T23:59:60Z", None, None),
        ("2016-12-31 23:59:60+01", None, None),
        ("2017-01-01 00:59:60+00", None, None),
        ("2016-12-31 23:58:60", "UTC", None),
        ("2016-12-31 23:59:60", "Europe/Vienna", None),
        ("2016-12-31 23:59:61", "UTC", None),
        ("9999-12-31 23:59:60", "UTC", None),
        ("31/12/2016 23:59:60", "Europe/Vienna", "%d/%m/%Y %H:%M:%S"),
        ("31/12/2016 23:59:61", "UTC", "%d/%m/%Y %H:%M:%S"),
        ("31/12/2016 23:59:60 +0100", None, "%d/%m/%Y %H:%M:%S %z"),
        ("31/12/9999 23:59:60", "UTC", "%d/%m/%Y %H:%M:%S"),
    ],
)
def test_a_second_60_at_another_time(text: str, zone: str | None, form: str | None) -> None:
    """
    Only the end of a month of UTC has one.
    """
    times = TextTimes(zone=None if zone is None else ZoneInfo(zone), format=form)
    assert fault_of(times, text)[0] is Reason.WRONG_TYPE


@pytest.mark.parametrize(
    ("form", "says"),
    [
        ("%Q", "it has %Q, which"),
        ("%s", "it has %s, which"),
        ("%-d.%m.%Y %H:%M", "it has %-d, which"),
        ("%D %T", "it has %D, which"),
        ("%F %H:%M", "it has %F, which"),
        ("%Y-%m-%dT%H:%M%:z", "it has %:z, which"),
        ("%Y-%m-%d %H:%M %", "it has %, which"),
        ("%d/%m/%Y %H:%M:%S %d", "it has %d twice"),
        ("%Y-%m-%d %H:%m:%S", "it has %m twice"),
        ("%Y-%m-%d %I:%M", "it has %I without %p"),
        ("%Y-%m-%d %H:%M %p", "it has %p without %I"),
        ("%Y-W%V-%u %H:%M", "a whole date and an hour"),
        ("%G-%m-%d %H:%M", "a whole date and an hour"),
        ("%Y-%m-%d", "a whole date and an hour"),
        ("%d %b %H:%M", "a whole date and an hour"),
        ("%Y %b %H:%M", "a whole date and an hour"),
        ("%H:%M:%S", "a whole date and an hour"),
        ("%%Y-%%m-%%d %%H:%%M", "a whole date and an hour"),
        ("noon", "a whole date and an hour"),
    ],
)
def test_a_format_that_cannot_say_when(form: str, says: str) -> None:
    """
    It has a fault, which names the directive.
    """
    assert says in (format_fault(form) or "")


@given(
    st.sampled_from(
        ["%Y-%m-%d", "%d/%m/%y", "%d %b %Y", "%A, %d. %B %Y", "%Y%j", "%G-W%V-%u", "%Y %U %w", "%x", "%% %Y%m%d"]
    ),
    st.sampled_from(["%H", "%H:%M", "%H%M%S%f", "%I:%M %p", "%X"]),
    st.sampled_from(["", " %z", " %Z", "%Z%z"]),
    st.sampled_from([" ", "T", "([", "\t"]),
    st.integers(315_532_800, 2_840_140_800).map(lambda unix_s: datetime.fromtimestamp(unix_s, tz=UTC)),
)
def test_a_format_without_fault_reads_what_it_writes(
    day: str, clock: str, zone: str, sign: str, when: datetime
) -> None:
    """
    Whatever the time: but for what the format does not say, which is 0.
    """
    form = f"{day}{sign}{clock}{zone}"
    assert format_fault(form) is None
    found = TextTimes(format=form, zone=ZoneInfo("UTC")).read(when.strftime(form), "ts")
    assert found.replace(minute=0, second=0, microsecond=0) == when.replace(minute=0, second=0, microsecond=0)


@pytest.mark.parametrize("text", ["", "noon", "2025-13-09 08:53:20", "2025-10-09", "08:53:20", "1760000000"])
def test_what_is_no_time_is_rejected_in_every_zone(text: str) -> None:
    """
    With a reason, and nothing of the text.
    """
    for zone in ZONES:
        reason, detail = fault_of(TextTimes(zone=ZoneInfo(zone)), text)
        assert reason is Reason.WRONG_TYPE
        assert not text or text not in detail


@pytest.mark.parametrize("zone", [None, "Europe/Vienna"])
@pytest.mark.parametrize("offset", ["", "+0000", "-0500"])
@pytest.mark.parametrize("slash", ["/", "\\/"])
@given(ms=st.integers(-(10**12), 4 * 10**12))
def test_milliseconds_as_dotnet_writes_them(zone: str | None, offset: str, slash: str, ms: int) -> None:
    """
    An offset behind them does not change the instant, nor does the zone of the settings.
    """
    times = TextTimes(zone=None if zone is None else ZoneInfo(zone))
    found = times.read(f"{slash}Date({ms}{offset}){slash}", "ts")
    assert found == datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)


@pytest.mark.parametrize(
    "text", ["/Date()/", "/Date(1.5)/", "Date(5)", "/Date(5)", "/Date(1e3)/", f"/Date({'9' * 99})/"]
)
def test_what_dotnet_does_not_write_is_rejected(text: str) -> None:
    """
    As any other text of another form.
    """
    with pytest.raises(UnreadableError, match="another form"):
        TextTimes().read(text, "ts")
