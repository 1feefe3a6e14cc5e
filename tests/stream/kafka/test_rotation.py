"""Credentials that change while a worker runs reach every client, those that exist and those made later."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import SecretStr

from stream.kafka.client import client_options, new_producer
from stream.kafka.oauth import ClientCredentials, token_provider
from stream.kafka.reading import new_reader
from stream.kafka.rotation import in_force, rotate
from stream.settings.errors import SettingsError
from stream.settings.kafka import KafkaSettings
from stream.settings.model import Settings

OLD, NEW = "the old one", "the new one"


def kafka(**given: Any) -> KafkaSettings:
    return KafkaSettings.model_validate({"security_protocol": "SASL_PLAINTEXT", "sasl_username": "shoal"} | given)


def connects_with(client: Any) -> tuple[str, str]:
    """What aiokafka sends at the next connection."""
    return client._sasl_plain_username, client._sasl_plain_password


async def test_clients_use_the_new_password_for_their_next_connection() -> None:
    """
    A producer and a reader that exist, and a reader made afterwards from the settings of the start.
    """
    started = kafka(sasl_password=OLD, group="rotated")
    producer, reader = new_producer(Settings(kafka=started)), new_reader(started)
    assert connects_with(producer.client) == ("shoal", OLD)
    now = started.model_copy(update={"sasl_password": SecretStr(NEW), "sasl_username": "shoal-2"})
    rotate(started, now)
    later = new_reader(started)
    for client in (producer.client, reader._client, later._client):
        assert connects_with(client) == ("shoal-2", NEW)
    assert client_options(started)["sasl_plain_password"] == NEW
    assert in_force(started) is now


async def test_another_installation_keeps_its_own() -> None:
    """
    Settings that were not rotated stay as they are.
    """
    other = kafka(sasl_password=OLD, group="other")
    assert client_options(other)["sasl_plain_password"] == OLD


async def test_a_certificate_that_cannot_be_used_changes_nothing(tmp_path: Any) -> None:
    """
    The error comes before any client is changed.
    """
    started = kafka(sasl_password=OLD, group="certificates", security_protocol="SASL_SSL")
    reader = new_reader(started)
    now = started.model_copy(update={"sasl_password": SecretStr("new"), "ssl_cafile": tmp_path / "nowhere.pem"})
    with pytest.raises(SettingsError, match=r"kafka\.ssl_cafile"):
        rotate(started, now)
    assert connects_with(reader._client) == ("shoal", OLD)
    assert in_force(started) is started


async def test_a_new_client_secret_is_used_for_the_next_token() -> None:
    """
    The token of the old secret is dropped.
    """
    given = {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "OAUTHBEARER",
        "oauth_token_url": "https://id.example/token",
        "oauth_client_id": "shoal",
        "group": "tokens",
    }
    started = KafkaSettings.model_validate(given | {"oauth_client_secret": "old"})
    provider = token_provider(started)
    assert isinstance(provider, ClientCredentials)
    provider._kept = ("a token", float("inf"))
    before = provider._basic_credentials()
    rotate(started, started.model_copy(update={"oauth_client_secret": SecretStr("new")}))
    assert token_provider(started) is provider
    assert provider._basic_credentials() != before
    assert provider._kept is None
