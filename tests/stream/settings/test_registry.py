"""The settings of the schema registry: addresses, and credentials that are complete and not exposed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stream.settings.errors import SettingsError
from stream.settings.load import load_settings
from stream.settings.registry import RegistrySettings
from stream.settings.registry_access import check_registry
from tests.cluster.certificates import Authority

HTTPS = "https://registry.example:8081"


@pytest.mark.parametrize(
    ("url", "addresses"),
    [
        ("http://registry:8081", ("http://registry:8081",)),
        ("https://a/apis/ccompat/v7/ , http://[::1]:8081", ("https://a/apis/ccompat/v7", "http://[::1]:8081")),
    ],
)
def test_addresses(url: str, addresses: tuple[str, ...]) -> None:
    """
    One or several, separated by commas; a slash at the end makes no difference.
    """
    assert RegistrySettings(url=url).addresses == addresses


@pytest.mark.parametrize(
    "url",
    [
        "registry:8081",
        "ftp://a",
        "http://",
        "http://u:p@a",
        "http://a?x=1",
        "http://a:99999",
        "http://a,",
        "http://[x]",
    ],
)
def test_what_is_no_address_is_refused(url: str) -> None:
    """
    Also addresses with a user or password, which would be printed.
    """
    says = r"registry\.url .*(must be addresses such as|has a user or password)"
    with pytest.raises(SettingsError, match=says) as raised:
        load_settings(given={"registry.url": url})
    assert "u:p" not in str(raised.value)


def refusal(**given: Any) -> str:
    with pytest.raises(SettingsError) as raised:
        check_registry(RegistrySettings(**given))
    return str(raised.value)


def test_credentials_that_do_not_fit(tmp_path: Path) -> None:
    """
    Credentials of two kinds, incomplete ones, or ones that nothing uses are refused.
    """
    token = tmp_path / "token"
    token.write_text("word")
    assert "registry.url is not: set both" in refusal(username="ann", password="long")  # noqa: S106
    assert "belong together" in refusal(url=HTTPS, username="ann")
    assert "belong together" in refusal(url=HTTPS, password="long")  # noqa: S106
    assert "are both set" in refusal(url=HTTPS, username="ann", password="long", token="word")  # noqa: S106
    assert "are both set" in refusal(url=HTTPS, token="word", token_file=token)  # noqa: S106
    assert "belong together" in refusal(url=HTTPS, password="long", token="word")  # noqa: S106
    assert "cannot be read" in refusal(url=HTTPS, token_file=tmp_path / "none")
    check_registry(RegistrySettings())
    check_registry(RegistrySettings(url=HTTPS, token_file=token))
    check_registry(RegistrySettings(url=HTTPS, username="ann", password="long"))  # noqa: S106


@pytest.mark.parametrize("given", [{"username": "ann", "password": "long"}, {"token": "word"}])
def test_credentials_are_not_sent_in_the_clear(given: dict[str, str]) -> None:
    """
    Plain HTTP with credentials is for this machine alone, also where only one of several addresses has it.
    """
    assert "in the clear" in refusal(url="http://registry:8081", **given)
    assert "in the clear" in refusal(url=f"{HTTPS},http://localhost.example:8081", **given)
    for host in ("localhost", "127.0.0.1", "[::1]"):
        check_registry(RegistrySettings(url=f"http://{host}:8081/path", **given))


def test_certificates(tmp_path: Path) -> None:
    """
    Files must be readable and fit, a certificate needs its key, and TLS an address with https.
    """
    authority = Authority(tmp_path, "ours")
    certificate, key = authority.issue("shoal")
    check_registry(RegistrySettings(url=HTTPS, cafile=authority.certificate, certfile=certificate, keyfile=key))
    assert "belong together" in refusal(url=HTTPS, certfile=certificate)
    assert "registry.cafile is" in refusal(url=HTTPS, cafile=tmp_path / "none")
    assert "registry.certfile and keyfile cannot be used" in refusal(
        url=HTTPS, certfile=certificate, keyfile=certificate
    )
    assert "only TLS uses it" in refusal(url="http://registry:8081", cafile=authority.certificate)


def test_secrets_are_masked() -> None:
    """
    What is printed has neither password nor token.
    """
    settings = load_settings(
        given={"registry.url": HTTPS, "registry.password": "open sesame", "registry.token": "word5"}
    )
    shown = str(settings.masked())
    assert "sesame" not in shown
    assert "word5" not in shown
