"""Reference systems as the forms of geographic data state them."""

from __future__ import annotations

from typing import Any

__all__ = ["DEGREES", "OTHERS"]

DEGREES: list[dict[str, Any]] = [
    {},
    {"crs": None},
    {"crs": {"type": "name"}},
    *(
        {"crs": {"type": "name", "properties": {"name": name}}}
        for name in ("EPSG:4326", "EPSG:4258", "urn:ogc:def:crs:OGC:1.3:CRS84", "urn:ogc:def:crs:EPSG::4326")
    ),
    {"crs": {"type": "Name", "properties": {"name": "EPSG:4326"}}},
    {"crs": {"type": "EPSG", "properties": {"code": 4326}}},
    {"crs": {"type": "EPSG", "properties": {"code": "4326", "coordinate_order": [1, 0]}}},
    {"crs": {"type": "OGC", "properties": {"urn": "urn:ogc:def:crs:OGC:1.3:CRS84"}}},
    *(
        {"crs": {"type": "link", "properties": {"href": link, "type": "proj4"}}}
        for link in (
            "http://spatialreference.org/ref/epsg/4326/proj4/",
            "http://www.opengis.net/def/crs/EPSG/0/4326",
            "http://www.opengis.net/gml/srs/epsg.xml#4326",
            "http://www.opengis.net/def/crs/OGC/1.3/CRS84",
        )
    ),
    {"crs": "EPSG:4326"},
    {"crs": 4326},
    {"crs": "PAD"},  # a railway station
    {"crs": []},
    {"spatialReference": {"wkid": 4326}},
    {"spatialReference": {"wkid": 4326, "latestWkid": 4326}},
    {"spatialReference": {}},
    {"spatialReference": None},
]
"""Members of an object whose positions are longitude and latitude, as far as it says."""

OTHERS: list[dict[str, Any]] = [
    *(
        {"crs": {"type": "name", "properties": {"name": name}}}
        for name in (
            "EPSG:3857",
            "EPSG:31287",
            "urn:ogc:def:crs:EPSG::31256",
            "EPSG:4807",
            "EPSG:999999",
            "my plane",
            "",
        )
    ),
    {"crs": {"properties": {"name": "EPSG:3857"}}},
    {"crs": {"type": "Name", "properties": {"name": "EPSG:3857"}}},
    {"crs": {"type": "EPSG", "properties": {"code": 3857}}},
    {"crs": {"type": "EPSG", "properties": {"code": "31287"}}},
    {"crs": {"type": "OGC", "properties": {"urn": "urn:ogc:def:crs:EPSG::3857"}}},
    {"crs": {"type": "link", "properties": {"href": "http://spatialreference.org/ref/epsg/3857/proj4/"}}},
    {"crs": {"type": "link", "properties": {"href": "http://example.com/crs/42", "type": "proj4"}}},
    {"crs": {"type": "link", "properties": {}}},
    {"crs": {"type": "URL", "properties": {"url": "http://www.opengis.net/def/crs/EPSG/0/3857"}}},
    {"crs": "EPSG:3857"},
    {"crs": "urn:ogc:def:crs:EPSG::3857"},
    {"crs": 3857},
    {"spatialReference": {"wkid": 102100, "latestWkid": 3857}},
    {"spatialReference": {"wkid": 102100}},
    {"spatialReference": {"wkid": 31287}},
    {"spatialReference": {"wkid": 1}},
    {"spatialReference": {"wkt": 'PROJCS["mine"]'}},
]
"""Members of an object whose positions are something else, or nobody knows what."""
