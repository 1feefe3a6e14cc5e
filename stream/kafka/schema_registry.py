"""A client of schema registries with Confluent's REST interface: fetches schemas by their ids, and registers some."""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, urlsplit

import msgspec
from aiohttp import ClientError, ClientSession, ClientSSLError, ClientTimeout
from aiokafka.errors import KafkaError

from stream.formats.input.encodings.registered import RegisteredSchema, SchemaKind
from stream.kafka.https import is_token, proxy_for, tls_reason
from stream.settings.registry import RegistrySettings
from stream.settings.registry_access import registry_context

__all__ = ["RegistryError", "SchemaRefusedError", "SchemaRegistry"]

_MEDIA_TYPE = "application/vnd.schemaregistry.v1+json"
_UNKNOWN = {40401, 40402, 40403}
"""Error codes: no such subject, no such version, no such schema."""

_UNKNOWN_FOR_S = 30.0
"""How long an id is taken for unknown without asking again: a flood of such messages must not flood the registry."""

_MOST_REFERENCES = 200
_LARGEST_BYTES = 8 * 1024**2


class RegistryError(KafkaError):  # type: ignore[misc]
    """The registry gives no answer that can be used; a caller tries again. The message says what to check."""

    def __str__(self) -> str:
        return str(self.args[0])  # only the message; the client's own errors begin with their name


class SchemaRefusedError(Exception):
    """The registry does not accept a schema, and a retry would not help; the message says why."""


class _Reference(msgspec.Struct):
    name: str
    subject: str
    version: int


class _Schema(msgspec.Struct):
    """The answer to a question for a schema; without a type it is Avro."""

    schema: str
    schemaType: str | None = None  # noqa: N815 - the interface's name
    references: list[_Reference] | None = None


class _Registered(msgspec.Struct):
    id: int


class _Fault(msgspec.Struct):
    error_code: int = 0


