"""A simulated city of people who move along roads and check in at venues: a feed for load and for show.

Everything is decided by :class:`CityOptions`; no clock is read and no place or person is real.
"""

from stream.city.delivery import Message, SentAs
from stream.city.dirt import Dirt
from stream.city.feed import MAX_FRAGMENT_SPAN_MS, NOISE_M, City
from stream.city.options import CityOptions
from stream.city.people import Venue
from stream.city.roads import Roads

__all__ = [
    "MAX_FRAGMENT_SPAN_MS",
    "NOISE_M",
    "City",
    "CityOptions",
    "Dirt",
    "Message",
    "Roads",
    "SentAs",
    "Venue",
]
