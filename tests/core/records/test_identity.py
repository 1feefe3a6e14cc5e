"""Identity: when two spellings mean one person, one venue, one category."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.records.identity import Identifier, Names, canonical

SPELLINGS: dict[str, list[Identifier]] = {
    "white space": ["p01", " p01", "p01 ", "\tp01\r\n", "p01\u00a0", "\u3000p01", "p01\u2028"],
    "padding of databases": ["p01", "p01" + " " * 29, "p01\x00\x00"],
    "what nobody sees": [
        "p01",
        "\ufeffp01",
        "p\u200b01",
        "p01\u200e",
        "p\u00ad01",
        "p01\ufe0f",
        "p01\u2060",
        "\x02p01",
    ],
    "upper and lower case": ["p01", "P01"],
    "wide digits and letters": ["p01", "\uff5001", "p\uff10\uff11"],
    "composed or not": ["jos\u00e9", "jose\u0301", "JOS\u00c9", "Jos\u00e9 "],
    "ligatures and sharp s": ["stra\u00dfe", "STRASSE", "\u017ftrasse"],
    "inner white space": ["jane doe", "jane  doe", "jane\u00a0doe", "Jane\tDoe"],
    "quoted twice": ["p01", '"p01"', '" p01 "'],
    "quotation marks of all languages": [
        "p01",
        *("'p01'", "`p01`", "``p01''", "\u201cp01\u201d", "\u201ep01\u201c", "\u201ap01\u2018", "\u2018p01\u2019"),
        *(
            "\u00abp01\u00bb",
            "\u00ab p01 \u00bb",
            "\u00abp01\u00ab",
            "\u203ap01\u2039",
            "\u2e42p01\u201f",
            "\uff02P01\uff02",
        ),
        *(
            "\uff07p01\uff07",
            "\uff40p01\uff40",
            "\u300cp01\u300d",
            "\uff62p01\uff63",
            "\u300ep01\u300f",
            "\u301dp01\u301e",
        ),
        *("\"'p01'\"", "'\u201cp01\u201d'"),
    ],
    "protected in a spreadsheet": ["p01", '="p01"', '"="p01""', "=\u201cp01\u201d", '\uff1d"p01"'],
    "a number protected in a spreadsheet": [7, '="007"', "'7'", '="7"'],
    "numbers": [7, 7.0, "7", "7.0", "7.", "007", "+7", " 7", "7.000", "\u0667"],
    "large numbers": [1_500_000_000, 1.5e9, "1.5E9", "1.5E+09", "1500000000"],
    "negative zero": [0, "-0", "0.0", -0.0],
    "beyond floats": [2**70, str(2**70)],
    "uuid": [
        "3f2504e0-4f89-11d3-9a0c-0305e82c3301",
        "3F2504E0-4F89-11D3-9A0C-0305E82C3301",
        "{3F2504E0-4F89-11D3-9A0C-0305E82C3301}",
        "3f2504e04f8911d39a0c0305e82c3301",
        "urn:uuid:3f2504e0-4f89-11d3-9a0c-0305e82c3301",
    ],
    "uuid without a letter": [
        "12345678-1234-1234-1234-123456789012",
        "{12345678-1234-1234-1234-123456789012}",
        "12345678123412341234123456789012",
        12345678123412341234123456789012,
        "0012345678123412341234123456789012.0",
    ],
    "number as wide as a uuid": [
        7,
        "7".zfill(31),
        "7".zfill(32),
        "7".zfill(33),
        "00000000-0000-0000-0000-000000000007",
    ],
    "mac address without a letter": ["00:11:22:33:44:55", "0011.2233.4455", "001122334455", 1122334455, "1122334455"],
    "zero": [0, "0", "000", "0" * 31, "0" * 33, "0.0", "0E+31", "-0E+01"],
    "minus signs": [-7, "-7", "\u22127", "\u2212007", "\uff0d7", "\u207b\u2077", "\ufe637"],
    "mac address": ["aa:bb:cc:00:11:22", "AA-BB-CC-00-11-22", "aabb.cc00.1122"],
    "greek": ["\u03bf\u03b4\u03cc\u03c2", "\u039f\u0394\u038c\u03a3"],
}
NOBODY: list[Identifier] = [
    *("", " ", "\x00", "\u200b", "\ufeff", "null", "NULL", "None", "nil", "NaN", "<NA>", "N/A", "#N/A", "undefined"),
    *(
        "\\N",
        "(null)",
        '""',
        '"null"',
        "''",
        "'null'",
        '=""',
        '="null"',
        "\u201c\u201d",
        float("nan"),
        "00000000-0000-0000-0000-000000000000",
        "0" * 32,
        "\uff10" * 32,
    ),
    *("{00000000-0000-0000-0000-000000000000}", "urn:uuid:00000000-0000-0000-0000-000000000000"),
]
DIFFERENT: list[Identifier] = [
    *(
        "p01",
        "p1",
        "p-01",
        "p 01",
        "p.01",
        "q01",
        "7",
        "-7",
        "7.5",
        "70",
        "1e2",
        "100",
        "x",
        "\u00f6",
        "o",
        "\ud800",
        "?",
    ),
    *("3f2504e04f8911d39a0c0305e82c3301", "3f2504e04f8911d39a0c0305e82c330", "anna", "ann", "1,5", "15"),
]


@pytest.mark.parametrize("spellings", SPELLINGS.values(), ids=SPELLINGS)
def test_all_spellings_of_an_id_are_one_person(spellings: list[Identifier]) -> None:
    """
    Producers, database drivers and spreadsheets write one id in many ways.
    """
    assert len({canonical(one) for one in spellings}) == 1
    assert canonical(spellings[0])


@pytest.mark.parametrize("nobody", NOBODY)
def test_a_word_for_nothing_names_nobody(nobody: Identifier) -> None:
    """
    Otherwise all whose id is lost would be one person who does not exist, and count towards k.
    """
    assert canonical(nobody) == ""


def test_different_ids_stay_different() -> None:
    """
    What no program does to an id on its way makes no two people one.
    """
    assert len({canonical(one) for one in DIFFERENT}) == len(DIFFERENT)


@given(
    st.text()
    | st.text(alphabet='0123456789.eE+- "\u0301\u200bE\u00e9{}\u2212\u0345\u0660')
    | st.from_regex(r"[0-9]\.[0-9]{1,3}[eE]\+?[0-9]{1,2}|0{20,34}[0-9]{0,4}|([0-9a]{2}:){5}[0-9a]{2}", fullmatch=True)
    | st.integers()
    | st.floats()
    | st.uuids().map(str)
)
def test_the_canonical_spelling_is_its_own(name: Identifier) -> None:
    """
    Spelled canonically once, an id does not change any more.
    """
    assert canonical(canonical(name)) == canonical(name)


@given(st.text(), st.sampled_from(["NFC", "NFD", "NFKC", "NFKD"]))
def test_no_form_of_unicode_makes_another_person(name: str, form: str) -> None:
    """
    Whatever normalization a system applies on the way, the id stays one person's.
    """
    assert canonical(unicodedata.normalize(form, name)) == canonical(name)  # type: ignore[arg-type]


@given(st.text(st.characters(codec="ascii")))
def test_upper_case_and_spaces_around_make_nobody_else(name: str) -> None:
    """
    Columns of fixed width and collations without case are common in databases.
    """
    assert canonical(f"  {name.upper()}\t") == canonical(name) == canonical(f'"{name}"')


def test_a_name_is_found_in_any_spelling_unless_it_could_be_several() -> None:
    """
    The exact spelling wins; of names that differ in case alone no other spelling is found.
    """
    names = Names(["Caf\u00e9", "Bar", "BAR", "7", "null"])
    asked = ["Cafe\u0301 ", "Bar", "BAR", "bar", "7.0", "null", "NULL", "", "pub"]
    assert [names.find(one) for one in asked] == [0, 1, 2, -1, 3, 4, -1, -1, -1]
    assert len(names) == 5


def test_a_sign_is_compared_by_what_it_becomes() -> None:
    """
    Every code point outside the planes of ideographs, alone and before what composes, has a spelling that is its own.
    """
    for code in (*range(0x20000), *range(0xE0000, 0xE1000)):
        for text in (chr(code), f"{chr(code)}\u0301\u0345"):
            once = canonical(text)
            assert canonical(once) == once, text.encode("unicode_escape")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0" * 10**6 + "x", "0" * 10**6 + "x"),
        ("0" * 10**6 + ".1", "0" * 10**6 + ".1"),
        ("1." + "0" * 10**6 + "x", "1." + "0" * 10**6 + "x"),
        ("0" * 10**6 + "7", "7"),
        ('"' * 4_000_001, '"'),
        ('="' * 1_000_000 + "p01" + '"' * 1_000_000, "p01"),
        ('" ' * 1_000_000 + "p01" + ' "' * 1_000_000, "p01"),
        (" " * 10**6 + "p01", "p01"),
    ],
    ids=[
        "zeros",
        "fraction",
        "zeros behind",
        "number",
        "quotation marks",
        "protected",
        "quotation marks and spaces",
        "spaces",
    ],
)
def test_a_long_text_takes_its_length_alone(text: str, expected: str) -> None:
    """
    Its cost is linear: these would take minutes or hours if it were its square, and one message would stop a worker.
    """
    assert canonical(text) == expected


MARKS = "x" + "\u0301\u0327" * 1_000_000
"""Marks that Unicode's normalization puts in order, one by one: it would take hours."""


def test_a_text_much_longer_than_every_name_is_none_of_them() -> None:
    """
    It is not normalized, which takes the square of its length; in the spelling of the list it is found at any length.
    """
    names = Names(["bar", MARKS[:2001]])
    assert [names.find(one) for one in (MARKS, MARKS[:2001], " bar" + " " * 7_000, "bar" + " " * 9_000)] == [
        -1,
        1,
        0,
        -1,
    ]
    assert Names([]).find(MARKS) == -1
    assert Names(["bar"]).find(" " * 253 + "bar") == 0
