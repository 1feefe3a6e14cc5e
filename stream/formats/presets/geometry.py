"""Presets of formats of geographic data."""

from __future__ import annotations

from collections.abc import Mapping

from stream.formats.presets.preset import ONE_FILE_A_PERSON, Example, Preset

__all__ = ["GEOMETRY"]

_USER = "properties.user|properties.user_id|properties.uid|properties.device_id"

GEOMETRY: Mapping[str, Preset] = {
    "geojson": Preset(
        title="GeoJSON: points with a time, and lines with a time for each of their positions (`coordTimes`)",
        note=(
            "Set `fields.user` to the property with the person's id if it is none of those here. Other "
            "geometries are skipped. A collection of features is read as a list of records."
        ),
        settings={
            "fields": {
                "user": _USER,
                "ts": "properties.coordTimes|properties.coordinateProperties.times|properties.times"
                "|properties.timestamp|properties.time|properties.datetime|properties.ts",
                "lat": "geometry.coordinates[][1]|geometry.coordinates[1]",
                "lon": "geometry.coordinates[][0]|geometry.coordinates[0]",
            },
            "input": {"records": "features|/", "only": ("geometry.type=Point|LineString",)},
        },
        examples=(
            Example(
                file="points.ndjson",
                content={
                    "type": "Feature",
                    "geometry": {"type": "Point", "coordinates": [16.3738, 48.2082]},
                    "properties": {"user": "p01", "timestamp": 1760000000},
                },
            ),
            Example(
                file="lines.geojson",
                content={
                    "type": "FeatureCollection",
                    "features": [
                        {
                            "type": "Feature",
                            "geometry": {"type": "LineString", "coordinates": [[16.3738, 48.2082], [16.3738, 48.2082]]},
                            "properties": {
                                "user": "p01",
                                "coordTimes": ["2025-10-09T08:53:20Z", "2025-10-09T08:53:20Z"],
                            },
                        }
                    ],
                },
                places=2,
            ),
        ),
    ),
    "gpx": Preset(
        title="GPX 1.0 and 1.1: tracks, and other points with a time",
        known_by="type_of_point",
        note=f"{ONE_FILE_A_PERSON} `fields.user: track` takes the name of the track instead.",
        settings={"fields": {"user": "file:name", "ts": "time"}},
        examples=(
            Example(
                file="p01.gpx",
                content='<gpx version="1.1" creator="x"><trk><trkseg><trkpt lat="48.2082" lon="16.3738"><ele>170</ele>'
                "<time>2025-10-09T08:53:20Z</time></trkpt></trkseg></trk></gpx>",
                is_file=True,
            ),
        ),
    ),
    "mf-json": Preset(
        title="MF-JSON of OGC Moving Features, and of MobilityDB's `asMFJSON`",
        note=(
            "The person is the moving feature: a property, its id, the message's key, or the file's name, the "
            "first that there is. Coordinates must be longitude and latitude. Sequences and prisms are "
            "fragments of their own; prisms are read if the message is one feature."
        ),
        settings={
            "fields": {
                "user": f"{_USER}|properties.id|id|/properties.user|/properties.user_id|/properties.id|/id|kafka:key"
                "|file:name",
                "ts": "temporalGeometry.datetimes|datetimes",
                "lat": "temporalGeometry.coordinates[][1]|coordinates[][1]|coordinates[1]",
                "lon": "temporalGeometry.coordinates[][0]|coordinates[][0]|coordinates[0]",
            },
            "time": {"unit": "ms"},
            "input": {"records": "features|sequences|temporalGeometry.prisms|/"},
        },
        examples=(
            Example(
                file="moving.ndjson",
                content={
                    "type": "Feature",
                    "id": "p01",
                    "temporalGeometry": {
                        "type": "MovingPoint",
                        "datetimes": ["2025-10-09T08:53:20Z", "2025-10-09T08:53:20Z"],
                        "coordinates": [[16.3738, 48.2082], [16.3738, 48.2082]],
                        "interpolation": "Linear",
                    },
                    "properties": {"name": "x"},
                },
                places=2,
            ),
            Example(
                file="p01.json",
                content={
                    "type": "MovingPoint",
                    "sequences": [
                        {
                            "coordinates": [[16.3738, 48.2082]],
                            "lower_inc": True,
                            "upper_inc": True,
                            "datetimes": ["2025-10-09T08:53:20+00"],
                        }
                    ],
                    "interpolation": "Linear",
                },
                key="p01",
            ),
        ),
    ),
}
