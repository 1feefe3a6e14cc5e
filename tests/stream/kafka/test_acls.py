"""ACLs: what everybody has to be allowed, no more, written so that people and shells can read it."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest
from click.testing import CliRunner, Result

from stream.cli.main import main
from stream.kafka.acls import Acl, Role, acls, kafka_acls_line
from stream.kafka.topics import topic_specs
from stream.settings.load import load_settings

ALL: dict[Role, str] = {"worker": "User:shoal", "topics": "User:maker", "consumer": "User:reader"}


def found(given: dict[str, Any] | None = None) -> list[Acl]:
    return acls(load_settings(given=given or {}), ALL, consumer_group="readers")


def rights(role: Role, given: dict[str, Any] | None = None) -> set[tuple[str, str, str]]:
    return {(acl.operation, acl.resource, acl.name) for acl in found(given) if acl.role == role}


def shoal_acls(*arguments: str, **variables: str) -> Result:
    return CliRunner(env=variables).invoke(main, ["topics", "acls", *arguments])


def test_a_worker_reads_the_input_and_its_own_topics_and_writes_the_rest() -> None:
    """
    Nothing of it is for all topics or all groups, nothing is for the cluster, and nobody makes or removes anything.
    """
    assert rights("worker") == {
        ("Read", "topic", "checkins"),
        ("Read", "topic", "fragments"),
        ("Read", "topic", "shoal-shards"),
        ("Write", "topic", "shoal-shards"),
        ("Read", "topic", "shoal-seals"),
        ("Write", "topic", "shoal-seals"),
        ("Write", "topic", "anonymized"),
        ("Read", "topic", "windows"),
        ("Write", "topic", "windows"),
        ("Write", "topic", "shoal-dead-letters"),
        ("Read", "group", "shoal-ingest"),
        ("Read", "group", "shoal-windows"),
        *(("DescribeConfigs", "topic", name) for name in ("shoal-shards", "shoal-seals", "anonymized", "windows")),
    }


def test_a_feed_that_is_not_read_needs_no_right() -> None:
    """
    Where an input topic is not named, there is none to allow.
    """
    assert rights("worker") - rights("worker", {"topics.fragments": ""}) == {("Read", "topic", "fragments")}


def test_names_are_those_of_the_settings() -> None:
    """
    Two installations with names of their own share no right.
    """
    names = ("checkins", "fragments", "shards", "seals", "anonymized", "windows", "dead_letters")
    given = {f"topics.{name}": f"other-{name}" for name in names} | {"kafka.group": "other"}
    assert not rights("worker") & rights("worker", given)
    assert not rights("topics") & rights("topics", given)


def test_a_pattern_is_allowed_by_its_beginning() -> None:
    """
    Kafka's ACLs know prefixes and no patterns. Where matches have no common beginning, every topic must be allowed; no
    topic of a pattern is created.
    """
    given = {"topics.checkins": r"^gps\.(a|b)", "topics.fragments": "x,y"}
    right = {(acl.operation, acl.name, acl.pattern_type) for acl in found(given) if acl.why.startswith("input")}
    assert right == {("Read", "gps.", "prefixed"), ("Read", "x", "literal"), ("Read", "y", "literal")}
    (wide,) = [acl for acl in found({"topics.checkins": "^(a|b)", "topics.fragments": ""}) if acl.name == "*"]
    assert (wide.operation, wide.pattern_type) == ("Read", "literal")
    assert "so this is every topic" in wide.why
    created = {name for operation, _, name in rights("topics", given) if operation == "Create"}
    assert {"x", "y"} < created
    assert not any("gps" in name for name in created)
    line = shoal_acls("--format", "kafka-acls", "--set", r"topics.checkins=^gps\..*").stdout.splitlines()[0]
    assert line.endswith("--resource-pattern-type prefixed --operation Read --topic gps.")
    table = shoal_acls("--set", r"topics.checkins=^gps\..*").stdout.splitlines()[1]
    assert "gps. (prefix)" in table


def test_every_topic_that_is_made_may_be_made() -> None:
    """
    Whoever makes the topics may do nothing else, but for approving settings, and for seeing how many partitions exist.
    """
    settings = load_settings()
    assert rights("topics") == {
        *(("Create", "topic", spec.name) for spec in topic_specs(settings)),
        ("Describe", "topic", settings.topics.shards),
        *((operation, "topic", settings.topics.seals) for operation in ("Read", "Write")),
    }


def test_who_reads_the_releases_sees_nothing_that_is_not_released() -> None:
    """
    Not the input, not what waits for its window, not the dead letters.
    """
    assert rights("consumer") == {
        ("Read", "topic", "anonymized"),
        ("Read", "topic", "windows"),
        ("Read", "group", "readers"),
    }


def test_no_right_is_told_twice() -> None:
    """
    Each has one line and a reason.
    """
    lines = [(acl.role, acl.operation, acl.resource, acl.name) for acl in found()]
    assert len(lines) == len(set(lines))
    assert all(acl.why for acl in found())


def test_a_shell_reads_a_line_as_it_is_meant() -> None:
    """
    The name in a certificate has spaces.
    """
    acl = Acl(role="worker", principal="User:CN=a b,O=c", operation="Read", resource="group", name="x-ingest", why="")
    assert shlex.split(kafka_acls_line(acl, "a:1,b:2")) == [
        *("kafka-acls.sh", "--bootstrap-server", "a:1,b:2", "--add", "--allow-principal", "User:CN=a b,O=c"),
        *("--operation", "Read", "--group", "x-ingest"),
    ]
    assert shlex.split(kafka_acls_line(acl, "a:1", command_config="my admin.properties"))[3:6] == [
        *("--command-config", "my admin.properties", "--add"),
    ]


# The command


def test_a_table_is_aligned_and_tells_why() -> None:
    """
    Every column begins at one place; everybody is there.
    """
    head, *lines = shoal_acls("--principal", "User:somebody").stdout.splitlines()
    for column in ("PRINCIPAL", "OPERATION", "RESOURCE", "NAME", "WHY"):
        at = head.index(column)
        assert all(line[at - 1] == " " != line[at] for line in lines)
    assert len(lines) == len(found())
    assert {line.split()[1] for line in lines} == {
        "User:somebody", "User:somebody-topics", "User:somebody-consumer"
    }  # fmt: skip


def test_commands_are_ready_to_run() -> None:
    """
    For one role alone, at the cluster of the settings.
    """
    given = ("--set", "kafka.bootstrap_servers=kafka-1:9092", "--consumer-principal", "User:x", "--consumer-group", "g")
    result = shoal_acls("--format", "kafka-acls", "--for", "consumer", *given)
    assert result.stdout.splitlines() == [
        f"kafka-acls.sh --bootstrap-server kafka-1:9092 --add --allow-principal User:x --operation Read --{what}"
        for what in ("topic anonymized", "topic windows", "group g")
    ]


def test_json_holds_the_same() -> None:
    """
    For tools that make the ACLs.
    """
    told = json.loads(shoal_acls("--format", "json", SHOAL_KAFKA__GROUP="tenant-a").stdout)
    assert {"Read group tenant-a-ingest", "Read group tenant-a-windows", "Read group tenant-a-consumer"} <= {
        f"{one['operation']} {one['resource']} {one['name']}" for one in told
    }
    assert {tuple(one) for one in told} == {
        ("role", "principal", "operation", "resource", "name", "why", "pattern_type")
    }


@pytest.mark.parametrize("principal", ["shoal", "User:", ":x", ""])
def test_what_is_no_principal(principal: str) -> None:
    """
    Kafka would take it and allow nobody anything.
    """
    result = shoal_acls("--principal", principal)
    assert result.exit_code == 2
    assert "it must be written as User:NAME" in result.stderr
