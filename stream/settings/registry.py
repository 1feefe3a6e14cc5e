"""The section about the schema registry: where it is, and how to authenticate."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, SecretStr, WithJsonSchema

from core.models.common.values import PositiveDuration
from stream.settings.section import Section
from stream.settings.values import HOST_AND_PORT, PATH_OF_ADDRESS, are_hosts, wrong_value

__all__ = ["RegistrySettings"]

_ADDRESS = rf"\s*https?://{HOST_AND_PORT}{PATH_OF_ADDRESS}\s*"
"""Without a user or password."""

_ADDRESSES = rf"^{_ADDRESS}(,{_ADDRESS})*$"


def _addresses(value: str) -> str:
    """Refuse all but addresses, separated by commas."""
    if "@" in value:  # the sentence for other wrong values repeats them
        raise wrong_value("has a user or password: leave them out, and set registry.username and registry.password")
    hosts = [one.strip().split("/")[2] for one in value.split(",") if one.count("/") >= 2]
    if not re.fullmatch(_ADDRESSES, value, re.ASCII) or not are_hosts(",".join(hosts)):
        raise ValueError(
            "it must be addresses such as https://registry:8081 or https://registry/apis/ccompat/v7, separated by "
            "commas, without a user or password"
        )
    return value


Addresses = Annotated[str, AfterValidator(_addresses), WithJsonSchema({"type": "string", "pattern": _ADDRESSES})]


class RegistrySettings(Section):
    """Schema registry with Confluent's REST interface (Confluent, Karapace, Redpanda, Apicurio's ``/apis/ccompat``)."""

    secrets_in_files = frozenset({"password"})

    url: Addresses | None = None
    """Address of the registry; several of one registry are separated by commas. With it, messages that begin with the
    id of a schema are read with that schema."""

    username: str | None = None
    """User name, for basic authentication; at Confluent Cloud the key."""

    password: SecretStr | None = None
    """Password, for basic authentication; at Confluent Cloud the secret."""

    password_file: Path | None = None
    """A file with the password, instead of ``password``; a changed one is used for new requests."""

    token: SecretStr | None = None
    """A bearer token, instead of user name and password."""

    token_file: Path | None = None
    """A file with a bearer token; read again for every request."""

    cafile: Path | None = None
    """PEM file of the certificates to trust; by default the system's."""

    certfile: Path | None = None
    """Client certificate, for registries that authenticate clients by TLS (mTLS); a PEM file, its chain below it."""

    keyfile: Path | None = None
    """Private key of the client certificate, a PEM file without a password."""

    timeout: PositiveDuration = 10_000
    """How long to wait for an answer before the next address is asked."""

    @property
    def addresses(self) -> tuple[str, ...]:
        """The addresses, without a slash at their end."""
        return () if self.url is None else tuple(one.strip().rstrip("/") for one in self.url.split(","))