class SchemaRegistry:
    """Fetches schemas by their ids. An id always stands for the same schema, so that each is fetched once.

    Args:
        registry: Where the registry is; ``url`` is set.
        passed_s: A monotonic clock, seconds.

    Raises:
        SettingsError: A file with certificates cannot be used.
    """

    def __init__(self, registry: RegistrySettings, *, passed_s: Callable[[], float] = time.monotonic) -> None:
        self._settings, self._passed_s = registry, passed_s
        self._context = registry_context(registry)
        self._schemas: dict[int, RegisteredSchema] = {}
        self._unknown_until_s: dict[int, float] = {}

    def rotate(self, registry: RegistrySettings) -> None:
        """Use other credentials, and wait for answers as long as they say, from the next request on."""
        self._settings = registry

    def __repr__(self) -> str:
        return f"SchemaRegistry(addresses={self._settings.addresses!r})"

    async def schema(self, schema_id: int) -> RegisteredSchema | None:
        """Return the schema of an id, or None if the registry has none.

        Raises:
            RegistryError: The registry does not answer, or does not let us read.
        """
        if (known := self._schemas.get(schema_id)) is not None:
            return known
        if not self.may_be_known(schema_id):
            return None
        answer = await self._get(f"/schemas/ids/{schema_id}", _Schema)
        if answer is None:
            self._unknown_until_s[schema_id] = self._passed_s() + _UNKNOWN_FOR_S
            return None
        self._unknown_until_s.pop(schema_id, None)
        self._schemas[schema_id] = found = RegisteredSchema(_kind(answer), answer.schema, await self._below(answer))
        return found

    def may_be_known(self, schema_id: int) -> bool:
        """Whether an id is not one of those that the registry has just said not to know."""
        return self._passed_s() >= self._unknown_until_s.get(schema_id, 0.0)

    async def register(self, subject: str, text: str, *, kind: SchemaKind = "AVRO") -> int:
        """Register a schema under a subject, unless it is there already, and return its id.

        Raises:
            SchemaRefusedError: The registry does not accept it.
            RegistryError: The registry does not answer, or does not let us write.
        """
        body: dict[str, str] = {"schema": text}
        if kind != "AVRO":  # the oldest registries know no other kind, and no such field
            body["schemaType"] = kind
        path = f"/subjects/{quote(subject, safe='')}/versions"
        status, answer, host = await self._ask("POST", path, msgspec.json.encode(body))
        if status in (409, 422):
            why = "it is not compatible with an earlier version" if status == 409 else "it is not valid there"
            raise SchemaRefusedError(f"the schema registry {host} refuses the schema of subject {subject}: {why}")
        if status != 200:
            raise RegistryError(_not_usable(host, status))
        return int(_decoded(answer, _Registered, host).id)

    async def _below(self, schema: _Schema) -> tuple[tuple[str, str], ...]:
        """Fetch the schemas that a schema refers to, each after those that it refers to itself."""
        found: dict[str, str] = {}
        n_asked = 0

        async def fetch(references: list[_Reference], names: frozenset[str]) -> None:
            nonlocal n_asked
            for one in references:
                if one.name in found or one.name in names:
                    continue
                n_asked += 1
                if n_asked > _MOST_REFERENCES:
                    raise RegistryError(f"a schema of the registry refers to more than {_MOST_REFERENCES} others")
                answer = await self._get(f"/subjects/{quote(one.subject, safe='')}/versions/{one.version}", _Schema)
                if answer is None:
                    continue  # what misses it cannot be compiled
                await fetch(answer.references or [], names | {one.name})
                found[one.name] = answer.schema

        await fetch(schema.references or [], frozenset())
        return tuple(found.items())

    async def _get(self, path: str, form: type[Any]) -> Any:
        """Return an answer, or None if the registry does not know what is asked for."""
        status, answer, host = await self._ask("GET", path)
        if status == 404 and _error_code(answer) in _UNKNOWN:
            return None
        if status != 200:
            raise RegistryError(_not_usable(host, status))
        return _decoded(answer, form, host)

    async def _ask(self, method: str, path: str, body: bytes | None = None) -> tuple[int, bytes, str]:
        """Ask each address in turn for an answer that is not temporary, and does not say that it knows nothing."""
        fault: RegistryError | None = None
        unknown: tuple[int, bytes, str] | None = None
        for address in self._settings.addresses:
            host = urlsplit(address).netloc
            try:
                status, answer = await self._ask_one(method, address, path, body)
            except RegistryError as error:
                fault = error
                continue
            if status >= 500 or status in (401, 403, 408, 429):
                fault = RegistryError(_not_usable(host, status))
            elif status == 404:
                if unknown is None or _error_code(answer) in _UNKNOWN:
                    unknown = status, answer, host
            else:
                return status, answer, host
        if unknown is not None:
            return unknown
        assert fault is not None  # noqa: S101 - there is an address, and none of them answered
        raise fault

    async def _ask_one(self, method: str, address: str, path: str, body: bytes | None) -> tuple[int, bytes]:
        host = urlsplit(address).netloc
        headers = {"Accept": f"{_MEDIA_TYPE}, application/json"}
        if body is not None:
            headers["Content-Type"] = _MEDIA_TYPE
        if (credentials := self._basic() or await self._bearer()) is not None:
            headers["Authorization"] = credentials
        timeout = ClientTimeout(total=self._settings.timeout / 1000)
        try:
            async with (
                ClientSession(timeout=timeout) as session,
                session.request(
                    method,
                    f"{address}{path}",
                    data=body,
                    headers=headers,
                    proxy=proxy_for(address),
                    ssl=self._context,
                    # A redirect would send the credentials to another server.
                    allow_redirects=False,
                ) as answer,
            ):
                found = await answer.content.read(_LARGEST_BYTES + 1)
                while len(found) <= _LARGEST_BYTES and (more := await answer.content.read(_LARGEST_BYTES)):
                    found += more
                if len(found) > _LARGEST_BYTES:
                    raise RegistryError(f"the answer of the schema registry {host} is larger than any schema")
                return answer.status, found
        except ClientSSLError as fault:
            raise RegistryError(
                f"the schema registry {host} is not trusted, or does not trust us ({tls_reason(fault)}): check "
                "registry.cafile, registry.certfile, and the name in its certificate"
            ) from None
        except (ClientError, OSError, TimeoutError, ValueError) as fault:  # ValueError: the proxy's address is invalid
            raise RegistryError(
                f"the schema registry {host} does not answer ({type(fault).__name__}): check that it runs, and "
                "registry.url"
            ) from None

    def _basic(self) -> str | None:
        settings = self._settings
        if settings.username is None or settings.password is None:
            return None
        names = f"{settings.username}:{settings.password.get_secret_value()}"
        return f"Basic {base64.b64encode(names.encode()).decode()}"

    async def _bearer(self) -> str | None:
        settings = self._settings
        if settings.token is not None:
            return f"Bearer {settings.token.get_secret_value()}"
        if settings.token_file is None:
            return None
        try:
            token = (await asyncio.to_thread(settings.token_file.read_text, encoding="ascii")).strip()
        except (OSError, UnicodeDecodeError) as fault:
            raise RegistryError(
                f"registry.token_file cannot be read ({type(fault).__name__}): it must be a file with a token"
            ) from None
        if not is_token(token):
            raise RegistryError("registry.token_file holds no token: it must be one word, such as a JWT")
        return f"Bearer {token}"


def _kind(schema: _Schema) -> SchemaKind:
    kinds: dict[str | None, SchemaKind] = {"JSON": "JSON", "PROTOBUF": "PROTOBUF"}
    return kinds.get(schema.schemaType, "AVRO")


def _decoded(answer: bytes, form: type[Any], host: str) -> Any:
    try:
        return msgspec.json.decode(answer, type=form)
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass
    raise RegistryError(
        f"the answer of {host} is not that of a schema registry: check the path in registry.url, such as "
        "/apis/ccompat/v7 for Apicurio"
    )


def _error_code(answer: bytes) -> int:
    try:
        return msgspec.json.decode(answer, type=_Fault).error_code
    except (msgspec.DecodeError, UnicodeDecodeError):
        return 0


def _not_usable(host: str, status: int) -> str:
    if status in (401, 403):
        return (
            f"the schema registry {host} refuses access (it answers {status}): check registry.username and "
            "registry.password, or the token, and its rights"
        )
    if status == 404 or 300 <= status < 400:
        return (
            f"{host} has no schema registry at the path of registry.url (it answers {status}): check the path, such as "
            "/apis/ccompat/v7 for Apicurio"
        )
    return f"the schema registry {host} gives no answer now (it answers {status})"
