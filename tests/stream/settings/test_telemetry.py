"""The section about telemetry: what is refused, in which words, and without showing headers."""

from __future__ import annotations

from typing import Any

import pytest

from stream.settings.errors import SettingsError
from stream.settings.load import load_settings
from stream.settings.service import check_telemetry

HTTPS = "https://collector.example:4318"


def checked(**given: Any) -> Any:
    """Load settings of the section and check them."""
    settings = load_settings(given={f"telemetry.{name}": value for name, value in given.items()})
    check_telemetry(settings.telemetry)
    return settings


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"endpoint": "collector:4318"}, "such as http://collector:4318"),
        ({"endpoint": "grpc://collector:4317"}, "such as http://collector:4318"),
        ({"endpoint": "http://collector:99999"}, "such as http://collector:4318"),
        ({"endpoint": "http://a,http://b"}, "such as http://collector:4318"),
        ({"endpoint": "https://me:hidden-key@collector"}, "has a user or password: leave them out, and set"),
        ({"endpoint": HTTPS, "headers": "hidden-key"}, "it must be names and values such as api-key=abc"),
        ({"endpoint": HTTPS, "headers": "a=1\nb=hidden-key"}, "it must be names and values"),
        ({"endpoint": HTTPS, "headers": {"api-key": "hidden-key"}}, "telemetry.headers is hidden"),
        ({"endpoint": HTTPS, "traces": 1.5}, "less than or equal to 1"),
        ({"endpoint": HTTPS, "producer_links": 129}, "less than or equal to 128"),
        ({"endpoint": HTTPS, "metrics_every": "0s"}, "metrics_every"),
        ({"headers": "api-key=hidden-key"}, "telemetry.headers is set and telemetry.endpoint is not"),
        ({"metrics": True}, "telemetry.metrics is set and telemetry.endpoint is not"),
        ({"traceparent": True}, "telemetry.traceparent is set and telemetry.endpoint is not"),
        ({"producer_links": 1}, "telemetry.producer_links is set and telemetry.endpoint is not"),
        ({"endpoint": "http://collector", "headers": "api-key=hidden-key"}, "secrets would be sent in the clear"),
        ({"endpoint": "http://localhost.example", "headers": "a=hidden-key"}, "secrets would be sent in the clear"),
        ({"endpoint": "http://collector", "cafile": "/ca.crt"}, "only https:// uses it"),
        ({"endpoint": HTTPS, "cafile": "/no/such/file"}, "telemetry.cafile is /no/such/file: it cannot be used"),
        ({"endpoint": HTTPS, "traces": 0, "traceparent": True}, "there are no traces; set telemetry.traces"),
        ({"endpoint": HTTPS, "traces": 0, "producer_links": 1}, "leave telemetry.producer_links out"),
    ],
)
def test_what_is_wrong_is_said(given: dict[str, Any], said: str) -> None:
    """
    A sentence with what is allowed; headers are never in it.
    """
    with pytest.raises(SettingsError) as refused:
        checked(**given)
    assert said in str(refused.value)
    assert "hidden-key" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "headers"),
    [
        ("api-key=abc", {"api-key": "abc"}),
        ("Authorization=Basic%20dTpw, x-scope=a=b ", {"authorization": "Basic dTpw", "x-scope": "a=b"}),
        ("empty=", {"empty": ""}),
    ],
)
def test_headers_are_read_as_opentelemetry_reads_them(text: str, headers: dict[str, str]) -> None:
    """
    Names in small letters, values without percent-encoding.
    """
    assert checked(endpoint=HTTPS, headers=text).telemetry.header_values == headers


@pytest.mark.parametrize("endpoint", ["http://127.0.0.1:4318", "http://[::1]:4318/", "http://localhost", HTTPS])
def test_headers_stay_on_this_machine_or_are_encrypted(endpoint: str) -> None:
    """
    And are masked where settings are printed.
    """
    settings = checked(endpoint=endpoint, headers="api-key=hidden-key")
    assert "hidden-key" not in str(settings.masked()) + repr(settings)
    assert not settings.telemetry.endpoint.endswith("/")


def test_the_section_is_checked_before_a_worker_starts() -> None:
    """
    With all others.
    """
    given = {"telemetry.metrics": "true", "privacy.secret": "0123456789abcdef"}
    with pytest.raises(SettingsError, match=r"telemetry\.endpoint is not"):
        load_settings(given=given).checked()
