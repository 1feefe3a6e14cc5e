"""Strimzi's resources: the topics that the program would create, and the rights that it says it needs."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
import yaml

from stream.kafka.acls import Role, acls
from stream.kafka.topics import topic_specs
from stream.settings.load import load_settings
from stream.settings.model import Settings
from tests.budgets import examples
from tests.cluster.brokers import KafkaUnavailableError
from tests.helm.api.server import ApiServer
from tests.helm.chart import CHART, FEATURES, MINIMAL, merged, pod_of, render
from tests.helm.manifests import Object
from tests.helm.programs import Helm, HelmError
from tests.helm.strimzi.classes import read_as_strimzi_does

STRIMZI = merged(MINIMAL, {"strimzi": {"enabled": True, "cluster": "kafka", "consumer": {"enabled": True}}})

CHOICES: dict[str, list[Any]] = {
    "topics.checkins": [
        "checkins",
        "gps.a, Gps_B",
        ["one", "two"],
        "",
        r"^gps\.(a|b)",
        "^gps|x",
        "^ab*",
        r"^a\.?",
        "^[a|b]c",
    ],
    "topics.fragments": ["fragments", "trucks", "^tr.*", "^.*ks", r"^x-1_[0-9]{2}", r"^ab(c|(d|e))f", r"^ab\d"],
    "topics.shards": ["shoal-shards", "Tenant_A.shards"],
    "topics.dead_letters": ["shoal-dead-letters", "dead.letters"],
    "kafka.group": ["shoal", "the city's group"],
    "kafka.partitions": [1, 4, 100],
    "kafka.replication_factor": [1, 3],
    "window.size": ["15m", "36h"],
    "window.allowed_lateness": ["1m", 0, "90s"],
    "window.idle_timeout": ["1m", "1500ms"],
    "checkins.window.size": [None, "1h", "2w"],
    "fragments.window.idle_timeout": [None, "10m"],
    "stops.window.size": [None, "3d"],
    "stops.of_fragments": ["none", "beside", "only"],
    "ingest.chunk_bytes": ["512KiB", "3MiB", 2_000_000],
    "limits.message_bytes": ["1MiB", "4MiB", 5_000_000],
}
"""Settings that topics and rights depend on, with values to draw from; None is left out."""


def drawn(rng: random.Random) -> dict[str, Any]:
    """Return settings below their dotted names."""
    chosen = {name: rng.choice(values) for name, values in CHOICES.items()}
    return {name: value for name, value in chosen.items() if value is not None}


def nested(dotted: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in dotted.items():
        *above, last = name.split(".")
        below = found
        for part in above:
            below = below.setdefault(part, {})
        below[last] = value
    return found


def of_kind(objects: list[Object], kind: str) -> list[Object]:
    return [one for one in objects if one["kind"] == kind]


def topics_of(objects: list[Object]) -> list[tuple[str, int, int, dict[str, str]]]:
    """Name, partitions, replicas and configuration of every topic, as Strimzi would make it."""
    return [
        (
            one["spec"].get("topicName", one["metadata"]["name"]),
            one["spec"]["partitions"],
            one["spec"]["replicas"],
            dict(sorted(one["spec"].get("config", {}).items())),
        )
        for one in of_kind(objects, "KafkaTopic")
    ]


def wanted_topics(settings: Settings) -> list[tuple[str, int, int, dict[str, str]]]:
    return [
        (spec.name, spec.partitions, settings.kafka.replication_factor, dict(sorted(spec.config.items())))
        for spec in topic_specs(settings)
    ]


def rights_of(user: Object) -> set[tuple[str, str, str, str]]:
    """Operation, kind of resource, name and kind of pattern of every right."""
    return {
        (operation, one["resource"]["type"], one["resource"]["name"], one["resource"]["patternType"])
        for one in user["spec"]["authorization"]["acls"]
        for operation in one["operations"]
    }


def wanted_rights(settings: Settings, role: Role) -> set[tuple[str, str, str, str]]:
    patterns = {"literal": "literal", "prefixed": "prefix"}  # Strimzi's word for it
    found = acls(settings, {role: "User:x"}, consumer_group=f"{settings.kafka.group}-consumer")
    return {(acl.operation, acl.resource, acl.name, patterns[acl.pattern_type]) for acl in found}


@pytest.mark.parametrize("seed", range(examples(60)))
def test_topics_and_rights_are_those_of_the_program(helm4: Helm, seed: int) -> None:
    """
    Whatever the settings are, the templates give the topics of `shoal topics create` and the rights of `shoal topics
    acls`, no more and no fewer.
    """
    given = drawn(random.Random(seed))
    settings = load_settings(given=given)
    values = merged(STRIMZI, {"config": nested(given), "strimzi": {"user": {"enabled": True}}})
    objects = render(helm4, values=[merged(values, {"topicsJob": {"enabled": False}})])
    assert sorted(topics_of(objects), key=str) == sorted(wanted_topics(settings), key=str), given
    worker, consumer = sorted(of_kind(objects, "KafkaUser"), key=lambda one: len(str(one["metadata"]["name"])))
    assert rights_of(worker) == wanted_rights(settings, "worker"), given
    assert rights_of(consumer) == wanted_rights(settings, "consumer"), given


def test_the_draws_above_reach_every_form() -> None:
    """
    Lists, patterns with and without a common beginning, all kinds of feed, and messages longer than a broker's default.
    """
    every = [load_settings(given=drawn(random.Random(seed))) for seed in range(60)]
    rights = {(name, pattern) for one in every for _, _, name, pattern in wanted_rights(one, "worker")}
    assert {("*", "literal"), ("gps.", "prefix"), ("a", "prefix"), ("Gps_B", "literal")} <= rights
    assert {len(one.kinds) for one in every} >= {1, 2, 3}
    assert {"max.message.bytes" in config for one in every for _, _, _, config in wanted_topics(one)} == {True, False}


def test_strimzi_reads_them(helm4: Helm) -> None:
    """
    Strimzi's own classes know every field and value.
    """
    objects = render(helm4, values=[FEATURES["strimzi"]])
    resources = of_kind(objects, "KafkaTopic") + of_kind(objects, "KafkaUser")
    try:
        read = read_as_strimzi_does(resources)
        broken = merged(resources[0], {"spec": {"partitons": 3}})
        with pytest.raises(ValueError, match="partitons"):
            read_as_strimzi_does([broken])
    except KafkaUnavailableError as missing:
        pytest.skip(str(missing))
    assert read == [f"{one['kind']}/{one['metadata']['name']}" for one in resources]


def test_topics_outlive_the_release(helm: Helm) -> None:
    """
    Strimzi deletes a topic with its resource, so `helm uninstall` keeps these; users it removes.
    """
    objects = render(helm, values=[FEATURES["strimzi"]])
    for one in of_kind(objects, "KafkaTopic"):
        assert one["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep"
        assert one["metadata"]["labels"]["strimzi.io/cluster"] == "kafka"
    for one in of_kind(objects, "KafkaUser"):
        assert "annotations" not in one["metadata"]


def test_a_renamed_topic_is_another_resource(helm4: Helm) -> None:
    """
    Strimzi cannot rename a topic. Names that differ only in what Kubernetes does not allow stay different.
    """
    names = ["a.b", "A.b", "a_b", "a-b", "_", "A" * 249]
    given = {"config": {"topics": {"checkins": names, "fragments": ""}}}
    found = [one["metadata"]["name"] for one in of_kind(render(helm4, values=[merged(STRIMZI, given)]), "KafkaTopic")]
    assert len(set(found)) == len(found) == len(names) + 5
    assert "a.b" in found


def test_the_job_then_checks_the_settings_alone(helm4: Helm) -> None:
    """
    Topics are made in one place; settings are approved all the same.
    """
    pod = pod_of(render(helm4, values=[STRIMZI]), "Job")
    assert [one["args"] for one in pod["initContainers"] + pod["containers"]] == [["check-config"], ["approve"]]


def test_upgrades_can_have_the_job(helm4: Helm) -> None:
    """
    The Secret of the user is there from the installation on.
    """
    values = merged(FEATURES["strimzi"], {"topicsJob": {"enabled": True}})
    assert pod_of(render(helm4, "--is-upgrade", values=[values]), "Job")


def test_input_topics_of_others_are_left_out(helm4: Helm) -> None:
    """
    Who makes them elsewhere says so.
    """
    objects = render(helm4, values=[merged(STRIMZI, {"strimzi": {"inputTopics": False}})])
    assert {name for name, _, _, _ in topics_of(objects)} == {
        "shoal-shards",
        "shoal-seals",
        "anonymized",
        "windows",
        "shoal-dead-letters",
    }


def test_in_the_namespace_of_kafka(helm4: Helm) -> None:
    """
    Resources are where Strimzi looks, and users of releases in several namespaces have several names.
    """
    values = merged(STRIMZI, {"strimzi": {"namespace": "kafka", "user": {"enabled": True}}})
    objects = render(helm4, "--namespace", "tenant", values=[merged(values, {"topicsJob": {"enabled": False}})])
    resources = of_kind(objects, "KafkaTopic") + of_kind(objects, "KafkaUser")
    assert {one["metadata"]["namespace"] for one in resources} == {"kafka"}
    assert {one["metadata"]["name"] for one in of_kind(objects, "KafkaUser")} == {
        "tenant-test-shoal",
        "tenant-test-shoal-consumer",
    }


def test_more_partitions_than_there_are(helm: Helm, tmp_path: Path) -> None:
    """
    An upgrade with more partitions than shards and seals have is refused, before Strimzi adds them and an autoscaler
    follows.
    """
    with ApiServer() as server:

        def upgrade(partitions: int) -> None:
            file = tmp_path / "values.yaml"
            file.write_text(yaml.safe_dump(merged(STRIMZI, {"config": {"kafka": {"partitions": partitions}}})))
            helm.run("upgrade", "--install", "shoal", CHART, "--values", file, kubeconfig=server.kubeconfig)

        upgrade(4)
        with pytest.raises(HelmError, match="the KafkaTopic of shoal-shards has 4 partitions and config"):
            upgrade(5)
        upgrade(4)
        assert server.get("KafkaTopic", "shoal-shards")["spec"]["partitions"] == 4


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"strimzi": {"cluster": ""}}, "strimzi.cluster is not set"),
        (
            merged(FEATURES["strimzi"], {"topicsJob": {"enabled": True}}),
            "the topics Job needs the Secret shoal-worker, and Strimzi makes it only",
        ),
    ],
)
def test_what_cannot_work_is_refused(helm: Helm, values: dict[str, Any], says: str) -> None:
    """
    A sentence says what to set.
    """
    with pytest.raises(HelmError, match=says):
        render(helm, values=[merged(STRIMZI, values)])
