"""Names under which feeds have our fields, in the order in which they are preferred."""

from __future__ import annotations

import re

__all__ = ["LATITUDES", "LONGITUDES", "PAIRS", "POINTS", "TIMES", "USERS", "WEAK_USERS", "normal", "rank"]

USERS = (
    *("user", "userid", "uid", "username", "person", "personid", "deviceuniqueid", "uniqueid", "deviceid", "device"),
    *("vehiclevehicleid", "vehicleid", "vehicle", "mmsi", "imei", "driverid", "driver", "riderid", "rider"),
    *("bikeid", "trackerid", "customerid", "customer", "subscriberid", "subscriber", "memberid", "member"),
    *("accountid", "account", "participantid", "participant", "animalid", "entityid", "agentid", "who"),
    *("icao24", "taxiid", "phoneid", "msisdn", "clientid"),
)
"""Names of a person's id. A number of the row, such as ``OBJECTID``, ``FID`` or ``gid``, never is one."""

WEAK_USERS = (
    *("tid", "trajid", "trajectoryid", "trackid", "tripid", "rideid", "journeyid", "routeid", "tourid", "segmentid"),
    *("sessionid", "visitid", "runid"),
)
"""Names of what a person has many of, but which may be all that a feed has."""

TIMES = (
    *(
        "ts",
        "tst",
        "timestamp",
        "time",
        "datetime",
        "trackedat",
        "recordedat",
        "capturedat",
        "measuredat",
        "observedat",
    ),
    *(
        "fixtime",
        "devicetime",
        "eventtime",
        "locationtimestamp",
        "basedatetime",
        "timestampms",
        "timestamputc",
        "timems",
    ),
    *("timeutc", "utctime", "utc", "gpstime", "positiontime", "lastreported", "epoch", "unixtime", "date", "t"),
    *("dateandtime", "datetimeutc", "eventtimestamp", "devicetimestamp", "checkintime", "when", "createdat", "sentat"),
    *("receivedat", "servertime", "updatedat", "starttime", "starttimestamp"),
)
LATITUDES = (
    *("lat", "latitude", "latitudedeg", "latdeg", "latitudee7", "late7", "gpslat", "gpslatitude", "lattitude"),
    *("positionlat", "locationlat", "y", "ycoord"),
)
LONGITUDES = (
    *("lon", "longitude", "longitudedeg", "londeg", "longitudee7", "lone7", "gpslon", "gpslongitude", "long", "lng"),
    *("lnge7", "gpslng", "lngdeg", "positionlon", "locationlon", "positionlng", "locationlng", "x", "xcoord"),
)
PAIRS = {"latlng": (0, 1), "latlon": (0, 1), "latlong": (0, 1), "lonlat": (1, 0), "lnglat": (1, 0), "longlat": (1, 0)}
"""Indices of latitude and longitude in a list or text whose name says their order."""

POINTS = ("points", "positions", "locations", "track", "trajectory", "path", "trace", "route", "coords", "samples")


_KEYS = frozenset({"id", "uid", "uuid", "key", "name", "number", "code"})
"""Names of what identifies the object that they stand in."""

_PARTS = {
    LATITUDES: re.compile("latitude|^lat[a-z]?[0-9]?$|lat$"),
    LONGITUDES: re.compile("longitude|^lo?ng?[a-z]?[0-9]?$|lon$|lng$"),
    TIMES: re.compile("time|date|timestamp|epoch|utc|at$"),
    USERS: re.compile("(user|device|vehicle|person|driver|rider|tracker)(id|uuid|uid|name|number|key|hash)"),
    WEAK_USERS: re.compile("(traj|trajectory|trip|track|ride|journey|session)(id|uuid|uid|number|key|hash)"),
}
"""Parts of other names that may mean a field."""


def normal(name: str) -> str:
    """Return a name without regard to case and signs.

    >>> normal("Device_ID"), normal("# Timestamp")
    ('deviceid', 'timestamp')
    """
    return re.sub(r"[^a-z0-9]", "", name.casefold())


def rank(parts: tuple[str, ...], names: tuple[str, ...]) -> int | None:
    """Return how much a path is preferred, by its last name, or its last two together; None if it is not at all."""
    last = normal(parts[-1])
    two = normal("".join(parts[-2:]))
    found = [names.index(one) for one in (two, last) if one in names]
    if names is USERS and last in _KEYS and len(parts) > 1 and (parent := normal(parts[-2])) in names:
        found.append(names.index(parent))
    if not found and _PARTS[names].search(last) is not None:
        return len(names)
    return min(found, default=None)
