"""The command line: help that helps, exit codes that mean something, one sentence for what is wrong."""

from __future__ import annotations

import gzip
import json
import logging
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import structlog
import yaml
from click.testing import CliRunner, Result

from stream.cli.main import main
from stream.cli.options import wants_json_logs
from stream.demo.broker import free_port

SECRET = "a secret of the tests"  # noqa: S105 - of no real deployment
ROWS = "user,lat,lon,ts\n" + "".join(f"p{i % 7},52.5,13.4,{1_600_000_200 + 10 * i}\n" for i in range(100))
SHOAL = Callable[..., Result]


@pytest.fixture
def shoal(monkeypatch: pytest.MonkeyPatch) -> SHOAL:
    """Run the command line with arguments; no setting comes from the environment of the tests."""
    for name in [name for name in os.environ if name.startswith("SHOAL_")]:
        monkeypatch.delenv(name)

    def shoal(*arguments: str | Path, **variables: str) -> Result:
        return CliRunner(env=variables).invoke(main, [str(argument) for argument in arguments])

    return shoal


@pytest.fixture
def feed(tmp_path: Path) -> Path:
    """A small feed of check-ins."""
    path = tmp_path / "feed.csv"
    path.write_text(ROWS)
    return path


def sentence(result: Result, exit_code: int) -> str:
    """Return what a failed command said at last: a sentence of ours, not a traceback."""
    assert result.exit_code == exit_code
    assert isinstance(result.exception, SystemExit)
    assert "Traceback" not in result.output
    last = result.stderr.splitlines()[-1]
    assert re.match(r"(shoal|Error): .", last)
    return last


def commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """List every command with the words that call it."""
    yield path, group
    for name, command in sorted(group.commands.items()):
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


# Help


@pytest.mark.parametrize(
    ("path", "command"), [pytest.param(path, command, id=" ".join(path) or "shoal") for path, command in commands(main)]
)
def test_help_says_what_a_command_does_and_every_option_means(
    path: tuple[str, ...], command: click.Command, shoal: SHOAL
) -> None:
    """
    Each command has a sentence, each option an explanation, and ``-h`` shows all of it.
    """
    result = shoal(*path, "-h")
    assert result.exit_code == 0
    text = " ".join(result.stdout.split())
    assert command.help
    assert " ".join(command.help.split(".")[0].split()) in text.replace("\b", "")
    for option in command.params:
        if isinstance(option, click.Option):
            assert option.help
            assert len(option.help) > 10
            assert " ".join(option.help.split()) in text


def test_help_leads_to_the_first_steps(shoal: SHOAL) -> None:
    """
    Who knows nothing finds the demo, a replay and the worker, and every command in the list.
    """
    text = shoal("--help").stdout
    for words in ("shoal demo", "shoal replay", "shoal worker", "check-config", "generate", "topics"):
        assert words in text


def test_help_does_not_load_faust_or_a_compiler() -> None:
    """
    They take a second to load, which only a worker needs, or whoever anonymizes.
    """
    code = "import sys, stream.cli.main; assert not {'faust', 'numba', 'llvmlite'} & sys.modules.keys()"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_try_does_not_load_a_compiler(tmp_path: Path) -> None:
    """
    Nothing is anonymized, so no kernel is needed.
    """
    path = tmp_path / "checkins.csv"
    path.write_text("user,lat,lon,ts\nu1,40.7,-74.0,1600000000\n")
    code = (
        "import sys; from stream.cli.main import main; main(['try', sys.argv[1]], standalone_mode=False); "
        "assert not {'numba', 'llvmlite'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], check=True, capture_output=True)


def test_the_version_is_shown(shoal: SHOAL) -> None:
    """
    ``shoal --version`` names the program and its version.
    """
    assert re.fullmatch(r"shoal, version \d+\.\d+\.\d+\S*\n", shoal("--version").stdout)


# What is wrong


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--set", "privacy.k=1"), "privacy.k is 1: it should be greater than or equal to 2"),
        (("--set", "privacy.kk=5"), "privacy.kk is not a setting"),
        (("--set", "privacy.k"), "--set takes KEY=VALUE"),
        (("--set", "window.size=soon"), "window.size is 'soon'"),
        (("--set", "time.earliest=2025-13-45"), "time.earliest is '2025-13-45'"),
        (("--set", "privacy.secret=tooshort"), "privacy.secret has 8 characters"),
        (("--set", "privacy.model=w4m"), "checkins allow seqanon"),
        (("--set", "location.area=3,2,1,4"), "location.area is 3.0,2.0,1.0,4.0: an area is south, west, north, east"),
        (("--set", "location.kind=venues", "--set", "location.venues_file=/nowhere.csv"), "cannot be read"),
        (("--config", "/nowhere.yaml"), "/nowhere.yaml: cannot be read"),
        (("--kind", "buses"), "'buses' is not one of"),
        (("--colour",), "No such option"),
    ],
)
def test_wrong_settings_and_arguments_end_with_2(
    arguments: tuple[str, ...], says: str, feed: Path, tmp_path: Path, shoal: SHOAL
) -> None:
    """
    Nothing is started, and the sentence says which setting, what it is, and what is allowed.
    """
    result = shoal("replay", feed, "--kind", "checkins", "--output", tmp_path / "out", *arguments)
    assert says in sentence(result, 2)
    assert result.stdout == ""
    assert not (tmp_path / "out").exists()


