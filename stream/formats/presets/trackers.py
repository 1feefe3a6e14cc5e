"""Presets of what phones and trackers write."""

from __future__ import annotations

from collections.abc import Mapping

from stream.formats.presets.preset import Example, Preset

__all__ = ["TRACKERS"]

TRACKERS: Mapping[str, Preset] = {
    "owntracks": Preset(
        title="OwnTracks, JSON over MQTT or HTTP",
        note=(
            "Other messages than `_type: location` are skipped. The person is the tracker id `tid`; two people "
            "with the same one count as one. Set `fields.user: topic` if the topic of MQTT tells them apart."
        ),
        settings={
            "fields": {"user": "tid|topic|kafka:key", "ts": "tst"},
            "input": {"only": ("_type=location",), "numbers_as_text": True},
        },
        examples=(
            Example(
                file="owntracks.ndjson",
                content={
                    "_type": "location",
                    "tid": "p01",
                    "tst": 1760000000,
                    "lat": 48.2082,
                    "lon": 16.3738,
                    "acc": 12,
                    "topic": "owntracks/p01/phone",
                },
            ),
        ),
    ),
    "overland": Preset(
        title="Overland, batches of GeoJSON points over HTTP",
        note="The person is the device id of the app's settings: without one, records are rejected.",
        settings={
            "fields": {
                "user": "properties.device_id|properties.unique_id",
                "ts": "properties.timestamp",
                "lat": "geometry.coordinates[1]",
                "lon": "geometry.coordinates[0]",
            },
            "input": {"records": "locations", "only": ("geometry.type=Point",)},
        },
        examples=(
            Example(
                file="overland.ndjson",
                content={
                    "locations": [
                        {
                            "type": "Feature",
                            "geometry": {"type": "Point", "coordinates": [16.3738, 48.2082]},
                            "properties": {
                                "timestamp": "2025-10-09T08:53:20Z",
                                "device_id": "p01",
                                "horizontal_accuracy": 5,
                            },
                        }
                    ]
                },
            ),
        ),
    ),
    "traccar": Preset(
        title="Traccar, positions forwarded as JSON (`forward.type` `json` or `kafka`), or of its API",
        note=(
            "The person is the device: its `uniqueId`, or `deviceId` where positions stand alone. Positions "
            "that the tracker itself calls invalid are skipped. `fixTime` counts: the time of the position."
        ),
        settings={
            "fields": {
                "user": "device.uniqueId|position.deviceId|deviceId",
                "ts": "position.fixTime|fixTime",
                "lat": "position.latitude|latitude",
                "lon": "position.longitude|longitude",
            },
            "time": {"unit": "ms"},
            "input": {"records": "positions|/", "only": ("position.valid|valid!=false",)},
        },
        examples=(
            Example(
                file="traccar.ndjson",
                content={
                    "position": {
                        "id": 7,
                        "deviceId": 1,
                        "protocol": "osmand",
                        "fixTime": "2025-10-09T08:53:20.000+00:00",
                        "valid": True,
                        "latitude": 48.2082,
                        "longitude": 16.3738,
                        "speed": 0.0,
                        "attributes": {},
                    },
                    "device": {"id": 1, "uniqueId": "p01"},
                },
                key="1",
            ),
            Example(
                file="traccar-api.ndjson",
                content={
                    "positions": [
                        {
                            "id": 7,
                            "deviceId": "p01",
                            "fixTime": "2025-10-09T08:53:20.000+0000",
                            "valid": True,
                            "latitude": 48.2082,
                            "longitude": 16.3738,
                        }
                    ]
                },
            ),
        ),
    ),
}
