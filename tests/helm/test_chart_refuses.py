"""Values that cannot work do not render: the sentence says what is wrong and what is allowed."""

from __future__ import annotations

from typing import Any

import pytest

from tests.helm.chart import FEATURES, MINIMAL, merged, render
from tests.helm.programs import Helm, HelmError

SASL = {"config": {"kafka": {"security_protocol": "SASL_SSL"}}}
SCALED = {"autoscaling": {"keda": {"enabled": True, "prometheusAddress": "http://prometheus:9090"}}}

TOGETHER: dict[str, tuple[dict[str, Any], str]] = {
    "a duration without a unit": (
        {"config": {"window": {"size": "15"}}},
        "config.window.size is 15: a time needs its unit, such as 500ms, 30s, 15m, 1h, 7d or 1w",
    ),
    "a number for a duration": (
        {"config": {"fragments": {"window": {"allowed_lateness": 1_500_000}}}},
        "config.fragments.window.allowed_lateness is 1.5e+06: a time needs its unit",
    ),
    "a negative duration": (
        {"config": {"stops": {"max_gap": -1}}},
        "config.stops.max_gap is -1: a time needs its unit",
    ),
    "KEDA with a user name in the settings": (
        merged(FEATURES["keda-kafka"], {"config": {"kafka": {"sasl_username": "shoal"}}}),
        "KEDA reads the user name from a Secret alone",
    ),
    "KEDA with tokens": (
        merged(FEATURES["oauth"], {"autoscaling": {"keda": {"enabled": True, "kafka": {"enabled": True}}}}),
        "name a TriggerAuthentication of your own",
    ),
    "no brokers": ({"config": {"kafka": {"bootstrap_servers": ""}}}, "config.kafka.bootstrap_servers is not set"),
    "no secret": ({"pseudonymSecret": {"existingSecret": ""}}, "pseudonymSecret.existingSecret is not set"),
    "an empty secret in a variable": (
        {"extraEnv": [{"name": "SHOAL_PRIVACY__SECRET", "value": ""}]},
        "extraEnv has SHOAL_PRIVACY__SECRET without a value: leave it out, or give it one",
    ),
    "a blank secret for one kind of feed": (
        {"extraEnv": [{"name": "SHOAL_CHECKINS__PRIVACY__SECRET", "value": " " * 32}]},
        "extraEnv has SHOAL_CHECKINS__PRIVACY__SECRET without a value",
    ),
    "a short secret in a variable": (
        {"extraEnv": [{"name": "SHOAL_FRAGMENTS__PRIVACY__SECRET", "value": " hünter2-hunter \n"}]},
        "extraEnv has SHOAL_FRAGMENTS__PRIVACY__SECRET with 14 characters, 9 of them different: it must have",
    ),
    "a secret of one character": (
        {"extraEnv": [{"name": "SHOAL_PRIVACY__SECRET", "value": "x" * 64}]},
        "extraEnv has SHOAL_PRIVACY__SECRET with 64 characters, 1 of them different: it must have",
    ),
    "a setting in a variable without a value": (
        {"extraEnv": [{"name": "SHOAL_KAFKA__GROUP"}]},
        "extraEnv has SHOAL_KAFKA__GROUP without a value",
    ),
    "a settings file without a name": (
        {"extraEnv": [{"name": "SHOAL_CONFIG", "value": " "}]},
        "extraEnv has SHOAL_CONFIG without a value",
    ),
    "both secrets": ({"insecureDevelopmentSecret": True}, "choose one"),
    "two autoscalers": (merged(SCALED, {"autoscaling": {"hpa": {"enabled": True}}}), "both enabled"),
    "replicas beside an autoscaler": (merged(SCALED, {"replicas": 2}), "leave replicas out"),
    "no replicas beside an autoscaler": (merged(SCALED, {"replicas": 0}), "leave replicas out"),
    "more workers than partitions": (
        merged(SCALED, {"autoscaling": {"maxReplicas": 5}}),
        "at most config.kafka.partitions, 4",
    ),
    "at least more than at most": (merged(SCALED, {"autoscaling": {"minReplicas": 5}}), "it must be at most 4"),
    "no Prometheus for KEDA": ({"autoscaling": {"keda": {"enabled": True}}}, "prometheusAddress is not set"),
    "scraped twice": ({"serviceMonitor": {"enabled": True}, "podMonitor": {"enabled": True}}, "scraped twice"),
    "a monitor without a service": (
        {"serviceMonitor": {"enabled": True}, "service": {"enabled": False}},
        "podMonitor instead",
    ),
    "no credentials": (SASL, "kafka.credentials.existingSecret"),
    "credentials nobody asks for": ({"kafka": {"credentials": {"existingSecret": "x"}}}, "go with SASL_SSL"),
    "certificates nobody asks for": ({"kafka": {"certificateAuthority": {"existingSecret": "x"}}}, "go with SSL"),
    "a token nobody asks for": ({"kafka": {"serviceAccountToken": {"enabled": True}}}, "OAUTHBEARER"),
    "two ways to a token": (
        merged(FEATURES["oauth"], {"kafka": {"serviceAccountToken": {"enabled": True}}}),
        "choose one way to get a token",
    ),
    "a certificate twice": (
        merged(FEATURES["mtls"], {"config": {"kafka": {"ssl_certfile": "/x.pem"}}}),
        "config.kafka.ssl_certfile are both set",
    ),
    "an authority twice": (
        merged(FEATURES["mtls"], {"config": {"kafka": {"ssl_cafile": "/x.pem"}}}),
        "config.kafka.ssl_cafile are both set",
    ),
    "a key twice": (
        merged(FEATURES["mtls"], {"config": {"kafka": {"ssl_keyfile": "/x.pem"}}}),
        "config.kafka.ssl_keyfile are both set",
    ),
    "a token file twice": (
        merged(FEATURES["workload-identity"], {"config": {"kafka": {"oauth_token_file": "/x"}}}),
        "config.kafka.oauth_token_file are both set",
    ),
    "a token and where to ask for one": (
        merged(FEATURES["workload-identity"], {"config": {"kafka": {"oauth_token_url": "https://x.example/t"}}}),
        "choose one way to get a token",
    ),
    "no credentials, and a variable of something else": (
        merged(SASL, {"extraEnv": [{"name": "SHOAL_LOGS__LEVEL", "value": "debug"}]}),
        "kafka.credentials.existingSecret",
    ),
    "credentials of the Job that nobody asks for": (
        {"topicsJob": {"credentials": {"existingSecret": "x"}}},
        "topicsJob.credentials.existingSecret is set and config.kafka.security_protocol is PLAINTEXT",
    ),
    "credentials of the Job beside a token": (
        merged(FEATURES["workload-identity"], {"topicsJob": {"credentials": {"existingSecret": "x"}}}),
        "topicsJob.serviceAccountName instead",
    ),
    "a certificate of the Job alone": (
        {"topicsJob": {"clientCertificate": {"existingSecret": "x"}}},
        "kafka.clientCertificate.existingSecret is not",
    ),
    "nobody may leave and nobody come": (
        {"replicas": 2, "updateStrategy": {"rollingUpdate": {"maxUnavailable": "0%"}}},
        "no worker could ever be replaced",
    ),
    "metrics for the Pod alone": ({"config": {"metrics": {"host": "127.0.0.1"}}}, "neither probes nor Prometheus"),
    "metrics at another loopback": ({"config": {"metrics": {"host": "127.9.0.1"}}}, "neither probes nor Prometheus"),
    "one port for two": ({"config": {"metrics": {"port": 6066}}}, "each needs a port of its own"),
    "a grace period too short": (
        {"terminationGracePeriodSeconds": 60, "config": {"worker": {"grace_period": "61s"}}},
        "at least config.worker.grace_period, 61s",
    ),
    "credentials without a registry": (
        {"registry": {"credentials": {"existingSecret": "shoal-registry"}}},
        "config.registry.url is not: set the address of the schema registry",
    ),
    "an authority without a registry": (
        {"registry": {"certificateAuthority": {"existingSecret": "ca"}}},
        "config.registry.url is not: set the address of the schema registry",
    ),
    "a token and a user of the registry": (
        {
            "registry": {"credentials": {"existingSecret": "shoal-registry", "tokenKey": "token"}},
            "config": {"registry": {"url": "https://registry:8081", "username": "shoal"}},
        },
        "choose a token, or user name and password",
    ),
    "headers without a receiver": (
        {"telemetry": {"credentials": {"existingSecret": "otlp"}}},
        "config.telemetry.endpoint is not: set the address of the OTLP receiver",
    ),
    "two authorities of the receiver": (
        {
            "telemetry": {"certificateAuthority": {"existingSecret": "ca"}},
            "config": {"telemetry": {"endpoint": "https://collector:4318", "cafile": "/ca.crt"}},
        },
        "telemetry.certificateAuthority.existingSecret and config",
    ),
    "two authorities of the registry": (
        {
            "registry": {"certificateAuthority": {"existingSecret": "ca"}},
            "config": {"registry": {"url": "https://registry:8081", "cafile": "/ca.crt"}},
        },
        "registry.certificateAuthority.existingSecret and config",
    ),
    "an alert that is none": (
        {"prometheusRule": {"enabled": True, "disabled": ["ShoalOfFish"]}},
        "it must be one of ShoalWindowRefused",
    ),
}