def test_no_secret_is_repeated(feed: Path, tmp_path: Path, shoal: SHOAL) -> None:
    """
    A secret that was typed wrongly is not shown on the screen.
    """
    for wrong in ("privacy.secret=hunter2", "privacy.secret:hunter2", "privacy=hunter2", "privacy.sekret=hunter2"):
        result = shoal("replay", feed, "--kind", "checkins", "--output", tmp_path / "out", "--set", wrong)
        sentence(result, 2)
        assert "hunter2" not in result.output


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is empty"),
        (b"a,b\n1,2\n", "the header has no column user, ts, lat, lon, nor any other known name"),
        (gzip.compress(ROWS.encode())[:-9], "damaged gzip"),
        (b"\x1f\x8b\x08", "damaged gzip"),
    ],
)
def test_a_file_that_cannot_be_read_ends_with_1(content: bytes, says: str, tmp_path: Path, shoal: SHOAL) -> None:
    """
    The sentence names the file.
    """
    path = tmp_path / "broken.csv"
    path.write_bytes(content)
    said = sentence(shoal("replay", path, "--kind", "checkins", "--output", tmp_path / "out"), 1)
    assert str(path) in said
    assert says in said


def test_a_file_that_is_not_there_is_a_wrong_argument(tmp_path: Path, shoal: SHOAL) -> None:
    """
    The sentence names the file, and the exit code is that of a wrong argument.
    """
    said = sentence(shoal("replay", tmp_path / "nowhere", "--kind", "checkins", "--output", tmp_path), 2)
    assert "nowhere' does not exist" in said


def test_an_output_that_cannot_be_written_ends_with_1(feed: Path, shoal: SHOAL) -> None:
    """
    The sentence names the place.
    """
    assert "/proc/nowhere" in sentence(shoal("replay", feed, "--kind", "checkins", "--output", "/proc/nowhere"), 1)
    said = sentence(shoal("generate", "--kind", "checkins", "--output", "/proc/nowhere.ndjson", "--people", "5"), 1)
    assert said == "shoal: /proc/nowhere.ndjson: No such file or directory"


@pytest.mark.parametrize("command", [("worker",), ("check-config",)])
def test_a_worker_without_a_secret_does_not_start(command: tuple[str, ...], shoal: SHOAL) -> None:
    """
    There is no default: the sentence says how to set one.
    """
    said = sentence(shoal(*command), 2)
    assert "privacy.secret is not set: set SHOAL_PRIVACY__SECRET to at least 16 random characters" in said


REPLAY = ("replay", "FEED", "--kind", "checkins", "--output", "OUT")
COMMANDS = [
    ("worker",),
    ("check-config",),
    ("topics", "create"),
    ("topics", "acls"),
    REPLAY,
    (*REPLAY, "--frontier"),
    ("health",),
]


@pytest.mark.parametrize("name", ["privacy.secret", "checkins.privacy.secret"])
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("by", ["variable", "--set", "--config"])
def test_no_command_takes_an_empty_secret(
    by: str, command: tuple[str, ...], name: str, feed: Path, tmp_path: Path, shoal: SHOAL
) -> None:
    """
    A command that makes secrets and is missing leaves an empty one behind: nothing starts, and nothing is written.
    """
    section, leaf = name.rsplit(".", 1)
    file = tmp_path / "shoal.yaml"
    nested = {section: {leaf: ""}} if "." not in section else {"checkins": {"privacy": {leaf: ""}}}
    file.write_text(yaml.safe_dump(nested))
    variables: dict[str, str] = {"SHOAL_PRIVACY__SECRET": SECRET} if section != "privacy" else {}
    given: tuple[str | Path, ...] = ()
    if by == "variable":
        variables[f"SHOAL_{name.replace('.', '__')}".upper()] = ""
    else:
        given = (by, f"{name}=") if by == "--set" else (by, file)
    places = {"FEED": feed, "OUT": tmp_path / "out"}
    said = sentence(shoal(*(places.get(word, word) for word in command), *given, **variables), 2)
    assert said.startswith(f"shoal: {name} is empty: it must have at least 16 characters")
    assert not (tmp_path / "out").exists()


