"""The file of demands: who is listed gets what they demand, and each wrong line ends in a sentence without an id."""

from __future__ import annotations

import math
import traceback
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.ingest.validate import Rules
from core.records.demands import NO_DEMANDS, DefaultDemands
from core.records.identity import canonical
from core.records.record import INPUT_KINDS, Fragment, Kind, Rejected, Rows, Source
from stream.cli.main import main
from stream.feeds.default_demands import read_default_demands
from stream.feeds.feed import Feed, build_feeds
from stream.settings.errors import SettingsError
from stream.settings.load import load_settings
from tests.builders.windows import NOW_MS, fragment, hash_of, rules

SECRET = "a secret of the tests"  # noqa: S105 - of no real deployment
MARK = "Zw9qK"
HEADER = "user,k,delta_m\n"
Write = Callable[[str | bytes], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a file of demands."""

    def write(content: str | bytes) -> Path:
        path = tmp_path / "demands.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def read(file: Path, by: Rules | None = None) -> DefaultDemands:
    """Read a file as wiring does."""
    own = load_settings(given={"privacy.demands_file": str(file)}).for_kind(Kind.FRAGMENTS)
    return read_default_demands(own, by or rules())


def listed(demands: DefaultDemands) -> dict[int, tuple[int, float]]:
    """What each hash demands."""
    columns = (demands.users, demands.k, demands.delta_m)
    return {user: (k, delta_m) for user, k, delta_m in zip(*(column.tolist() for column in columns), strict=True)}


def complaint(file: Path) -> str:
    """Return the sentence that refuses a file, after whatever a traceback shows was found to hold no id."""
    with pytest.raises(SettingsError) as fault:
        read(file)
    assert MARK not in "".join(traceback.format_exception(fault.value))
    return str(fault.value)


def rows_of(feed: Feed, *records: Fragment) -> tuple[Rows, list[Rejected]]:
    """The rows that a feed makes of some records."""
    chunks, rejected, _ = feed.intake.run(
        list(enumerate(records)), source=Source("fragments", 0), n_partitions=1, now_ms=NOW_MS
    )
    return np.concatenate([chunk.rows for chunk in chunks]), rejected


# ---------------------------------------------------------------- files that fit


def test_everybody_who_is_listed_has_what_their_line_says(write: Write) -> None:
    """
    An empty value demands nothing of its kind; where a column stands, and what else is in the file, does not matter.
    """
    expected = {hash_of(1): (8, math.inf), hash_of(2): (0, 300.0), hash_of(3): (9, 50.5), hash_of(4): (0, math.inf)}
    assert listed(read(write(HEADER + "1,8,\n2,,300\n3,9,50.5\n4,,\n"))) == expected
    assert listed(read(write("delta_m,name,user,k\n,Ada,1,8\n300,,2,\n50.5,Kay,3,9\n,,4,\n"))) == expected


@pytest.mark.parametrize(
    "content",
    [
        "user,k,delta_m\nu1,8,50\n",
        "user,k,delta_m\r\nu1,8,50\r\n",
        "user,k,delta_m\ru1,8,50",
        "\ufeffuser,k,delta_m\nu1,8,50",
        "\n\nuser,k,delta_m\n\n  \nu1,8,50\n\n",
        "user, k , delta_m\nu1, 8.0, 5e1 \n",
        '"user","k","delta_m"\n"u1","8","50"\n',
    ],
)
def test_however_a_csv_is_written_it_says_the_same(content: str, write: Write) -> None:
    """
    Ends of lines, a byte order mark, blank lines, quotation marks, spaces around numbers: what programs write.
    """
    assert listed(read(write(content))) == {hash_of("u1"): (8, 50.0)}


@pytest.mark.parametrize("user", ["u1", "17", "𝔘", "Doe, Jane", 'the "first"', "x" * 256, "é", "e\u0301"])
def test_a_user_has_the_hash_of_their_records(user: str, write: Write) -> None:
    """
    An id in the file is the id in the records, in any spelling; a number is its digits.
    """
    quoted = user.replace('"', '""')
    assert listed(read(write(f'{HEADER}"{quoted}",8,\n'))) == {hash_of(canonical(user)): (8, math.inf)}


@pytest.mark.parametrize(
    "spellings",
    [
        ("p01", " p01"),
        ("p01", "P01\t"),
        ("jos\u00e9", "jose\u0301"),
        ("7", "007"),
        ("7", "7.0"),
        ("Ann Lee", "ann  lee"),
    ],
)
def test_two_spellings_of_a_user_are_one_user(spellings: tuple[str, str], write: Write) -> None:
    """
    Each gives the hash of their records, and both together are one user twice, which is refused with both lines.
    """
    one, other = (listed(read(write(f"{HEADER}{spelling},8,\n"))) for spelling in spellings)
    assert one == other == {hash_of(canonical(spellings[0])): (8, math.inf)}
    file = write(f"{HEADER}{spellings[0]},8,\n{spellings[1]},,50\n")
    assert complaint(file).startswith(f"privacy.demands_file {file}, line 3: the user is already in line 2")


def test_a_file_that_lists_nobody_is_none(write: Write) -> None:
    """
    A header alone is allowed: nobody demands anything yet.
    """
    assert listed(read(write(HEADER))) == {}
    assert read_default_demands(load_settings().for_kind(Kind.FRAGMENTS), rules()) is NO_DEMANDS


@given(
    lines=st.dictionaries(
        st.integers(0, 10**6),
        st.tuples(
            st.none() | st.integers(2, 1_000_000),
            st.none() | st.floats(1, 1e7, exclude_min=True, exclude_max=True),
        ),
        max_size=30,
    )
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_order_of_the_lines_does_not_matter(
    lines: dict[int, tuple[int | None, float | None]], write: Write
) -> None:
    """
    Any demands in range are read back as rows store them, in whatever order users are listed.
    """
    text = [f"{user},{'' if k is None else k},{'' if m is None else m}\n" for user, (k, m) in lines.items()]
    expected = {
        hash_of(user): (k or 0, float(np.float32(math.inf if m is None else m))) for user, (k, m) in lines.items()
    }
    assert listed(read(write(HEADER + "".join(text)))) == expected
    assert listed(read(write(HEADER + "".join(text[::-1])))) == expected


# ---------------------------------------------------------------- files that do not

BAD_K = "k must be from 2 to 1000000, a whole number, or empty"
BAD_DELTA_M = "delta_m must be above 1 and below 10000000 metres, or empty"
BAD_LINES = [
    *((f"{MARK},{k},50", BAD_K) for k in ("1", "0", "-5", "1000001", "2.5", "many", "nan", "inf", "1e400", MARK)),
    *((f"{MARK},{k},50", BAD_K) for k in ("1_0", "\u0661\u0660")),
    *(
        (f"{MARK},8,{m}", BAD_DELTA_M)
        for m in ("1", "0", "-50", "10000000", "1e400", "nan", "inf", "far", MARK, "50 m")
    ),
    (",8,50", "user names nobody: it must be the id of a user"),
    ("   ,8,50", "user names nobody: it must be the id of a user"),
    (",,", "user names nobody: it must be the id of a user"),
    ("null,8,50", "user names nobody: it must be the id of a user"),
    ("\u200b" * 257 + ",8,50", "user must be at most 256 characters long (limits.user_length)"),
    ("0" * 300_000 + "x,8,50", "user must be at most 256 characters long (limits.user_length)"),
    (f"{MARK * 52},8,50", "user must be at most 256 characters long (limits.user_length)"),
    (f"{MARK},8", "must have 3 values like the header, but has 2"),
    (MARK, "must have 3 values like the header, but has 1"),
    (f"{MARK},8,50,5", "must have 3 values like the header, but has 4"),
    (f"{MARK}, the first,8,50", "must have 3 values like the header, but has 4"),
    (f'"{MARK},8,50', "is not CSV: the line has a quotation mark that is not closed"),
    (f'"{MARK}"1,8,50', "is not CSV: the line has a quotation mark that is not closed"),
    (f"{MARK}\0,8,50", "is not CSV: the line has a NUL character"),
    (f"{MARK * 30_000},8,50", "user must be at most 256 characters long (limits.user_length)"),
    (f"{MARK * 300_000},8,50", "is longer than 1048576 bytes"),
]


@pytest.mark.parametrize(("line", "says"), BAD_LINES, ids=lambda text: text[:20])
@pytest.mark.parametrize("before", [[], ["u1,8,50"], ["u1,8,50", "", '"u, 2",,', "u3,9,"]], ids=len)
def test_a_bad_line_is_named_with_what_is_allowed(line: str, says: str, before: list[str], write: Write) -> None:
    """
    The sentence names the setting, the file, the line as an editor counts it, and what is allowed; never the id.
    """
    file = write(HEADER + "\n".join([*before, line, "u9,8,50"]))
    number = 2 + len(before)
    assert complaint(file).startswith(f"privacy.demands_file {file}, line {number}: {says}")


@pytest.mark.parametrize("bad", [f"{MARK}\xff".encode("latin-1"), f"{MARK}é".encode("utf-16"), b"\xed\xa0\x80"])
@pytest.mark.parametrize("column", range(4))
def test_a_line_that_is_not_utf_8_is_named(bad: bytes, column: int, write: Write) -> None:
    """
    Whichever column it stands in: ids in another encoding would be the ids of nobody.
    """
    cells = [b"u2", b"8", b"50", b"other"]
    cells[column] = bad.replace(b"\n", b"")
    file = write(b"user,k,delta_m,name\nu1,,,\n" + b",".join(cells) + b"\nu3,,,\n")
    assert complaint(file) == f"privacy.demands_file {file} is not UTF-8 (line 3): save it as UTF-8"


@pytest.mark.parametrize(
    "header",
    [
        "",
        "\n",
        "user,k",
        "user,delta_m",
        "k,delta_m",
        "id,k,delta_m",
        "user;k;delta_m",
        "user,k,k,delta_m",
        "User,k,delta_m",
    ],
)
def test_a_header_has_each_column_once(header: str, write: Write) -> None:
    """
    Without a column, or with two of a name, it is not said what people demand; the first line may be somebody's.
    """
    file = write(f"{header}\n{MARK},8,50\n")
    found = complaint(file)
    assert found.startswith(f"privacy.demands_file {file}, line ")
    assert ": the header must have each of the columns user, k, delta_m once; " in found


@given(
    users=st.lists(st.integers(0, 10**6), unique=True, min_size=1, max_size=20),
    data=st.data(),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_user_who_is_listed_twice_is_named_by_both_lines(users: list[int], data: st.DataObject, write: Write) -> None:
    """
    Which of the two counts is not for the file's order to say; of several such pairs the one that ends first is named.
    """
    first = data.draw(st.integers(0, len(users) - 1))
    second = data.draw(st.integers(first + 1, len(users)))
    lines = [f"{MARK}{user},8,50" for user in [*users[:second], users[first], *users[second:]]]
    file = write(HEADER + "\n".join([*lines, *lines]))
    assert complaint(file) == (
        f"privacy.demands_file {file}, line {second + 2}: the user is already in line {first + 2}, perhaps in "
        "another spelling: every user has one line"
    )


def test_a_file_that_cannot_be_read_is_named_with_the_reason(tmp_path: Path) -> None:
    """
    Missing, or a folder.
    """
    for file, why in ((tmp_path / "nowhere.csv", "No such file"), (tmp_path, "Is a directory")):
        assert complaint(file).startswith(f"privacy.demands_file {file}: cannot be read ({why}")
        assert "): check the path, " in complaint(file)


@pytest.mark.parametrize("command", ["check-config", "replay"])
@pytest.mark.parametrize("line", [f"{MARK},{MARK},50", f"{MARK},8,50\n{MARK},8,50", f'"{MARK}', f"{MARK},8"])
def test_the_program_ends_with_the_sentence_alone(command: str, line: str, write: Write, tmp_path: Path) -> None:
    """
    Both that read settings and those that run refuse a bad file at the start, without a traceback or an id.
    """
    file, records = write(HEADER + line), tmp_path / "records.csv"
    records.write_text("user,lat,lon,ts\n")
    given = ["--set", f"privacy.demands_file={file}", "--set", f"privacy.secret={SECRET}"]
    more = [str(records), "--kind", "fragments", "--output", str(tmp_path / "out")] if command == "replay" else []
    result = CliRunner().invoke(main, [command, *more, *given])
    assert isinstance(result.exception, SystemExit)
    assert f"privacy.demands_file {file}, line " in result.stderr.replace("\n", " ")
    assert MARK not in result.stdout + result.stderr


# ---------------------------------------------------------------- what becomes of them


@pytest.mark.parametrize("name", ["privacy.demands_file", "fragments.privacy.demands_file"])
def test_defaults_reach_the_rows(name: str, write: Write) -> None:
    """
    Set for all or for fragments, a worker's and a replay's intake gives who is listed what they demand.
    """
    file = write(HEADER + "u1,8,50\nu2,,40\n17,7,\n")
    settings = load_settings(given={name: str(file), "privacy.secret": SECRET})
    records = [fragment(user=user) for user in ("u1", "u2", 17, "u3")]
    expected = [(8, 50.0), (0, 40.0), (7, math.inf), (0, math.inf)]
    for feed in (build_feeds(settings)[Kind.FRAGMENTS], Feed(settings, Kind.FRAGMENTS, secret="another" + SECRET)):
        rows, rejected = rows_of(feed, *records)
        assert not rejected
        found = list(zip(rows["k"].tolist(), rows["delta_m"].tolist(), strict=True))
        assert found == [demand for demand in expected for _ in range(2)]


def test_check_ins_do_not_read_the_file(tmp_path: Path) -> None:
    """
    Nobody demands anything in a check-in: where only these are read the file need not even be there.
    """
    given = {"privacy.demands_file": str(tmp_path / "nowhere.csv"), "topics.fragments": ""}
    assert build_feeds(load_settings(given=given), secret=SECRET).keys() == {Kind.CHECKINS}


def test_other_demands_are_no_other_release(write: Write) -> None:
    """
    Rows carry what they were given: with another file, or none, waiting windows and rows stay as good as they were.
    """

    def digests(feed: Feed) -> tuple[str, str]:
        return feed.vocabulary, feed.plan.digest

    for kind in INPUT_KINDS:
        settings = load_settings(given={"privacy.demands_file": str(write(HEADER + "u1,8,50\n"))})
        assert digests(Feed(settings, kind, secret=SECRET)) == digests(Feed(load_settings(), kind, secret=SECRET))


def test_demands_do_not_show_whose_they_are(write: Write) -> None:
    """
    Neither an id nor a hash is in the repr: only that there are demands.
    """
    demands = read(write(f"{HEADER}{MARK},8,50\n"))
    assert repr(demands) == "DefaultDemands()"
    assert MARK.encode() not in demands.users.tobytes()
