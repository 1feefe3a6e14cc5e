"""Tokens for OAUTHBEARER: asked for once, kept until shortly before they end, refused in a sentence without secrets."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import socket
import socketserver
import threading
import time
from pathlib import Path
from typing import Any, Self

import pytest
from aiokafka.abc import AbstractTokenProvider
from aiokafka.errors import KafkaError

from stream.demo.broker import free_port
from stream.kafka.client import client_options
from stream.kafka.oauth import ClientCredentials, TokenError, TokenFile, TokenRefusedError, forget_token, token_provider
from stream.settings.kafka import KafkaSettings
from stream.worker.faust_app import faust_options
from tests.cluster.certificates import Authority
from tests.cluster.identity_provider import IdentityProvider, unsecured_token

CLIENT, SECRET = "shoal of: tests", "s3cret/with:signs &more"


def settings_of(provider: IdentityProvider | str, **more: Any) -> KafkaSettings:
    url = provider if isinstance(provider, str) else provider.url
    given = {"oauth_token_url": url, "oauth_client_id": CLIENT, "oauth_client_secret": SECRET} | more
    return KafkaSettings.model_validate(
        {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "OAUTHBEARER"} | given
    )


def subject_of(token: str) -> str:
    claims = token.split(".")[1]
    return str(json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))["sub"])


async def refusal(provider: AbstractTokenProvider) -> TokenError:
    """The error of a provider that has no token; it tells no secret, and a Kafka client takes it for one of its own."""
    with pytest.raises(TokenError) as refused:
        await provider.token()
    assert isinstance(refused.value, KafkaError)
    assert SECRET not in f"{refused.value} {refused.value!r} {refused.value.__cause__!r}"
    fault: TokenError = refused.value
    return fault


# From an identity provider


async def test_a_token_is_asked_for_as_the_standard_says() -> None:
    """
    A form with the grant and the scope, the client and its secret beside it, signs of their own encoded.
    """
    with IdentityProvider({CLIENT: SECRET}) as provider:
        token = await ClientCredentials(settings_of(provider, oauth_scope="kafka.read kafka.write")).token()
        await ClientCredentials(settings_of(provider)).token()
    assert subject_of(token) == CLIENT
    scoped, plain = provider.asked
    assert scoped == {"grant_type": "client_credentials", "scope": "kafka.read kafka.write", "client": CLIENT}
    assert plain == {"grant_type": "client_credentials", "client": CLIENT}


async def test_a_token_is_shared_until_shortly_before_it_ends() -> None:
    """
    Who asks at the same time waits for one request; later it is the same, until a fifth of its life is left.
    """
    with IdentityProvider({CLIENT: SECRET}) as provider:
        provider.delay_s, provider.lives_s = 0.1, 2.0
        tokens = ClientCredentials(settings_of(provider))
        first = await asyncio.gather(*(tokens.token() for _ in range(20)))
        assert len(set(first)) == len(provider.asked) == 1
        assert await tokens.token() == first[0]
        await asyncio.sleep(1.7)
        assert await tokens.token() != first[0]
        assert len(provider.asked) == 2


async def test_without_a_known_end_a_token_is_for_one_connection() -> None:
    """
    Nobody knows whether it is still good for the next one.
    """
    with IdentityProvider({CLIENT: SECRET}) as provider:
        provider.answer = 200, json.dumps({"access_token": "abc", "token_type": "bearer"}).encode()
        tokens = ClientCredentials(settings_of(provider))
        assert [await tokens.token(), await tokens.token()] == ["abc", "abc"]
        assert len(provider.asked) == 2


def test_event_loops_share_a_token() -> None:
    """
    Faust's consumer runs in a thread with a loop of its own, beside ours.
    """
    with IdentityProvider({CLIENT: SECRET}) as provider:
        tokens, found = ClientCredentials(settings_of(provider)), []
        for _ in range(3):
            thread = threading.Thread(target=lambda: found.append(asyncio.run(tokens.token())))
            thread.start()
            thread.join()
        assert len(set(found)) == 1
        assert len(provider.asked) == 1


async def test_a_refused_client_is_told_what_to_check() -> None:
    """
    The sentence has the provider's host and its reason where the standard knows it, never what the provider repeats.
    """
    with IdentityProvider({CLIENT: "another"}) as provider:
        tokens = ClientCredentials(settings_of(provider))
        refused = await refusal(tokens)
        assert isinstance(refused, TokenRefusedError)
        assert str(refused).startswith(
            f"the identity provider {provider.host} refuses a token (it answers 401, invalid_"
        )
        assert "kafka.oauth_client_secret" in str(refused)
        assert str(await refusal(tokens)) == str(refused)
        assert len(provider.asked) == 1, "a failure is not repeated at once"


@pytest.mark.parametrize(
    ("answer", "is_for_good", "says"),
    [
        ((503, b"later"), False, "returns no token now (it answers 503)"),
        ((429, b""), False, "returns no token now (it answers 429)"),
        ((302, b""), True, "refuses a token (it answers 302)"),
        ((400, b'{"error": "s3cret/with:signs &more"}'), True, "refuses a token (it answers 400)"),
        ((200, b"<html>s3cret/with:signs &more</html>"), True, "is not a bearer token"),
        ((200, b'{"access_token": "abc", "token_type": "mac"}'), True, "is not a bearer token"),
        ((200, b'{"access_token": "a\\u0001b"}'), True, "is not a bearer token"),
        ((200, b'{"access_token": ""}'), True, "is not a bearer token"),
    ],
)
async def test_what_is_no_token(answer: tuple[int, bytes], is_for_good: bool, says: str) -> None:
    """
    An overloaded provider is asked again; one that answers something else needs somebody to look at the settings.
    """
    with IdentityProvider({CLIENT: SECRET}) as provider:
        provider.answer = answer
        refused = await refusal(ClientCredentials(settings_of(provider)))
    assert isinstance(refused, TokenRefusedError) is is_for_good
    assert says in str(refused)


async def test_some_write_the_life_of_a_token_in_quotes() -> None:
    """
    ``"expires_in": "3600"`` is a number all the same.
    """
    with IdentityProvider({CLIENT: SECRET}) as provider:
        provider.answer = 200, b'{"access_token": "abc", "expires_in": "3600", "more": [1]}'
        tokens = ClientCredentials(settings_of(provider))
        assert [await tokens.token(), await tokens.token()] == ["abc", "abc"]
        assert len(provider.asked) == 1


async def test_a_provider_that_is_away_is_asked_again() -> None:
    """
    It is not refused for good: a second later somebody may answer.
    """
    address = f"127.0.0.1:{free_port()}"
    refused = await refusal(ClientCredentials(settings_of(f"http://{address}/token")))
    assert not isinstance(refused, TokenRefusedError)
    assert f"the identity provider {address} does not answer" in str(refused)


async def test_a_failure_is_repeated_for_a_second_and_then_asked_anew() -> None:
    """
    When the provider is there again, so are tokens.
    """
    with IdentityProvider({CLIENT: SECRET}) as provider:
        provider.answer = 500, b""
        tokens = ClientCredentials(settings_of(provider))
        await refusal(tokens)
        provider.answer = None
        await refusal(tokens)
        begun_s = time.monotonic()
        await asyncio.sleep(1.05)
        assert subject_of(await tokens.token()) == CLIENT
        assert time.monotonic() - begun_s >= 1


def test_nothing_of_a_provider_shows_a_secret() -> None:
    """
    Its repr names the host.
    """
    tokens = ClientCredentials(settings_of("https://login.example:8443/t?tenant=x"))
    assert repr(tokens) == "ClientCredentials(host='login.example:8443')"


# Forgotten


async def test_a_token_that_brokers_may_not_take_is_asked_for_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    After trouble with the cluster the next connection has a new one, of all clients; a new one is kept all the same.
    """
    now_s = 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: now_s)
    with IdentityProvider({CLIENT: SECRET}) as provider:
        kafka = settings_of(provider)
        tokens = client_options(kafka)["sasl_oauth_token_provider"]
        first = await tokens.token()
        forget_token(kafka)
        assert await tokens.token() == first
        now_s += 10
        forget_token(kafka)
        assert await tokens.token() != first
        assert len(provider.asked) == 2
        forget_token(kafka)
        await tokens.token()
        assert len(provider.asked) == 2, "a provider is not asked again and again while a cluster is away"


