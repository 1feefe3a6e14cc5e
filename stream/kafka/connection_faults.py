"""Why no connection to the cluster comes about, where waiting does not cure it."""

from __future__ import annotations

import asyncio
import ssl
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

__all__ = ["connection_fault"]

_WITHIN_MS = 10_000
_PASSES = ssl.SSLEOFError
"""What a broker that is just starting, or something before it, does to a TLS connection."""

_DATED = (9, 10)
"""OpenSSL's numbers of a certificate that is not yet valid, and of one that has expired."""


class _TokenNotTakenError(KafkaError):  # type: ignore[misc]
    """The broker does not take our token."""


async def connection_fault(kafka: KafkaSettings, options: dict[str, Any]) -> str | None:
    """Connect to the bootstrap servers in turn, and say why none lets us in.

    A client writes to its log why it cannot connect; its caller learns only that it cannot.

    Args:
        kafka: How to connect to the cluster.
        options: The same as options of a client.

    Returns:
        A sentence; None where one lets us in, or may do so later.
    """
    more = {name: value for name, value in options.items() if name != "bootstrap_servers"}
    reason: str | None = None
    for server in kafka.bootstrap_servers.split(","):
        host, _, port = server.strip().rpartition(":")
        try:
            await _knock(host.strip("[]"), int(port), more)
        except (KafkaError, OSError, TimeoutError) as fault:
            reason = _reason(fault, kafka, server.strip())
        else:
            return None
        if reason is None:
            return None
    return reason


async def _knock(host: str, port: int, options: dict[str, Any]) -> None:
    connection = await create_conn(host, port, **options, request_timeout_ms=_WITHIN_MS)
    try:
        answer = await connection.send(MetadataRequest([]))
        # The client does not look at what a broker says to a token. All that is left of it is that a broker that does
        # not take it names no brokers, not even itself, and hangs up.
        if not answer.brokers and "sasl_oauth_token_provider" in options:
            raise _TokenNotTakenError
    finally:
        if (closed := connection.close()) is not None:
            await asyncio.wait([closed], timeout=1)


def _reason(fault: BaseException, kafka: KafkaSettings, where: str) -> str | None:
    """Return a sentence on what waiting does not cure."""
    below = fault.__cause__ if isinstance(fault, KafkaConnectionError) else fault
    match below:
        case TokenRefusedError():
            return str(below)
        case AuthenticationFailedError() | SaslAuthenticationFailed() | IllegalSaslStateError() | _TokenNotTakenError():
            return f"the broker at {where} does not take our credentials: check {_credentials(kafka)}"
        case UnsupportedSaslMechanismError():
            return (
                f"the broker at {where} does not know kafka.sasl_mechanism={kafka.sasl_mechanism}: name one of its own"
            )
        case ssl.SSLCertVerificationError():
            clock = ", or this machine's clock, if that is wrong" if below.verify_code in _DATED else ""
            return (
                f"the broker at {where} is not trusted ({below.verify_message}): set kafka.ssl_cafile to the "
                f"certificate that vouches for it, and kafka.bootstrap_servers to the name in its certificate{clock}"
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
        return "for whom the token in kafka.oauth_token_file is, and until when"
    return "kafka.oauth_scope, and whose tokens the broker takes"