def test_nothing_after_set_is_an_empty_text(shoal: SHOAL) -> None:
    """
    ``--set kafka.group=$GROUP`` without the variable is a mistake, and not the default.
    """
    for name in ("kafka.group", "privacy.demands_file", "privacy.sensitive_locations"):
        said = sentence(shoal("check-config", "--set", f"{name}=", SHOAL_PRIVACY__SECRET=SECRET), 2)
        assert said == f"shoal: {name} is empty: leave it out, or give it a value"


def test_secret_prints_one_that_a_worker_takes(shoal: SHOAL) -> None:
    """
    One line on standard output, another at every call, for ``SHOAL_PRIVACY__SECRET=$(shoal secret)``.
    """
    one, other = (shoal("secret") for _ in range(2))
    assert one.stderr == ""
    assert re.fullmatch(r"[0-9a-f]{64}\n", one.stdout)
    assert one.stdout != other.stdout
    assert shoal("check-config", SHOAL_PRIVACY__SECRET=one.stdout.rstrip()).exit_code == 0


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("topics.seals=a b", "topics.seals is 'a b': it must be 1 to 249 of the characters"),
        ("topics.seals=any_where", "topics.checkins is 'any.where' and topics.seals is 'any_where': Kafka does not"),
        ("topics.seals=any.where", "topics.checkins and topics.seals are both 'any.where'"),
    ],
)
@pytest.mark.parametrize("command", [("check-config",), ("topics", "create"), ("topics", "describe"), ("worker",)])
def test_topics_that_no_broker_would_create(command: tuple[str, ...], given: str, says: str, shoal: SHOAL) -> None:
    """
    No broker is asked: the sentence names the setting at once.
    """
    result = shoal(*command, "--set", "topics.checkins=any.where", "--set", given, SHOAL_PRIVACY__SECRET=SECRET)
    assert says in sentence(result, 2)


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--to-topics", "--output", "x"),
        ("--output", "x"),
        ("--output", "x", "--kind", "checkins", "--people", "0"),
        ("--output", "x", "--kind", "checkins", "--dirty", "2"),
        ("--output", "x", "--kind", "checkins", "--start", "soon"),
    ],
)
def test_generate_refuses_what_it_cannot_do(arguments: tuple[str, ...], shoal: SHOAL) -> None:
    """
    The sentence is about the arguments.
    """
    sentence(shoal("generate", *arguments), 2)


def test_generate_says_that_nobody_is_out_at_night(tmp_path: Path, shoal: SHOAL) -> None:
    """
    An empty feed looks like a fault of whatever reads it: the sentence names the hours and how to get records.
    """
    given = ("generate", "--kind", "checkins", "--output", tmp_path / "feed.ndjson", "--people", "50")
    said = sentence(shoal(*given, "--hours", "6"), 2)
    assert "nobody in the city is out from 2026-11-23 00:00 to 2026-11-23 06:00 UTC" in said
    assert "--start 2026-11-23T08:00:00" in said
    assert shoal(*given, "--hours", "1", "--start", "2026-11-23T08:00:00").exit_code == 0


