"""The section about releases as messages."""

from __future__ import annotations

from stream.formats.release.encodings import EncodingName
from stream.settings.section import Section

__all__ = ["ReleaseSettings"]


class ReleaseSettings(Section):
    """How releases are written on the topics ``topics.anonymized`` and ``topics.windows``."""

    encoding: EncodingName = "json"
    """``json``, ``avro`` (needs ``registry.url``, where the worker registers the schemas), ``geojson``, or ``mf-json``
    (only for models that release trajectories of points). A window sealed under another encoding is withheld."""