def test_there_may_be_nothing_to_forget(tmp_path: Path) -> None:
    """
    Other ways to show who we are keep no token.
    """
    forget_token(KafkaSettings())
    (file := tmp_path / "token").write_text("abc")
    by_file = {"security_protocol": "SASL_SSL", "sasl_mechanism": "OAUTHBEARER", "oauth_token_file": file}
    forget_token(KafkaSettings.model_validate(by_file))


# Through a proxy


class Proxy:
    """A proxy on the loopback interface that opens a way to wherever a client wants to go, for one ``with`` block."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        proxy = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                first = self.rfile.readline().decode().strip()
                proxy.asked.append(first)
                while self.rfile.readline().strip():
                    pass
                host, port = first.split()[1].rsplit(":", 1)
                with socket.create_connection((host, int(port))) as there:
                    self.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
                    back = threading.Thread(target=_carry, args=(there, self.connection), daemon=True)
                    back.start()
                    _carry(self.connection, there)
                    back.join(5)

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def _carry(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while some := source.recv(65536):
            target.sendall(some)
        target.shutdown(socket.SHUT_WR)


async def test_tokens_come_through_a_proxy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    That of ``HTTPS_PROXY``, which carries what it cannot read; not where ``NO_PROXY`` names the provider, and never
    what is not encrypted. No file of passwords beside it takes the place of the client's own.
    """
    (netrc := tmp_path / "netrc").write_text("machine 127.0.0.1 login somebody password else")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    for name in ("no_proxy", "NO_PROXY", "https_proxy", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
    authority = Authority(tmp_path, "proxied")
    certificate = authority.issue("login")
    with Proxy() as proxy, IdentityProvider({CLIENT: SECRET}, certificate=certificate) as provider:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        kafka = settings_of(provider, oauth_cafile=authority.certificate)
        assert subject_of(await ClientCredentials(kafka).token()) == CLIENT
        assert proxy.asked == [f"CONNECT {provider.host} HTTP/1.1"]
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        await ClientCredentials(kafka).token()
        assert len(proxy.asked) == 1
        monkeypatch.delenv("NO_PROXY")
        with IdentityProvider({CLIENT: SECRET}) as plain:
            await ClientCredentials(settings_of(plain)).token()
        assert len(proxy.asked) == 1


@pytest.mark.parametrize("proxy", ["", "socks5://127.0.0.1:1", "http://127.0.0.1:1", "127.0.0.1:1", "http://", "1:1:1"])
async def test_a_proxy_that_is_none(proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    It is a provider that does not answer, and may do so later.
    """
    monkeypatch.setenv("HTTPS_PROXY", proxy)
    refused = await refusal(ClientCredentials(settings_of(f"https://127.0.0.1:{free_port()}/token")))
    assert not isinstance(refused, TokenRefusedError)


# From a file


async def test_a_token_file_is_read_for_every_connection(tmp_path: Path) -> None:
    """
    Whoever keeps it fresh replaces it while we run; space around the token is not part of it.
    """
    file = tmp_path / "token"
    tokens = TokenFile(file)
    for subject in ("first", "second"):
        file.write_text(unsecured_token(subject) + "\n")
        assert subject_of(await tokens.token()) == subject


@pytest.mark.parametrize(
    ("content", "says"),
    [(None, "cannot be read"), (b"", "holds no token"), (b"two words", "holds no token"), (b"\xff", "cannot be read")],
)
async def test_a_file_without_a_token(content: bytes | None, says: str, tmp_path: Path) -> None:
    """
    The sentence names the setting, and nothing of what stands there.
    """
    file = tmp_path / "token"
    if content is not None:
        file.write_bytes(content)
    refused = await refusal(TokenFile(file))
    assert says in str(refused)
    assert "kafka.oauth_token_file" in str(refused)
    assert "two words" not in str(refused)


# Who uses them


def test_all_clients_share_where_tokens_come_from(tmp_path: Path) -> None:
    """
    Ours and Faust's: the token of one is the token of all.
    """
    kafka = settings_of("https://login.example/token")
    ours, fausts = client_options(kafka), faust_options(kafka)["broker_credentials"]
    assert (ours["sasl_mechanism"], fausts.mechanism.value) == ("OAUTHBEARER", "OAUTHBEARER")
    assert ours["sasl_oauth_token_provider"] is fausts.oauth_cb is client_options(kafka)["sasl_oauth_token_provider"]
    assert "sasl_plain_password" not in ours
    assert (fausts.protocol.value, fausts.ssl_context) == ("SASL_PLAINTEXT", None)
    (file := tmp_path / "token").write_text("abc")
    by_file = {"security_protocol": "SASL_SSL", "sasl_mechanism": "OAUTHBEARER", "oauth_token_file": file}
    kafka = KafkaSettings.model_validate(by_file)
    assert isinstance(token_provider(kafka), TokenFile)
    assert faust_options(kafka)["broker_credentials"].protocol.value == "SASL_SSL"
