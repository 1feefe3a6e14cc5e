"""A real Kafka that admits only known principals, and allows each only what its rights allow."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.protocol.admin import CreateAclsRequest

from stream.demo.broker import free_port
from stream.kafka.acls import Acl
from tests.cluster.brokers import ApacheKafka
from tests.cluster.certificates import Authority
from tests.cluster.identity_provider import IdentityProvider, unsecured_token

__all__ = ["CLIENT_SECRET", "PASSWORD", "PRINCIPALS", "SecuredKafka", "secured_kafka"]

PASSWORD = "a word of the tests"  # noqa: S105 - of no worth anywhere
CLIENT_SECRET = "another word of the tests"  # noqa: S105 - the same

# Numbers of the protocol.
OPERATIONS = {"Read": 3, "Write": 4, "Create": 5, "Describe": 8, "DescribeConfigs": 10}
RESOURCES = {"topic": 2, "group": 3}
PATTERN_TYPES = {"literal": 3, "prefixed": 4}


@dataclass(frozen=True)
class SecuredKafka:
    """A Kafka with a guard, and what opens its doors."""

    kafka: ApacheKafka
    """Reached by nobody in particular it obeys: who prepares a test is its super user."""

    provider: IdentityProvider
    folder: Path
    trusted: Authority
    stranger: Authority
    ports: dict[str, int]

    def settings(self, way: str, **more: Any) -> dict[str, Any]:
        """Return how a worker gets in by one way, and who it is then."""
        port = self.ports["SSL" if way == "mtls" else "SASL_SSL"]
        given = {"kafka.bootstrap_servers": f"127.0.0.1:{port}", "kafka.ssl_cafile": self.trusted.certificate}
        if way == "mtls":
            certificate, key = self.trusted.issue("by-certificate")
            given |= {"kafka.security_protocol": "SSL", "kafka.ssl_certfile": certificate, "kafka.ssl_keyfile": key}
            return given | more
        given["kafka.security_protocol"] = "SASL_SSL"
        if way in ("PLAIN", "SCRAM-SHA-512"):
            given |= {"kafka.sasl_mechanism": way, "kafka.sasl_username": f"by-{way.lower()}"}
            return given | {"kafka.sasl_password": PASSWORD} | more
        given["kafka.sasl_mechanism"] = "OAUTHBEARER"
        if way == "token-url":
            given |= {"kafka.oauth_token_url": self.provider.url, "kafka.oauth_client_id": "by-token-url"}
            return (
                given
                | {
                    "kafka.oauth_client_secret": CLIENT_SECRET,
                    "kafka.oauth_cafile": self.trusted.certificate,
                }
                | more
            )
        return given | {"kafka.oauth_token_file": self.token_file("by-token-file")} | more

    def token_file(self, subject: str, *, lives_s: float = 3600.0) -> Path:
        """Write a token to a file."""
        file = self.folder / f"{subject}.jwt"
        file.write_text(unsecured_token(subject, lives_s=lives_s))
        return file

    def allow(self, found: Iterable[Acl]) -> None:
        """Add ACLs."""
        asyncio.run(_allow(self.kafka.bootstrap_servers, found))


async def _allow(servers: str, found: Iterable[Acl]) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=servers)
    await admin.start()
    try:
        for acl in found:
            pattern = PATTERN_TYPES[acl.pattern_type]
            what = (RESOURCES[acl.resource], acl.name, pattern, acl.principal, "*", OPERATIONS[acl.operation], 3)
            answer = await admin._send_request(CreateAclsRequest(*what))
            assert [one[0] for one in answer.creation_responses] == [0]
    finally:
        await admin.close()


PRINCIPALS = {
    "mtls": "User:CN=by-certificate",
    "PLAIN": "User:by-plain",
    "SCRAM-SHA-512": "User:by-scram-sha-512",
    "token-url": "User:by-token-url",
    "token-file": "User:by-token-file",
}
"""Who a worker is, by the way in which it gets in."""


@contextlib.contextmanager
def secured_kafka(folder: Path) -> Iterator[SecuredKafka]:
    """Run a Kafka that wants a certificate at one door, a password or a token at another, and allows nothing unasked.

    Args:
        folder: Where certificates and tokens are written.

    Raises:
        KafkaUnavailableError: No Java 17, or no jars and no way to fetch them.
    """
    trusted, stranger = Authority(folder, "trusted"), Authority(folder, "stranger")
    certificate, key = trusted.issue("broker")
    both = folder / "keystore.pem"
    both.write_text(key.read_text() + certificate.read_text())
    ports = {"SSL": free_port(), "SASL_SSL": free_port()}
    doors = ",".join(f"{name}://{{host}}:{port}" for name, port in ports.items())
    modules = "org.apache.kafka.common.security"
    jaas = "listener.name.sasl_ssl.{}.sasl.jaas.config"
    properties = {
        "listeners": f"PLAINTEXT://{{host}}:{{port}},{doors},CONTROLLER://{{host}}:{{controller_port}}",
        "advertised.listeners": f"PLAINTEXT://{{host}}:{{port}},{doors}",
        "inter.broker.listener.name": "PLAINTEXT",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_SSL:SASL_SSL",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(both),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(trusted.certificate),
        "listener.name.ssl.ssl.client.auth": "required",
        "listener.name.sasl_ssl.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512,OAUTHBEARER",
        jaas.format("plain"): f'{modules}.plain.PlainLoginModule required user_by-plain="{PASSWORD}";',
        jaas.format("scram-sha-512"): f"{modules}.scram.ScramLoginModule required;",
        jaas.format("oauthbearer"): f"{modules}.oauthbearer.OAuthBearerLoginModule required;",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "allow.everyone.if.no.acl.found": "false",
        "super.users": "User:ANONYMOUS",
    }
    provider = IdentityProvider({"by-token-url": CLIENT_SECRET}, certificate=trusted.issue("provider"))
    scram = {"by-scram-sha-512": PASSWORD}
    with ApacheKafka(properties=properties, scram_users=scram) as kafka, provider:
        yield SecuredKafka(kafka, provider, folder, trusted, stranger, ports)
