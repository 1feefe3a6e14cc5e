"""Explains why no connection to the cluster is possible, if waiting does not help."""

from __future__ import annotations

import asyncio
import socket
import ssl
from dataclasses import dataclass
from typing import Any

from aiokafka.conn import create_conn
from aiokafka.errors import (
    AuthenticationFailedError,
    IllegalSaslStateError,
    KafkaConnectionError,
    KafkaError,
    SaslAuthenticationFailed,
    UnsupportedSaslMechanismError,
)
from aiokafka.protocol.metadata import MetadataRequest

from stream.kafka.oauth import TokenRefusedError
from stream.settings.kafka import KafkaSettings

__all__ = ["ConnectionFault", "connection_fault"]

_WITHIN_MS = 10_000
_PASSES = ssl.SSLEOFError
"""The error of a TLS connection that a starting broker, or a load balancer before it, closes; it may be temporary."""

_DATED = (9, 10)
"""OpenSSL's error codes for a certificate that is not yet valid, and for an expired one."""


@dataclass(frozen=True, slots=True)
class ConnectionFault:
    """Why there is no connection."""

    why: str
    may_pass: bool
    """Whether waiting may help."""


class _TokenNotTakenError(KafkaError):  # type: ignore[misc]
    """The broker does not accept our token."""


async def connection_fault(kafka: KafkaSettings, options: dict[str, Any]) -> ConnectionFault | None:
    """Connect to the bootstrap servers in turn, and explain why none accepts a connection.

    An aiokafka client writes the reason only to its log, and does not return it to its caller.

    Args:
        kafka: How to connect to the cluster.
        options: The client options for the same connection.

    Returns:
        The fault of the last server; one that may pass if any server has one. None if a broker accepts a connection.
    """
    more = {name: value for name, value in options.items() if name != "bootstrap_servers"}
    found: ConnectionFault | None = None
    for server in kafka.bootstrap_servers.split(","):
        host, _, port = server.strip().rpartition(":")
        try:
            await _knock(host.strip("[]"), int(port), more)
        except (KafkaError, OSError, TimeoutError) as fault:
            reason = _reason(fault, kafka, server.strip())
            if found is None or not found.may_pass:
                found = ConnectionFault(reason or _passing(fault), may_pass=reason is None)
        else:
            return None
    return found


def _passing(fault: BaseException) -> str:
    """Return in a few words why a connection fails that may succeed later."""
    below = fault.__cause__ if isinstance(fault, KafkaConnectionError) and fault.__cause__ is not None else fault
    match below:
        case socket.gaierror():
            return "the name is not known"
        case ConnectionRefusedError():
            return "nothing listens there"
        case TimeoutError():
            return "no answer"
        case OSError() if below.strerror:
            return below.strerror.lower()
    return f"{type(below).__name__}; something other than a Kafka listener for this protocol may be listening there"


async def _knock(host: str, port: int, options: dict[str, Any]) -> None:
    connection = await create_conn(host, port, **options, request_timeout_ms=_WITHIN_MS)
    try:
        answer = await connection.send(MetadataRequest([]))
        # The client ignores a broker's answer to a token. The only sign of a refused token is that the broker returns
        # an empty list of brokers, without itself, and closes the connection.
        if not answer.brokers and "sasl_oauth_token_provider" in options:
            raise _TokenNotTakenError
    finally:
        if (closed := connection.close()) is not None:
            await asyncio.wait([closed], timeout=1)


def _reason(fault: BaseException, kafka: KafkaSettings, where: str) -> str | None:
    """Return a message on a fault that waiting does not cure, else None."""
    below = fault.__cause__ if isinstance(fault, KafkaConnectionError) else fault
    match below:
        case TokenRefusedError():
            return str(below)
        case AuthenticationFailedError() | SaslAuthenticationFailed() | IllegalSaslStateError() | _TokenNotTakenError():
            return f"the broker at {where} does not accept our credentials: check {_credentials(kafka)}"
        case UnsupportedSaslMechanismError():
            return (
                f"the broker at {where} does not support kafka.sasl_mechanism={kafka.sasl_mechanism}: set one that it "
                "supports"
            )
        case ssl.SSLCertVerificationError():
            clock = ", or set this machine's clock right" if below.verify_code in _DATED else ""
            return (
                f"the broker at {where} is not trusted ({below.verify_message}): set kafka.ssl_cafile to the "
                f"certificate of its CA, and kafka.bootstrap_servers to the name in its certificate{clock}"
            )
        case ssl.SSLError() if not isinstance(below, _PASSES):
            said = (below.reason or type(below).__name__).replace("_", " ").lower()
            check = (
                "kafka.ssl_certfile and kafka.ssl_keyfile"
                if "certificate" in said or "unknown ca" in said
                else "kafka.security_protocol, and the port in kafka.bootstrap_servers"
            )
            return f"the broker at {where} ends the TLS connection ({said}): check {check}"
    return None


def _credentials(kafka: KafkaSettings) -> str:
    if kafka.sasl_mechanism != "OAUTHBEARER":
        return "kafka.sasl_username, kafka.sasl_password and kafka.sasl_mechanism"
    if kafka.oauth_token_file is not None:
        return "the audience and the expiry of the token in kafka.oauth_token_file"
    return "kafka.oauth_scope, and which issuers the broker accepts"