MISSPELT: dict[str, dict[str, Any]] = {
    "a value": {"replicaCount": 2},
    "below a value": {"autoscaling": {"keda": {"enable": True}}},
    "a section": {"config": {"privaci": {"k": 3}}},
    "a setting": {"config": {"privacy": {"kk": 3}}},
    "a setting of one feed": {"config": {"checkins": {"privacy": {"kk": 3}}}},
    "a setting below its least": {"config": {"privacy": {"k": 1}}},
    "a text for a number": {"config": {"privacy": {"k": "many"}}},
    "a duration with a unit that is none": {"config": {"window": {"size": "15x"}}},
    "a size of nothing known": {"config": {"limits": {"message_bytes": "1MB"}}},
    "a model that is none": {"config": {"privacy": {"model": "magic"}}},
    "three sides of an area": {"config": {"location": {"area": [1, 2, 3]}}},
    "a secret in plain": {"config": {"privacy": {"secret": "0123456789abcdef"}}},
    "a password in plain": {"config": {"kafka": {"sasl_password": "x"}}},
    "a digest that is none": {"image": {"digest": "latest"}},
    "a label that is no text": {"podLabels": {"team": 1}},
    "a label of all charts that is no text": {"global": {"commonLabels": {"team": 1}}},
    "a variable that is no text": {"extraEnv": [{"name": "A", "value": 1}]},
    "a variable without a name": {"extraEnv": [{"value": "x"}]},
    "a strategy that is none": {"updateStrategy": {"type": "AllAtOnce"}},
    "a name with a capital": {"nameOverride": "Shoal"},
    "a name that begins with a digit": {"fullnameOverride": "1shoal"},
    "a broker without a port": {"config": {"kafka": {"bootstrap_servers": "kafka"}}},
    "a broker at no port": {"config": {"kafka": {"bootstrap_servers": "kafka:0"}}},
    "a broker beyond the last port": {"config": {"kafka": {"bootstrap_servers": "kafka-1:9092,kafka-2:65536"}}},
    "a broker that no resolver takes": {"config": {"kafka": {"bootstrap_servers": "kafka..example:9092"}}},
    "a password in an address": {"config": {"kafka": {"oauth_token_url": "https://u:p@login.example/t"}}},
    "a password in a registry's address": {"config": {"registry": {"url": "https://u:p@registry.example"}}},
    "a registry without a scheme": {"config": {"registry": {"url": "registry.example:8081"}}},
    "a registry's password in plain": {"config": {"registry": {"password": "x"}}},
    "a registry's token in plain": {"config": {"registry": {"token": "x"}}},
    "a receiver's headers in plain": {"config": {"telemetry": {"headers": "api-key=x"}}},
    "a receiver without a scheme": {"config": {"telemetry": {"endpoint": "collector:4318"}}},
    "an empty group": {"config": {"kafka": {"group": ""}}},
    "a blank file": {"config": {"privacy": {"demands_file": " "}}},
    "an empty text for a list": {"config": {"privacy": {"sensitive_values": ""}}},
    "an empty text in a list": {"config": {"privacy": {"sensitive_locations": ["a", ""]}}},
    "an empty text in a map": {"config": {"privacy": {"attributes": {"age": ""}}}},
    "an empty text for one kind of feed": {"config": {"checkins": {"privacy": {"default_category": ""}}}},
    "an internal topic without a name": {"config": {"topics": {"seals": ""}}},
    "a topic with a space": {"config": {"topics": {"checkins": "a b"}}},
    "a topic that is too long": {"config": {"topics": {"windows": "t" * 250}}},
    "a topic that is a dot": {"config": {"topics": {"shards": "."}}},
    "a topic of the brokers": {"config": {"topics": {"fragments": "__consumer_offsets"}}},
    "a group with a line break": {"config": {"kafka": {"group": "a\nb"}}},
    "tokens in the clear": {"config": {"kafka": {"oauth_token_url": "http://login.example/t"}}},
}