@pytest.mark.parametrize(
    ("config", "variable", "given", "is_json"),
    [
        ("logs: {format: json}", None, (), True),
        ("logs: {format: json}", "console", (), False),
        ("logs: {format: console}", "json", (), True),
        ("logs: {format: json}", "json", ("logs.format=console",), False),
        (None, None, ("logs.format=json", "nonsense"), False),
        (None, None, ("logs.format=json",), True),
        ("logs: [json]", None, (), False),
        ("logs: json", None, (), False),
        ("]", None, (), False),
        ("logs: {format: json}\ntime: {earliest: 2025-13-45}", None, (), False),
        ("", None, (), False),
        (None, None, (), False),
    ],
)
def test_logs_are_json_before_the_settings_are_checked(
    config: str | None,
    variable: str | None,
    given: tuple[str, ...],
    is_json: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """
    The command line wins over the variable, and that over the file, however wrong the rest is; else text is written.
    """
    monkeypatch.delenv("SHOAL_LOGS__FORMAT", raising=False)
    if variable is not None:
        monkeypatch.setenv("SHOAL_LOGS__FORMAT", variable)
    file = tmp_path / "settings.yaml"
    if config is not None:
        file.write_text(config)
    assert wants_json_logs(file if config is not None else None, given) is is_json


def test_generate_refuses_a_pattern(shoal: SHOAL) -> None:
    """
    A pattern names no topic to write to; no broker is asked.
    """
    result = shoal("generate", "--to-topics", "--hours", "0.01", "--people", "50", "--set", r"topics.checkins=^gps\..*")
    assert r"topics.checkins is '^gps\\..*', a pattern: shoal generate needs the name of one topic" in sentence(
        result, 2
    )


def test_check_config_says_how_a_pattern_begins(shoal: SHOAL) -> None:
    """
    The name that most people try first is refused, with what to write instead.
    """
    result = shoal("check-config", "--set", "topics.checkins=gps.*", SHOAL_PRIVACY__SECRET=SECRET)
    assert "a pattern begins with '^', such as ^gps" in sentence(result, 2)


@pytest.fixture
def nobody() -> str:
    """An address where no broker listens."""
    return f"127.0.0.1:{free_port()}"


def test_a_broker_that_is_down_is_waited_for_and_then_named(nobody: str, shoal: SHOAL) -> None:
    """
    After ``kafka.startup_timeout`` the sentence says where nobody answered and what to do.
    """
    result = shoal("topics", "describe", "--set", "kafka.startup_timeout=2s", SHOAL_KAFKA__BOOTSTRAP_SERVERS=nobody)
    said = sentence(result, 1)
    assert f"no Kafka broker answers at {nobody}" in said
    assert "start it, or check kafka.bootstrap_servers" in said
    assert f"shoal: waiting for a Kafka broker at {nobody}" in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize(
    "command", [("topics", "create"), ("generate", "--to-topics", "--people", "5", "--hours", "0.01")]
)
def test_every_command_that_needs_a_broker_says_so(command: tuple[str, ...], nobody: str, shoal: SHOAL) -> None:
    """
    The same sentence wherever it is missing.
    """
    settings = ("--set", "kafka.startup_timeout=1ms", "--set", f"kafka.bootstrap_servers={nobody}")
    assert f"no Kafka broker answers at {nobody}" in sentence(shoal(*command, *settings), 1)


# check-config


def test_a_variable_names_the_settings_file(tmp_path: Path, shoal: SHOAL) -> None:
    """
    ``SHOAL_CONFIG`` is ``--config`` of every command, which wins over it; an empty one is a mistake.
    """
    for name, k in (("one", 7), ("other", 8)):
        (tmp_path / name).write_text(f"privacy: {{k: {k}}}")
    given: dict[str, str] = {"SHOAL_PRIVACY__SECRET": SECRET, "SHOAL_CONFIG": str(tmp_path / "one")}
    assert yaml.safe_load(shoal("check-config", **given).stdout)["privacy"]["k"] == 7
    other = shoal("check-config", "--config", tmp_path / "other", **given)
    assert yaml.safe_load(other.stdout)["privacy"]["k"] == 8
    for empty in ("", " "):
        for by in (("check-config",), ("check-config", "--config", empty)):
            said = sentence(shoal(*by, **given | {"SHOAL_CONFIG": empty}), 2)
            assert said == "shoal: --config or SHOAL_CONFIG is empty: leave it out, or name a YAML file with settings"
    told = shoal("check-config", "--config", tmp_path / "other", **given | {"SHOAL_CONFIG": ""})
    assert yaml.safe_load(told.stdout)["privacy"]["k"] == 8
    with_config = [command for _, command in commands(main) if any(p.name == "config" for p in command.params)]
    assert len(with_config) >= 7
    for command in with_config:
        (option,) = (p for p in command.params if p.name == "config")
        assert option.envvar == "SHOAL_CONFIG"
    assert "/nowhere.yaml: cannot be read" in sentence(shoal("health", SHOAL_CONFIG="/nowhere.yaml"), 2)


def test_check_config_refuses_credentials_that_do_not_fit(shoal: SHOAL) -> None:
    """
    As a worker does, before anything is asked of a cluster.
    """
    given = ("--set", "kafka.security_protocol=SASL_SSL", "--set", "kafka.sasl_mechanism=OAUTHBEARER")
    for command in (("check-config",), ("topics", "create"), ("worker",)):
        result = shoal(*command, *given, SHOAL_PRIVACY__SECRET=SECRET)
        assert "set kafka.oauth_token_url, oauth_client_id and oauth_client_secret" in sentence(result, 2)


SENSITIVE = ["privacy.sensitive_field=kind", "privacy.sensitive_values=[a]", "privacy.max_confidence=0.5"]
BUDGET = ["privacy.epsilon=1", "privacy.epsilon_per_day=24", "window.size=1h"]
MIXING = "fragments: privacy.across is mixing"
TWO_FEEDS = "fewer than k people who fit both"
SPANNING = "seqanon, sd-seqanon, u-seqanon, least-loss, auto, lkc, rum-bound, tum-bound"
ALONE = "check-ins: privacy.model seqanon, as it is set, promises nothing of several windows together"


@pytest.mark.parametrize(
    ("given", "notes"),
    [
        (["topics.fragments="], [ALONE]),
        (["topics.checkins="], [MIXING]),
        (["topics.checkins=", "privacy.across=none"], ["fragments: privacy.across is none, which promises nothing"]),
        (["topics.checkins=", "privacy.across=persistent"], []),
        (["topics.checkins=", "privacy.across=persistent", "kafka.replication_factor=1"], ["loses its disk"]),
        (["privacy.k=6"], [TWO_FEEDS, ALONE, MIXING]),
        (["fragments.shard.kind=region"], [TWO_FEEDS, ALONE, MIXING, "fragments: somebody who crosses"]),
        (["topics.fragments=", "privacy.model=flows"], ["privacy.model flows, as it is set, promises nothing"]),
        (["topics.fragments=", "privacy.model=flows", "privacy.noise=laplace", *BUDGET], []),
        (["topics.fragments=", "privacy.horizon=4"], []),
        (["topics.fragments=", "privacy.horizon=1"], [ALONE]),
        (["topics.fragments=", "privacy.horizon=4", "privacy.model=p2ka"], [f"only {SPANNING} promise"]),
        (["topics.fragments=", "privacy.horizon=4", "privacy.model=rum-bound", "privacy.attributes={age: 0..9}"], []),
        (["topics.fragments=", "privacy.model=lkc"], ["privacy.model lkc, as it is set, promises nothing"]),
        (["topics.fragments=", "privacy.model=lkc", *SENSITIVE], []),
        (["topics.fragments=", "privacy.model=lkc", *SENSITIVE, "privacy.horizon=1"], ["model lkc, as it is set"]),
        (
            ["topics.checkins=", "stops.of_fragments=only", "stops.privacy.model=lkc", "privacy.sensitive_field=kind"],
            ["stops: privacy.model lkc, as it is set", "stops: privacy.sensitive_field changes nothing"],
        ),
        (
            ["topics.checkins=", "stops.of_fragments=beside"],
            ["trajectories and stops of the same people", MIXING, "stops: privacy.model seqanon, as it is set"],
        ),
        (
            ["checkins.privacy.model=lkc", "privacy.horizon=4", *SENSITIVE],
            [TWO_FEEDS, "promise different things", MIXING],
        ),
    ],
)
def test_check_config_says_what_valid_settings_do_not_promise(shoal: SHOAL, given: list[str], notes: list[str]) -> None:
    sets = [part for one in ("kafka.replication_factor=3", *given) for part in ("--set", one)]
    result = shoal("check-config", *sets, SHOAL_PRIVACY__SECRET=SECRET)
    *found, last = result.stderr.splitlines()
    assert (result.exit_code, last) == (0, "# all settings are valid")
    assert len(found) == len(notes)
    for line, words in zip(found, notes, strict=True):
        assert line.startswith("# note: ")
        assert words in line


def test_check_config_prints_settings_that_can_be_read_back(tmp_path: Path, shoal: SHOAL) -> None:
    """
    What it prints is a settings file that means the same; secrets are masked and come from elsewhere.
    """
    given = ("privacy.k=9", "checkins.privacy.m=3", "window.size=1h", "location.area=52,13,53,14", "topics.fragments=")
    first = shoal("check-config", *(part for one in given for part in ("--set", one)), SHOAL_PRIVACY__SECRET=SECRET)
    assert (first.exit_code, first.stderr.splitlines()[-1]) == (0, "# all settings are valid")
    assert SECRET not in first.output
    file = tmp_path / "shoal.yaml"
    file.write_text(first.stdout)
    again = shoal("check-config", "--config", file, SHOAL_PRIVACY__SECRET=SECRET)
    assert again.stdout == first.stdout
    shown = yaml.safe_load(again.stdout)
    assert (shown["privacy"]["k"], shown["checkins"], shown["window"]["size"]) == (9, {"privacy": {"m": 3}}, "1h")
    assert "privacy.secret is not set" in sentence(shoal("check-config", "--config", file), 2)


def test_the_command_line_wins_over_the_environment_and_it_over_the_file(tmp_path: Path, shoal: SHOAL) -> None:
    """
    As the help of ``--config`` and ``--set`` says.
    """
    file = tmp_path / "shoal.yaml"
    file.write_text("privacy: {k: 6, m: 3, delta_m: 50}\n")
    result = shoal(
        "check-config", "--config", file, "--set", "privacy.k=8",
        SHOAL_PRIVACY__K="7", SHOAL_PRIVACY__M="1", SHOAL_PRIVACY__SECRET=SECRET,
    )  # fmt: skip
    privacy = yaml.safe_load(result.stdout)["privacy"]
    assert (privacy["k"], privacy["m"], privacy["delta_m"]) == (8, 1, 50.0)


# replay

KEYS = {
    "records", "rejected", "late", "duplicates", "withheld_records", "windows", "windows_released",
    "windows_withheld", "windows_refused", "trajectories_released", "points_released", "points_suppressed", "seconds",
}  # fmt: skip


def summary_of(result: Result) -> dict[str, Any]:
    """Return the only thing on standard output, a JSON object."""
    assert result.exit_code == 0, result.output
    assert result.stdout.count("\n") == 1
    summary: dict[str, Any] = json.loads(result.stdout)
    return summary


def test_replay_prints_one_json_object(feed: Path, tmp_path: Path, shoal: SHOAL) -> None:
    """
    Scripts read standard output: one object with every count, and nothing else; progress is on standard error.
    """
    result = shoal("replay", feed, "--kind", "checkins", "--output", tmp_path / "out", "--json")
    summary = summary_of(result)
    assert summary.keys() >= KEYS
    assert (summary["records"], summary["rejected"], summary["windows_released"]) == (100, 0, 2)
    assert summary["points_released"] + summary["points_suppressed"] + summary["withheld_records"] == 100
    assert "replaying checkins" in result.stderr
    written = (tmp_path / "out" / "windows.ndjson").read_bytes().splitlines()
    assert len(written) == summary["windows"]


def test_replay_shows_a_table_to_people(feed: Path, tmp_path: Path, shoal: SHOAL) -> None:
    """
    Without ``--json`` the same counts are a table that says where the results are.
    """
    feed.write_text(ROWS + "p1,99,13.4,1600000200\n")
    result = shoal("replay", feed, "--kind", "checkins", "--output", tmp_path / "out")
    assert result.exit_code == 0
    text = " ".join(result.stdout.split())
    for words in ("results in", "records", "101", "points released", "position out of range"):
        assert words in text


def test_replay_says_what_was_wrong_and_where(tmp_path: Path, shoal: SHOAL) -> None:
    """
    In the table and in ``--json``: reason, detail, file and line, and no value; where something was accepted the exit
    code is 0.
    """
    path = tmp_path / "[b]feed.csv"
    path.write_text(ROWS + 'Zw9qK,52.5,13.4,"1600000300\n' + "Zw9qK,Zw9qK,13.4,1600000300\n" * 2)
    command = ["replay", path, "--kind", "checkins", "--output", tmp_path / "out"]
    shown = shoal(*command, COLUMNS="400")
    assert (shown.exit_code, "shoal:" in shown.stderr) == (0, False)
    assert f"wrong type: lat must be a number; a text was found ({path}, line 103)" in shown.stdout
    assert f"or that is inside a value ({path}, line 102)" in shown.stdout
    result = shoal(*command, "--json")
    first, second = json.loads(result.stdout)["rejections"]
    assert first == {
        "reason": "wrong_type",
        "detail": "lat must be a number; a text was found",
        "records": 2,
        "file": str(path),
        "line": 103,
    }
    assert (second["reason"], second["records"], second["line"]) == ("not_csv", 1, 102)
    assert "Zw9qK" not in shown.output + result.output


@pytest.mark.parametrize("more", [(), ("--json",), ("--frontier", "--frontier-k", "3")])
def test_replay_ends_with_1_where_nothing_was_accepted(more: tuple[str, ...], tmp_path: Path, shoal: SHOAL) -> None:
    """
    A sentence repeats the most frequent reason, and where it comes first; the results are there, and empty.
    """
    path = tmp_path / "feed.ndjson"
    path.write_text('{"user":"Zw9qK","ts":"Zw9qK"}\n\n{"user":"Zw9qK","ts":1600000300}\n{"user":"u"}\n{"user":"u"}\n')
    result = shoal("replay", path, "--kind", "checkins", "--output", tmp_path / "out", *more)
    said = sentence(result, 1)
    assert said.endswith(
        f"no record was accepted: 2 of 4 were rejected for missing_field: ts is needed (first: {path}, line 4)"
    )
    assert "Zw9qK" not in result.output
    if more == ("--json",):
        assert json.loads(result.stdout)["rejected"] == 4
        assert (tmp_path / "out" / "anonymized.ndjson").read_bytes() == b""


@pytest.mark.parametrize("more", [(), ("--frontier", "--frontier-k", "3")])
@pytest.mark.parametrize(
    ("header", "given", "says"),
    [
        ("user,ts,geom", {}, "the header has no column lat, lon; it has user, ts, geom"),
        ("user,ts,lat,lon", {"location.kind": "venues"}, "the header has no column venue; it has user, ts, lat, lon"),
        ("user,ts,venue", {"location.kind": "h3"}, "the header has no column lat, lon; it has user, ts, venue"),
        ("Zw9qK,1600000300,1,2", {}, "its first line holds values, not names: a header is needed"),
    ],
)
def test_a_header_without_what_the_settings_need_ends_with_1(
    header: str, given: dict[str, str], says: str, more: tuple[str, ...], tmp_path: Path, shoal: SHOAL
) -> None:
    """
    At once, and without results.
    """
    path, venues = tmp_path / "feed.csv", tmp_path / "venues.csv"
    path.write_text(f"{header}\n{header}\n")
    venues.write_text("venue,lat,lon\nv1,52,13\n")
    named = [f"--set={name}={value}" for name, value in given.items()]
    if given.get("location.kind") == "venues":
        named.append(f"--set=location.venues_file={venues}")
    said = sentence(shoal("replay", path, "--kind", "checkins", "--output", tmp_path / "out", *named, *more), 1)
    assert said.startswith(f"shoal: {path}: ")
    assert says in said
    assert "Zw9qK" not in said
    assert not (tmp_path / "out").exists()


def test_replay_measures_when_asked(feed: Path, tmp_path: Path, shoal: SHOAL) -> None:
    """
    ``--measure all`` adds the measures to the JSON object, and to the table, which says that they are not to be
    published; without it there are none.
    """
    replay = ("replay", feed, "--kind", "checkins", "--output", tmp_path / "out")
    assert "measures" not in summary_of(shoal(*replay, "--json"))
    measures = summary_of(shoal(*replay, "--json", "--measure", "all"))["measures"]
    assert {"distance_m", "are", "kl_locations", "semantic_penalty", "patterns_kept"} <= measures.keys()
    text = " ".join(shoal(*replay, "--measure", "all").stdout.split())
    for words in ("measures, not for publication", "distance m", "kl locations"):
        assert words in text


def test_replay_asks_queries(feed: Path, tmp_path: Path, shoal: SHOAL) -> None:
    """
    ``--queries`` takes a file, or draws; a file that does not fit ends the command before anything is read, and without
    ``--measure`` there is nothing to ask.
    """
    replay = ("replay", feed, "--kind", "checkins", "--output", tmp_path / "out", "--json")
    queries = tmp_path / "queries.ndjson"
    queries.write_text('{"places": [{"area": [-90, -180, 90, 180]}]}\n')
    asked = summary_of(shoal(*replay, "--measure", "all", "--queries", queries, "--sanity-bound", "50"))["measures"]
    assert asked["queries_are"] == 0
    assert asked["queries_sanity_bound"] > 1
    drawn = summary_of(shoal(*replay, "--measure", "all", "--queries", "drawn:5"))["measures"]
    assert drawn["queries_are"] is not None
    queries.write_text('{"places": []}\n')
    said = sentence(shoal(*replay, "--measure", "all", "--queries", queries), 1)
    assert said.startswith(f"shoal: {queries}, line 1: places is a list")
    assert "drawn:0" in sentence(shoal(*replay, "--measure", "all", "--queries", "drawn:0"), 2)
    assert "need --measure all" in sentence(shoal(*replay, "--queries", queries), 2)


def test_replay_needs_no_secret_but_says_what_that_means(feed: Path, tmp_path: Path, shoal: SHOAL) -> None:
    """
    Without a secret a random one is used: two runs have nothing in common, and a note says so.
    """
    outputs = []
    for name in ("a", "b"):
        result = shoal("replay", feed, "--kind", "checkins", "--output", tmp_path / name, "--json")
        assert "privacy.secret is not set" in result.stderr
        outputs.append((tmp_path / name / "anonymized.ndjson").read_bytes())
    assert outputs[0] != outputs[1]


def test_replay_with_a_secret_repeats_itself(feed: Path, tmp_path: Path, shoal: SHOAL) -> None:
    """
    The same secret, settings and file give the same bytes.
    """
    outputs = []
    for name in ("a", "b"):
        result = shoal(
            "replay", feed, "--kind", "checkins", "--output", tmp_path / name, "--json", SHOAL_PRIVACY__SECRET=SECRET
        )
        assert "secret" not in result.stderr
        outputs.append([(tmp_path / name / f"{part}.ndjson").read_bytes() for part in ("anonymized", "windows")])
    assert outputs[0] == outputs[1]


# generate


@pytest.mark.parametrize("kind", ["checkins", "fragments"])
def test_a_generated_feed_can_be_replayed(kind: str, tmp_path: Path, shoal: SHOAL) -> None:
    """
    The city's feed goes to a file and from there through the whole service, dirt and all.
    """
    feed = tmp_path / "feed.ndjson"
    generated = shoal(
        "generate", "--output", feed, "--kind", kind, "--people", "80", "--hours", "9.5", "--dirty", "0.05",
        "--duplicates", "0.1",
    )  # fmt: skip
    assert generated.exit_code == 0, generated.output
    n = len(feed.read_bytes().splitlines())
    assert generated.stdout == f"{n} records\n"
    # The city's Monday may lie in the future.
    settings = ("time.max_ahead=36500d", "privacy.k=3", "location.cell_m=2000", "window.allowed_lateness=5m")
    result = shoal(
        "replay", feed, "--kind", kind, "--output", tmp_path / "out", "--json",
        *(part for one in settings for part in ("--set", one)), "--set", "window.size=30m",
    )  # fmt: skip
    summary = summary_of(result)
    assert summary["records"] == n
    assert 0 < summary["rejected"] < n / 5
    assert summary["duplicates"] > 0
    assert summary["windows_released"] > 0
    assert (summary["windows_refused"], summary["late"]) == (0, 0)
    accounted = ("late", "duplicates", "withheld_records", "points_released", "points_suppressed")
    assert sum(summary[name] for name in accounted) == summary["rows"]


def test_the_same_seed_generates_the_same_bytes(tmp_path: Path, shoal: SHOAL) -> None:
    """
    Two files of one seed are equal, those of two seeds are not; ``--start`` says when they begin.
    """
    contents = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        path = tmp_path / name
        size = ("--people", "30", "--hours", "11", "--start", "2026-11-30")
        result = shoal("generate", "--output", path, "--kind", "checkins", "--seed", str(seed), *size)
        assert result.exit_code == 0
        contents.append(path.read_bytes())
    assert contents[0] == contents[1] != contents[2]
    assert b"2026-11-30T" in contents[0]
    assert b"2026-11-29T" not in contents[0]


@pytest.fixture
def own_logs() -> Iterator[None]:
    """Leave the logs of the process as they are."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()


@pytest.mark.usefixtures("own_logs")
def test_whatever_stops_a_start_is_one_line_of_json(monkeypatch: pytest.MonkeyPatch, shoal: SHOAL) -> None:
    """
    Also an error that nobody foresaw: its traceback is a field of the line, and not text between the lines.
    """

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("a defect")

    monkeypatch.setattr("stream.worker.run.run_worker", fail)
    monkeypatch.setattr("stream.cli.worker.collect_garbage_rarely", lambda: None)
    result = shoal("worker", "--set", "logs.format=json", SHOAL_PRIVACY__SECRET=SECRET)
    (line,) = [json.loads(text) for text in result.stderr.splitlines()]
    assert (result.exit_code, line["event"], line["why"]) == (1, "not_started", "RuntimeError")
    assert "Traceback" in line["exception"]
    wrong = shoal("worker", "--set", "logs.format=json", "--set", "privacy.k=1", SHOAL_PRIVACY__SECRET=SECRET)
    (line,) = [json.loads(text) for text in wrong.stderr.splitlines()]
    assert (wrong.exit_code, line["event"]) == (2, "not_started")
    assert line["why"].startswith("privacy.k is 1: ")
