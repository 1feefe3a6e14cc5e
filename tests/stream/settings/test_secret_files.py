"""Secrets from files: every setting with a secret has one with ``_file`` at its end, and no content of it is shown."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel, SecretStr

from stream.feeds.feed import build_feeds
from stream.settings.errors import SettingsError
from stream.settings.load import load_settings
from stream.settings.model import Settings

SECRET = "correct-horse=battery-staple"  # noqa: S105 - of no real deployment
WITH_FILES = {
    "privacy.secret": {},
    "kafka.ssl_key_password": {
        "kafka.security_protocol": "SSL",
        "kafka.ssl_certfile": "/nowhere/c.pem",
        "kafka.ssl_keyfile": "/nowhere/k.pem",
    },
    "kafka.sasl_password": {"kafka.security_protocol": "SASL_SSL", "kafka.sasl_username": "somebody"},
    "kafka.oauth_client_secret": {
        "kafka.security_protocol": "SASL_SSL",
        "kafka.sasl_mechanism": "OAUTHBEARER",
        "kafka.oauth_token_url": "https://id.example/token",
        "kafka.oauth_client_id": "shoal",
    },
    "registry.password": {"registry.url": "https://registry.example", "registry.username": "somebody"},
    "telemetry.headers": {"telemetry.endpoint": "https://collector.example"},
}
"""Every secret that may stand in a file, and the settings that belong to it."""


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of whoever runs the tests holds no setting."""
    import os  # noqa: PLC0415 - only here

    for name in [name for name in os.environ if name.startswith("SHOAL_")]:
        monkeypatch.delenv(name)


def secrets_of(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from secrets_of(kind, f"{prefix}{name}.")
        elif kind is SecretStr or SecretStr in getattr(kind, "__args__", ()):
            yield f"{prefix}{name}"


def value(settings: Settings, dotted: str) -> Any:
    found: Any = settings
    for name in dotted.split("."):
        found = getattr(found, name)
    return found


def test_every_secret_has_a_setting_for_its_file() -> None:
    """
    A token of the registry already had one, which is read for every request.
    """
    ours = [
        name for name in secrets_of(Settings) if name.split(".")[0] in ("privacy", "kafka", "registry", "telemetry")
    ]
    assert sorted(ours) == sorted([*WITH_FILES, "registry.token"])
    for name in ours:
        assert value(load_settings(), f"{name}_file") is None


@pytest.mark.parametrize("ending", ["", "\n", "\r\n"])
@pytest.mark.parametrize("name", WITH_FILES)
def test_a_secret_is_read_from_a_file(name: str, ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Without the line break that editors and `echo` put at its end. It comes by variable, as the path does.
    """
    file = tmp_path / "secret"
    file.write_bytes(f" {SECRET} ".encode() + ending.encode())
    variable = f"SHOAL_{name}_FILE".upper().replace(".", "__")
    monkeypatch.setenv(variable, str(file))
    settings = load_settings(given=dict(WITH_FILES[name]))
    assert value(settings, name).get_secret_value() == f" {SECRET} "
    assert value(settings, f"{name}_file") == file
    shown = yaml.safe_dump(settings.masked()) + repr(settings)
    assert SECRET not in shown
    assert str(file) in shown


def test_a_secret_for_one_feed_alone(tmp_path: Path) -> None:
    """
    A section for one kind of feed may name its own file.
    """
    (tmp_path / "all").write_text(SECRET)
    (tmp_path / "own").write_text(SECRET[::-1])
    named = {"privacy.secret_file": str(tmp_path / "all"), "checkins.privacy.secret_file": str(tmp_path / "own")}
    settings = load_settings(given=named)
    found = {kind.value: settings.for_kind(kind).privacy.secret for kind in settings.kinds}
    assert found == {"checkins": SecretStr(SECRET[::-1]), "fragments": SecretStr(SECRET)}


def test_where_the_secret_stands_decides_nothing_that_is_released(tmp_path: Path) -> None:
    """
    A secret that moves from a variable to a file leaves sealed windows and waiting records as they are.
    """
    (tmp_path / "secret").write_text(SECRET)
    by_value = build_feeds(load_settings(given={"privacy.secret": SECRET}))
    by_file = build_feeds(load_settings(given={"privacy.secret_file": str(tmp_path / "secret")}))
    for kind, feed in by_value.items():
        assert feed.vocabulary == by_file[kind].vocabulary
        assert feed.plan.settings == by_file[kind].plan.settings


@pytest.mark.parametrize("name", WITH_FILES)
def test_both_are_an_error_that_names_them(name: str, tmp_path: Path) -> None:
    """
    Nobody should believe that the other one is used.
    """
    (tmp_path / "secret").write_text(SECRET)
    with pytest.raises(SettingsError) as refused:
        load_settings(given={name: SECRET[::-1], f"{name}_file": str(tmp_path / "secret")} | WITH_FILES[name])
    section, _, last = name.partition(".")
    assert str(refused.value) == f"{section}.{last}_file and {last} are both set: leave one of the two out"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "the file is empty; it must hold the secret"),
        (b" \n", "the file is empty; it must hold the secret"),
        (b"\xff\xfe" + SECRET.encode(), "it is not text in UTF-8; it must hold the secret alone"),
        (
            SECRET.encode() + b"\nmore\n",
            "the file has more than one line or is too long; it must hold the secret alone",
        ),
        (SECRET.encode() * 5000, "the file has more than one line or is too long; it must hold the secret alone"),
        (None, "it cannot be read (no such file or directory); it must be a file with the secret"),
    ],
)
@pytest.mark.parametrize("name", WITH_FILES)
def test_a_file_that_holds_no_secret(name: str, content: bytes | None, says: str, tmp_path: Path) -> None:
    """
    One sentence with the setting and the path, and nothing of the content.
    """
    file = tmp_path / "file"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(SettingsError) as refused:
        load_settings(given={f"{name}_file": str(file)} | WITH_FILES[name])
    assert str(refused.value) == f"{name}_file is {file}: {says}"


def test_a_weak_secret_in_a_file_is_refused_like_any_other(tmp_path: Path) -> None:
    """
    The rules are those of privacy.secret, and the sentence does not show it.
    """
    (tmp_path / "secret").write_text("too-short\n")
    with pytest.raises(SettingsError, match=r"^privacy\.secret has 9 characters: it must have at least 16"):
        load_settings(given={"privacy.secret_file": str(tmp_path / "secret")})