OPEN: dict[str, dict[str, Any]] = {
    "global": {"global": {"anything": {"of": ["another", "chart"]}}},
    "labels": {"podLabels": {"any.example/label": "x"}, "commonLabels": {"a": "b"}},
    "annotations": {"podAnnotations": {"any.example/annotation": "x"}},
    "probes": {"livenessProbe": {"httpGet": None, "exec": {"command": ["shoal", "health"]}}},
    "no probe": {"startupProbe": None},
    "security": {"podSecurityContext": {"supplementalGroups": [1]}, "securityContext": {"runAsUser": 1}},
    "resources": {"resources": {"limits": {"example.org/thing": 1}}},
    "credentials by variable": merged(SASL, {"extraEnv": [{"name": "SHOAL_KAFKA__SASL_PASSWORD", "value": "x"}]}),
    "variables that mean something where they are empty": {
        "extraEnv": [{"name": "SHOAL_TOPICS__FRAGMENTS", "value": ""}, {"name": "OURS", "value": ""}]
    },
    "a secret of one kind of feed from elsewhere": {
        "extraEnv": [
            {
                "name": "SHOAL_CHECKINS__PRIVACY__SECRET",
                "valueFrom": {"secretKeyRef": {"name": "other", "key": "secret"}},
            },
            {"name": "SHOAL_FRAGMENTS__PRIVACY__SECRET", "value": "0123456789abcdef"},
        ]
    },
    "topics and groups": {
        "config": {"topics": {"fragments": "", "seals": "a.B_c-" + "9" * 243}, "kafka": {"group": "shoal of the city"}}
    },
    "lists and maps without anything": {
        "config": {"privacy": {"sensitive_values": [], "sensitive_locations": [], "attributes": {}}}
    },
    "brokers": {"config": {"kafka": {"bootstrap_servers": "a.example:9092, b_1:65535,[::1]:1"}}},
    "registries": {"config": {"registry": {"url": "http://a:8081, https://b.example/apis/ccompat/v7"}}},
    "an address without a path": {"config": {"kafka": {"oauth_token_url": "https://login.example:8443"}}},
    "an override": {"config": {"checkins": {"window": {"size": "1h"}, "privacy": {"k": 9}}}},
    "values to take a default away": {"config": {"window": {"max_lead": "none"}, "privacy": {"chunk_size": None}}},
}


