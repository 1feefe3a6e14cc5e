"""Checks of the encodings of releases: with the models, with one another and with the schema registry."""

from __future__ import annotations

from collections.abc import Collection

from core.models.registry import models_of
from stream.formats.release.encodings import needs_points
from stream.settings.errors import SettingsError
from stream.settings.kinds import KindSettings
from stream.settings.registry import RegistrySettings

__all__ = ["check_encoding", "check_encodings"]


def check_encoding(settings: KindSettings) -> None:
    """Check that what the model releases can be written in the encoding."""
    model = settings.privacy.model or models_of(settings.kind)[0]
    if (fault := needs_points(settings.release.encoding, model)) is not None:
        raise SettingsError(f"release.encoding is mf-json: {fault} (set fragments.release.encoding for one feed alone)")


def check_encodings(feeds: Collection[KindSettings], registry: RegistrySettings) -> None:
    """Check that the encodings of all feeds can share their topics, and that a registry is there for their schemas."""
    encodings = {str(feed.kind): feed.release.encoding for feed in feeds}
    if "avro" not in encodings.values():
        return
    if len(set(encodings.values())) > 1:
        named = " and ".join(f"{kind}.release.encoding {encoding}" for kind, encoding in encodings.items())
        raise SettingsError(
            f"{named} would share topics.anonymized and topics.windows: a program that reads Avro reads nothing else; "
            "set release.encoding to avro for both feeds, or for none"
        )
    if registry.url is None:
        raise SettingsError(
            "release.encoding is avro and registry.url is not set: set it to the schema registry at which the worker "
            "registers the schemas, or choose json, geojson or mf-json"
        )
