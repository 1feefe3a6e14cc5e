"""The encodings of a release, by their names in the settings."""

from __future__ import annotations

from typing import Literal

from core.models.common.family import Family
from core.models.registry import FAMILIES, family_of
from stream.formats.release.encoding import ReleaseEncoding
from stream.formats.release.geojson import GEOJSON
from stream.formats.release.json import JSON
from stream.formats.release.mf_json import MF_JSON

__all__ = ["WITHOUT_REGISTRY", "EncodingName", "has_points", "needs_points"]

EncodingName = Literal["json", "avro", "geojson", "mf-json"]

WITHOUT_REGISTRY: dict[EncodingName, ReleaseEncoding] = {"json": JSON, "geojson": GEOJSON, "mf-json": MF_JSON}
"""Encodings that need nothing but the content. Avro needs the ids of its schemas at a registry."""


def has_points(model: str) -> bool:
    """Return whether the releases of a model hold trajectories of points with times."""
    return _releases_points(family_of(model))


def needs_points(encoding: str, model: str) -> str | None:
    """Return why a model's releases cannot be written in an encoding that is about moving points; None if they can.

    >>> needs_points("mf-json", "w4m"), needs_points("json", "seqanon")
    (None, None)
    """
    if encoding != MF_JSON.name or has_points(model):
        return None
    moving = " or ".join(name for family in FAMILIES if _releases_points(family) for name in family.models)
    return (
        f"{encoding} holds points that move, and releases of privacy.model {model} hold no times of positions: use "
        f"json, avro or geojson, or the model {moving}"
    )


def _releases_points(family: Family) -> bool:  # type: ignore[type-arg]
    return "points" in family.released.properties