@pytest.mark.parametrize("case", TOGETHER)
def test_values_that_do_not_go_together(helm: Helm, case: str) -> None:
    """What no schema can say is a sentence."""
    values, says = TOGETHER[case]
    base = {} if "mtls" in str(values) or "certfile" in says or "cafile" in says else MINIMAL
    with pytest.raises(HelmError) as failure:
        render(helm, values=[merged(base, values)])
    assert says in str(failure.value)


@pytest.mark.parametrize("case", MISSPELT)
def test_values_that_the_schema_refuses(helm: Helm, case: str) -> None:
    """A name that nobody reads, or a value that no worker would start with, is refused and never ignored."""
    with pytest.raises(HelmError, match="schema"):
        render(helm, values=[merged(MINIMAL, MISSPELT[case])])


@pytest.mark.parametrize("name", ["1st", "shoal.eu"])
def test_a_release_that_objects_cannot_be_named_after(helm: Helm, name: str) -> None:
    """Helm takes names that Kubernetes does not take for a Service: a sentence says so, and another name helps."""
    with pytest.raises(HelmError, match="set fullnameOverride"):
        render(helm, values=[MINIMAL], name=name)
    render(helm, values=[merged(MINIMAL, {"fullnameOverride": "shoal"})], name=name)


@pytest.mark.parametrize("case", OPEN)
def test_values_that_the_schema_leaves_open(helm: Helm, case: str) -> None:
    """What other charts share, and what Kubernetes decides, is not for this chart to refuse."""
    render(helm, values=[merged(MINIMAL, OPEN[case])])
