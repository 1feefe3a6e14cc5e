"""Presets of tables that are published as CSV."""

from __future__ import annotations

from collections.abc import Mapping

from stream.formats.presets.preset import Example, Preset

__all__ = ["TABLES"]

_SHIPS = "The person is the ship, by its MMSI. Times without an offset are UTC."

TABLES: Mapping[str, Preset] = {
    "ais-noaa": Preset(
        title="AIS of the United States, CSV of Marine Cadastre (NOAA)",
        note=_SHIPS,
        settings={
            "fields": {
                "user": "MMSI|mmsi",
                "ts": "BaseDateTime|base_date_time",
                "lat": "LAT|latitude",
                "lon": "LON|longitude",
            },
            "time": {"zone": "UTC"},
        },
        examples=(
            Example(
                file="AIS_2025_10_09.csv",
                content="MMSI,BaseDateTime,LAT,LON,SOG,COG,Heading\np01,2025-10-09T08:53:20,48.2082,16.3738,0.1,90.0,511.0",
                is_file=True,
            ),
            Example(
                file="ais-2025-10-09.csv",
                content="mmsi,base_date_time,longitude,latitude,sog\np01,2025-10-09 08:53:20,16.3738,48.2082,0.1",
                is_file=True,
            ),
        ),
    ),
    "ais-denmark": Preset(
        title="AIS of Denmark, CSV of the Danish Maritime Authority",
        note=f"{_SHIPS} Base stations and aids to navigation are skipped: they are no ships.",
        settings={
            "fields": {"user": "MMSI", "ts": "# Timestamp|Timestamp", "lat": "Latitude", "lon": "Longitude"},
            "time": {"zone": "UTC", "format": "%d/%m/%Y %H:%M:%S"},
            "input": {"only": ("Type of mobile!=Base Station|AtoN",)},
        },
        examples=(
            Example(
                file="aisdk-2025-10-09.csv",
                content="# Timestamp,Type of mobile,MMSI,Latitude,Longitude,Navigational status\n"
                "09/10/2025 08:53:20,Class A,p01,48.2082,16.3738,Under way using engine",
                is_file=True,
            ),
        ),
    ),
    "snap-checkins": Preset(
        title="Check-ins of Brightkite and Gowalla, as SNAP publishes them: tabs, no header",
        settings={"input": {"delimiter": "tab", "columns": ("user", "ts", "lat", "lon", "venue")}},
        examples=(
            Example(
                file="loc-brightkite_totalCheckins.txt",
                content="p01\t2025-10-09T08:53:20Z\t48.2082\t16.3738\tv1",
                is_file=True,
            ),
        ),
    ),
    "foursquare-tsmc": Preset(
        title="Check-ins of Foursquare in New York and Tokyo (`dataset_TSMC2014`): tabs, no header, Latin-1",
        note="Times are UTC, as written; the column with minutes of the local zone is not read.",
        settings={
            "time": {"format": "%a %b %d %H:%M:%S %z %Y"},
            "input": {
                "delimiter": "tab",
                "columns": ("user", "venue", "category_id", "category", "lat", "lon", "minutes_of_zone", "ts"),
                "text_encoding": "latin-1",
            },
        },
        examples=(
            Example(
                file="dataset_TSMC2014_NYC.txt",
                content="p01\tv1\tc1\tCaf\u00e9\t48.2082\t16.3738\t120\tThu Oct 09 08:53:20 +0000 2025",
                is_file=True,
            ),
        ),
    ),
}
