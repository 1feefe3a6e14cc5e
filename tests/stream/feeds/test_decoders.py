"""Decoders of a feed's messages, from its settings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core.records.record import Kind
from stream.feeds.decoders import message_decoder
from stream.formats.input.encodings import decoding
from stream.formats.input.encodings.decoding import Decoder
from stream.formats.input.encodings.protobuf_schemas import ProtobufSchema, ProtobufSchemaError
from stream.settings.errors import SettingsError
from stream.settings.load import load_settings

REGISTRY = {"registry.url": "http://127.0.0.1:1", "checkins.input.encoding": "protobuf"}


def decoder_of(given: dict[str, Any]) -> Decoder:
    return message_decoder(load_settings(given=given), Kind.CHECKINS)


@pytest.fixture(autouse=True)
def unchecked() -> Iterator[None]:
    """Forget, before and after a test, whether the compiler was checked."""
    decoding._check_compiler.cache_clear()
    yield
    decoding._check_compiler.cache_clear()


def test_the_compiler_is_checked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    However many decoders there are: each check starts a process. A compiler that does not run is checked again.
    """
    texts: list[str] = []
    faults = [ProtobufSchemaError("it cannot be compiled")]

    def compiled(text: str, _: Any) -> ProtobufSchema | None:
        texts.append(text)
        if faults:
            raise faults.pop()
        return None

    monkeypatch.setattr(decoding, "compiled", compiled)
    with pytest.raises(SettingsError):
        decoder_of(REGISTRY)
    for _ in range(3):
        decoder_of(REGISTRY)
    assert len(texts) == 2


def test_the_error_names_the_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The schema file if there is one; otherwise the encoding, whose schemas come from the registry.
    """
    path = tmp_path / "feed.proto"
    path.write_text("nothing")
    with pytest.raises(SettingsError, match=r"^input\.schema_file is .*feed\.proto: it cannot be compiled"):
        decoder_of({"checkins.input.encoding": "protobuf", "checkins.input.schema_file": str(path)})

    def compiled(*_: Any) -> ProtobufSchema:
        raise ProtobufSchemaError("no folder for temporary files can be written: set TMPDIR to one")

    monkeypatch.setattr(decoding, "compiled", compiled)
    with pytest.raises(SettingsError, match=r"^input\.encoding is protobuf: no folder .*: set TMPDIR to one$"):
        decoder_of(REGISTRY)
