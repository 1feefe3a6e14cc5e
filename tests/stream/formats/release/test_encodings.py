"""Encodings of a release: every one of them holds the same content, in a form that its readers accept."""

from __future__ import annotations

import json
from typing import Any

import pytest

from core.models.registry import models_of
from core.records.record import Kind
from docs.extensions.replays import replayed
from stream.formats.release.avro import AvroRelease
from stream.formats.release.encoding import ReleaseEncoding, positions_of
from stream.formats.release.encodings import WITHOUT_REGISTRY, needs_points

MODELS = [model for kind in Kind for model in models_of(kind)]
AVRO = AvroRelease(anonymized_id=7, windows_id=2**31 + 5)
ENCODINGS: list[ReleaseEncoding] = [*WITHOUT_REGISTRY.values(), AVRO]


def plain(content: object) -> Any:
    """Content as JSON has it: tuples are lists."""
    return json.loads(json.dumps(content))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("encoding", ENCODINGS, ids=lambda encoding: encoding.name)
def test_every_encoding_of_a_release_gives_back_its_content(encoding: ReleaseEncoding, model: str) -> None:
    """
    What a reader decodes is what the JSON message states, for released and withheld windows and under every model.
    """
    messages = replayed(model)
    positions = positions_of(messages.windows[0])
    if needs_points(encoding.name, model) is None:
        for content in messages.anonymized:
            assert encoding.read_trajectory(encoding.trajectory(content, positions)) == content
    for content in messages.windows:
        assert encoding.read_window(encoding.window(content)) == content
