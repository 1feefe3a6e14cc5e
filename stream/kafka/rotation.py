"""Credentials that change while a worker runs: all clients use the new ones for their next connection.

aiokafka has no interface for this. Its clients keep user name and password in attributes that they read for every
connection, and a TLS context can load another certificate. Established connections are not closed.
"""

from __future__ import annotations

import threading
from weakref import WeakSet

from aiokafka.client import AIOKafkaClient

from stream.kafka.oauth import ClientCredentials, token_provider
from stream.settings.credentials import load_trust, sasl_password, tls_context, use_certificate
from stream.settings.kafka import KafkaSettings

__all__ = ["follow_rotation", "in_force", "rotate"]

_clients: WeakSet[AIOKafkaClient] = WeakSet()
_in_force: dict[KafkaSettings, KafkaSettings] = {}
"""Settings with which a worker has started, and those with its newest credentials."""
_lock = threading.Lock()  # Faust's consumer connects in a thread of its own


def follow_rotation(client: AIOKafkaClient) -> None:
    """Let a client use credentials that change later."""
    with _lock:
        _clients.add(client)


def in_force(kafka: KafkaSettings) -> KafkaSettings:
    """Return the settings with which new clients connect.

    Args:
        kafka: The settings with which the worker has started.
    """
    with _lock:
        return _in_force.get(kafka, kafka)


def rotate(started: KafkaSettings, now: KafkaSettings) -> None:
    """Let all clients use new credentials, and read the files of certificates again.

    Args:
        started: The settings with which the worker has started.
        now: The same with new credentials.

    Raises:
        SettingsError: A certificate cannot be used; nothing has changed then.
    """
    tls_context(now)  # to refuse a wrong file before any client uses it
    with _lock:
        _in_force[started] = now
        clients = list(_clients)
    for client in clients:
        if client._sasl_plain_password is not None:
            client._sasl_plain_username = now.sasl_username
            client._sasl_plain_password = sasl_password(now)
        if client._ssl_context is not None:
            load_trust(client._ssl_context, now)
            use_certificate(client._ssl_context, now)
    if started.security_protocol.startswith("SASL") and started.sasl_mechanism == "OAUTHBEARER":
        provider = token_provider(started)
        if isinstance(provider, ClientCredentials):
            provider.rotate(now)
