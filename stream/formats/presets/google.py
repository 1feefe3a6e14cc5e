"""Presets of what Google hands out to a person of their own positions."""

from __future__ import annotations

from collections.abc import Mapping

from core.records.record import Kind
from stream.formats.presets.preset import ONE_FILE_A_PERSON, Example, Preset

__all__ = ["GOOGLE"]

GOOGLE: Mapping[str, Preset] = {
    "google-records": Preset(
        title="Google Takeout, `Records.json`: every position of a phone",
        note=ONE_FILE_A_PERSON,
        settings={
            "fields": {"user": "file:name", "ts": "timestamp|timestampMs", "lat": "latitudeE7", "lon": "longitudeE7"},
            "time": {"unit": "ms"},
            "input": {
                "records": "locations",
                "only": ("latitudeE7",),
                "degrees_per_unit": 1e-7,
                "numbers_as_text": True,
            },
        },
        examples=(
            Example(
                file="p01.json",
                content={
                    "locations": [
                        {
                            "timestamp": "2025-10-09T08:53:20Z",
                            "latitudeE7": 482082000,
                            "longitudeE7": 163738000,
                            "accuracy": 20,
                            "source": "WIFI",
                        }
                    ]
                },
                is_file=True,
            ),
            Example(
                file="p01.json",
                content={
                    "locations": [{"timestampMs": "1760000000000", "latitudeE7": 482082000, "longitudeE7": 163738000}]
                },
                is_file=True,
            ),
        ),
    ),
    "google-semantic": Preset(
        title="Google Takeout, `Semantic Location History`: visits of places, a file a month",
        note=(f"{ONE_FILE_A_PERSON} Only place visits are read, at the time when they begin; journeys are skipped."),
        settings={
            "fields": {
                "user": "file:name",
                "ts": "placeVisit.duration.startTimestamp|placeVisit.duration.startTimestampMs",
                "lat": "placeVisit.location.latitudeE7",
                "lon": "placeVisit.location.longitudeE7",
                "venue": "placeVisit.location.placeId",
            },
            "time": {"unit": "ms"},
            "input": {
                "records": "timelineObjects",
                "only": ("placeVisit.location.latitudeE7",),
                "degrees_per_unit": 1e-7,
                "numbers_as_text": True,
            },
        },
        examples=(
            Example(
                file="p01.json",
                content={
                    "timelineObjects": [
                        {
                            "placeVisit": {
                                "location": {"latitudeE7": 482082000, "longitudeE7": 163738000, "placeId": "x"},
                                "duration": {"startTimestamp": "2025-10-09T08:53:20Z"},
                            }
                        }
                    ]
                },
                is_file=True,
            ),
        ),
    ),
    "google-timeline": Preset(
        title="Google Maps Timeline, exported on the phone (`Timeline.json`)",
        note=(
            f"{ONE_FILE_A_PERSON} As check-ins, visits are read, at the time when they begin; as fragments, the"
            " paths of Android's export. An iPhone's paths give minutes since their beginning instead of times,"
            " and are skipped."
        ),
        settings={
            "fields": {"user": "file:name"},
            "input": {"records": "semanticSegments|/", "numbers_as_text": True},
        },
        of_kind={
            Kind.CHECKINS: {
                "fields": {
                    "ts": "startTime",
                    "lat": "visit.topCandidate.placeLocation.latLng[0]|visit.topCandidate.placeLocation[0]",
                    "lon": "visit.topCandidate.placeLocation.latLng[1]|visit.topCandidate.placeLocation[1]",
                    "venue": "visit.topCandidate.placeId|visit.topCandidate.placeID",
                },
                "input": {"only": ("visit.topCandidate.placeLocation",)},
            },
            Kind.FRAGMENTS: {
                "fields": {"points": "timelinePath", "ts": "time", "lat": "point[0]", "lon": "point[1]"},
                "input": {"only": ("timelinePath[0].time",)},
            },
        },
        examples=(
            Example(
                file="p01.json",
                content={
                    "semanticSegments": [
                        {
                            "startTime": "2025-10-09T08:53:20.000+00:00",
                            "endTime": "2025-10-09T09:00:00.000+00:00",
                            "visit": {
                                "topCandidate": {"placeId": "x", "placeLocation": {"latLng": "48.2082°, 16.3738°"}}
                            },
                        }
                    ]
                },
                kinds=(Kind.CHECKINS,),
                is_file=True,
            ),
            Example(
                file="p01.json",
                content=[
                    {
                        "startTime": "2025-10-09T08:53:20.000Z",
                        "visit": {"topCandidate": {"placeID": "x", "placeLocation": "geo:48.2082,16.3738"}},
                    }
                ],
                kinds=(Kind.CHECKINS,),
                is_file=True,
            ),
            Example(
                file="p01.json",
                content={
                    "semanticSegments": [
                        {
                            "startTime": "2025-10-09T08:50:00.000+00:00",
                            "endTime": "2025-10-09T09:00:00.000+00:00",
                            "timelinePath": [{"point": "48.2082°, 16.3738°", "time": "2025-10-09T08:53:20.000+00:00"}],
                        }
                    ]
                },
                kinds=(Kind.FRAGMENTS,),
                is_file=True,
            ),
        ),
    ),
}
