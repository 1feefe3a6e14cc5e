"""The section about releases as messages."""

from __future__ import annotations

from typing import Literal

from stream.formats.release.encodings import EncodingName
from stream.settings.section import Section

__all__ = ["ReleaseSettings"]


class ReleaseSettings(Section):
    """How releases are written on the topics ``topics.anonymized`` and ``topics.windows``."""

    encoding: EncodingName = "json"
    """``json``, ``avro`` (needs ``registry.url``, where the worker registers the schemas), ``geojson``, or ``mf-json``
    (only for models that release trajectories of points). A change of the encoding is a change of what releases
    contain: see ``docs/operate/restarts.md``."""

    withheld: Literal["silent", "announced"] = "silent"
    """What consumers see of a window that is withheld: nothing (``silent``), as of a window without records, or a
    windows message with the reason (``announced``). Such a message says that there were people, and mostly that they
    were fewer than ``k``; with ``shard.kind: region`` it also says where. The live page shows what consumers see; logs
    and metrics show all."""
