"""Presets of the standards of cities and transit agencies."""

from __future__ import annotations

from collections.abc import Mapping

from core.records.record import Kind
from stream.formats.presets.preset import Example, Preset

__all__ = ["MOBILITY"]

_VEHICLES = "The person is the vehicle: what is protected is each vehicle, not each rider."

_GTFS_NOTE = (
    f"{_VEHICLES} Entities without a position, and deleted ones, are skipped; a vehicle without a time has that of the "
    "message."
)
_GTFS_FIELDS = {
    "user": "vehicle.vehicle.id|vehicle.vehicle.label|vehicle.vehicle.license_plate",
    "ts": "vehicle.timestamp|/header.timestamp",
    "lat": "vehicle.position.latitude",
    "lon": "vehicle.position.longitude",
}

MOBILITY: Mapping[str, Preset] = {
    "mds-telemetry": Preset(
        title="MDS, telemetry of vehicles: `/telemetry` (2.0) and `/vehicles/telemetry` (1.x)",
        note=_VEHICLES,
        settings={
            "fields": {
                "user": "device_id",
                "ts": "timestamp",
                "lat": "location.lat|gps.lat",
                "lon": "location.lng|gps.lng",
            },
            "time": {"unit": "ms"},
            "input": {"records": "telemetry|data|/"},
        },
        examples=(
            Example(
                file="telemetry.ndjson",
                content={
                    "version": "2.0.0",
                    "telemetry": [
                        {
                            "device_id": "p01",
                            "provider_id": "x",
                            "telemetry_id": "y",
                            "timestamp": 1760000000000,
                            "trip_ids": None,
                            "location": {"lat": 48.2082, "lng": 16.3738},
                        }
                    ],
                },
            ),
            Example(
                file="telemetry-1.ndjson",
                content={
                    "provider_id": "x",
                    "data": [
                        {
                            "device_id": "p01",
                            "timestamp": 1760000000000,
                            "gps": {"lat": 48.2082, "lng": 16.3738, "speed": 0.0},
                            "charge": 0.5,
                        }
                    ],
                },
            ),
        ),
    ),
    "mds-trips": Preset(
        title="MDS, trips: `/trips` of 1.x (with routes) and of 2.0",
        note=(
            f"{_VEHICLES} As fragments, a trip's route is one fragment; a trip of 2.0 has none, so its two ends "
            "are (`mds-telemetry` reads all between them). As check-ins, both ends of a trip are."
        ),
        settings={
            "fields": {
                "user": "device_id",
                "ts": "properties.timestamp|start_time & end_time",
                "lat": "geometry.coordinates[1]|start_location.lat & end_location.lat"
                "|route.features[0].geometry.coordinates[1] & route.features[-1].geometry.coordinates[1]",
                "lon": "geometry.coordinates[0]|start_location.lng & end_location.lng"
                "|route.features[0].geometry.coordinates[0] & route.features[-1].geometry.coordinates[0]",
                "points": "route.features",
            },
            "time": {"unit": "ms"},
            "input": {"records": "data.trips|trips|/"},
        },
        examples=(
            Example(
                file="trips-1.ndjson",
                content={
                    "version": "1.2.0",
                    "data": {
                        "trips": [
                            {
                                "device_id": "p01",
                                "trip_id": "y",
                                "start_time": 1760000000000,
                                "end_time": 1760000000000,
                                "route": {
                                    "type": "FeatureCollection",
                                    "features": [
                                        {
                                            "type": "Feature",
                                            "properties": {"timestamp": 1760000000000},
                                            "geometry": {"type": "Point", "coordinates": [16.3738, 48.2082]},
                                        }
                                    ],
                                },
                            }
                        ]
                    },
                },
                kinds=(Kind.FRAGMENTS,),
            ),
            Example(
                file="trips-2.ndjson",
                content={
                    "version": "2.0.0",
                    "trips": [
                        {
                            "device_id": "p01",
                            "trip_id": "y",
                            "start_time": 1760000000000,
                            "end_time": 1760000000000,
                            "start_location": {"lat": 48.2082, "lng": 16.3738},
                            "end_location": {"lat": 48.2082, "lng": 16.3738},
                        }
                    ],
                },
                places=2,
            ),
        ),
    ),
    "gtfs-realtime": Preset(
        title="GTFS-realtime, vehicle positions as protobuf (one FeedMessage a message or a file)",
        note=_GTFS_NOTE,
        settings={
            "fields": _GTFS_FIELDS,
            "input": {
                "encoding": "gtfs-realtime",
                "records": "entity",
                "only": ("vehicle.position", "is_deleted|isDeleted!=true"),
            },
        },
        examples=(
            Example(
                file="vehicles.pb",
                content={
                    "header": {"gtfs_realtime_version": "2.0", "timestamp": 1760000000},
                    "entity": [
                        {
                            "id": "1",
                            "vehicle": {
                                "vehicle": {"id": "p01"},
                                "position": {"latitude": 48.2082, "longitude": 16.3738},
                                "timestamp": 1760000000,
                            },
                        }
                    ],
                },
            ),
        ),
    ),
    "gtfs-realtime-json": Preset(
        title="GTFS-realtime, vehicle positions as JSON, with names as in the standard or as protobuf's JSON has them",
        note=_GTFS_NOTE,
        settings={
            "fields": {**_GTFS_FIELDS, "user": f"{_GTFS_FIELDS['user']}|vehicle.vehicle.licensePlate"},
            "input": {
                "records": "entity|/",
                "only": ("vehicle.position", "is_deleted|isDeleted!=true"),
                "numbers_as_text": True,
            },
        },
        examples=(
            Example(
                file="vehicles.ndjson",
                content={
                    "header": {"gtfsRealtimeVersion": "2.0", "timestamp": "1760000000"},
                    "entity": [
                        {
                            "id": "1",
                            "vehicle": {
                                "vehicle": {"id": "p01"},
                                "position": {"latitude": 48.2082, "longitude": 16.3738},
                                "timestamp": "1760000000",
                            },
                        }
                    ],
                },
            ),
        ),
    ),
    "gbfs": Preset(
        title="GBFS, `free_bike_status` (1.x, 2.x) and `vehicle_status` (3.x)",
        note=(
            f"{_VEHICLES} From 2.0 on a vehicle has a new id after each trip, so one vehicle counts as several, "
            "and the guarantees hold for ids alone. Vehicles at a station, which have no position, are skipped."
        ),
        settings={
            "fields": {"user": "vehicle_id|bike_id", "ts": "last_reported|/last_updated"},
            "input": {"records": "data.vehicles|data.bikes", "only": ("lat", "lon")},
        },
        examples=(
            Example(
                file="vehicle_status.ndjson",
                content={
                    "last_updated": "2025-10-09T08:53:20Z",
                    "ttl": 0,
                    "version": "3.0",
                    "data": {
                        "vehicles": [
                            {
                                "vehicle_id": "p01",
                                "last_reported": "2025-10-09T08:53:20Z",
                                "lat": 48.2082,
                                "lon": 16.3738,
                                "is_reserved": False,
                                "is_disabled": False,
                            }
                        ]
                    },
                },
            ),
            Example(
                file="free_bike_status.ndjson",
                content={
                    "last_updated": 1760000000,
                    "ttl": 0,
                    "version": "2.3",
                    "data": {
                        "bikes": [
                            {
                                "bike_id": "p01",
                                "lat": 48.2082,
                                "lon": 16.3738,
                                "is_reserved": False,
                                "is_disabled": False,
                            }
                        ]
                    },
                },
            ),
        ),
    ),
}
