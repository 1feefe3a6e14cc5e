"""Shapes: what a map draws is what was released, in the places of the public vocabulary."""

from __future__ import annotations

import json

import numpy as np
import pytest

from core.places.locate import Area, AreaGrid, H3Cells, Locator, MetricGrid
from stream.formats.release.messages import outcome_messages
from stream.worker.shapes import DRAWN_CELLS, DRAWN_REGIONS, outline, shapes
from tests.builders.live_windows import sequences, tracks
from tests.builders.windows import VENUES

PLACES = [(0.001, 0.001), (48.2, 16.37), (-77.8, 166.7), (60.0, 179.999), (60.0, -179.999), (89.9, 10.0)]
WORLD = [MetricGrid(500.0), MetricGrid(50_000.0), H3Cells(5), H3Cells(9)]


@pytest.mark.parametrize("locator", WORLD)
@pytest.mark.parametrize(("lat", "lon"), PLACES)
def test_a_place_lies_in_the_outline_of_its_location(locator: Locator, lat: float, lon: float) -> None:
    """
    By its public name alone a location is drawn where its visits were, in one piece, also at the antimeridian.
    """
    ids, found = locator.locate(np.array([lat]), np.array([lon]), [None])
    assert found.all()
    (name,), _, _ = locator.describe(ids)
    corners = np.array(outline(locator, name))
    assert len(corners) >= 4
    east = (corners[:, 1] - lon + 180) % 360 - 180  # around the place
    if abs(lat) < 89:
        assert np.ptp(east) < 10
        assert east.min() <= 1e-3
        assert east.max() >= -1e-3
    assert corners[:, 0].min() - 1e-3 <= lat <= corners[:, 0].max() + 1e-3


def test_cells_of_an_area_fill_it() -> None:
    """
    The first cell begins in the south-west corner, the last ends in the north-east one, beyond 180 degrees if need be.
    """
    grid = AreaGrid(Area(south=-10.0, west=170.0, north=10.0, east=-170.0), rows=10, columns=20)
    names, _, _ = grid.describe(np.array([0, 9 << 32 | 19]))
    first, last = (outline(grid, name) for name in names)
    assert first[0] == (-10.0, 170.0)
    assert last[2] == (10.0, 190.0)


def test_a_venue_is_a_point() -> None:
    """
    Venues have no extent.
    """
    assert outline(VENUES, "cinema") == [(52.51, 13.33)]


@pytest.mark.parametrize(
    "locator", [*WORLD, VENUES, AreaGrid(Area(south=0, west=0, north=1, east=1), rows=2, columns=2)]
)
@pytest.mark.parametrize("name", ["", "nowhere", "1", "r1", "x-y", "8a2a", "\x00"])
def test_a_name_that_is_not_of_the_vocabulary_is_not_drawn(locator: Locator, name: str) -> None:
    """
    It has no outline, and nothing fails.
    """
    assert outline(locator, name) == []


def test_sequences_refer_to_the_generalized_locations() -> None:
    """
    Each released trajectory is told by the numbers of the regions it visits, in its order.
    """
    *messages, window = outcome_messages(sequences())
    drawn = shapes(window.value, [message.value for message in messages], VENUES)
    content = json.loads(window.value)
    assert (drawn.n_regions, drawn.n_trajectories) == (len(content["locations"]), len(messages))
    assert [(region.lat, region.lon) for region in drawn.regions] == [
        (p["lat"], p["lon"]) for p in content["locations"]
    ]
    assert [len(region.cells) for region in drawn.regions] == [len(place["members"]) for place in content["locations"]]
    for message, trajectory in zip(messages, drawn.trajectories, strict=True):
        assert trajectory.locations is not None
        visited = [content["locations"][i]["members"] for i in trajectory.locations]
        assert visited == json.loads(message.value)["locations"]


def test_points_are_drawn_as_they_were_released() -> None:
    """
    Every position of a released trajectory, and the times of the first and the last.
    """
    *messages, window = outcome_messages(tracks())
    drawn = shapes(window.value, [message.value for message in messages], None)
    for message, trajectory in zip(messages, drawn.trajectories, strict=True):
        points = json.loads(message.value)["points"]
        assert trajectory.points == [(lat, lon) for _, lat, lon in points]
        assert (trajectory.first, trajectory.last) == (points[0][0], points[-1][0])


def test_flows_are_drawn_between_their_places() -> None:
    """
    A place that is a location has its outline. One that is a node above locations has a circle of its radius; what is
    released of a flow is its two ends and its people.
    """
    grid = MetricGrid(1000.0)
    (name,), (lat,), (lon,) = grid.describe(grid.locate(np.array([48.2]), np.array([16.3]), [None])[0])
    places = [
        {"members": [name], "lat": lat, "lon": lon},
        {"members": ["q3-5-2"], "lat": 60.0, "lon": 179.99, "radius_m": 2000.0},
    ]
    window = {"release": "r", "model": "flows", "trajectories": 3, "locations": places}
    flows = [
        {"origin": name, "destination": "q3-5-2", "people": 7, "trips": 9},
        {"origin": "q3-5-2", "destination": name},
    ]
    gone = {"origin": name, "destination": "elsewhere", "people": 5}
    drawn = shapes(json.dumps(window).encode(), [json.dumps(one).encode() for one in [*flows, gone]], grid)
    assert [(one.locations, one.people) for one in drawn.trajectories] == [([0, 1], 7), ([1, 0], None)]
    assert drawn.regions[0].cells == [outline(grid, name)]
    (circle,) = drawn.regions[1].cells
    metres = [111_194.9 * np.hypot(north - 60.0, (east - 179.99) * np.cos(np.radians(60.0))) for north, east in circle]
    assert metres == pytest.approx([2000.0] * len(circle), rel=1e-3)


def test_a_release_of_many_locations_is_drawn_in_part() -> None:
    """
    Regions and cells are bounded, how many there are is told, and a trajectory is drawn whole or not at all.
    """
    places = [{"members": [f"{i:06d}-{j:06d}" for j in range(30)], "lat": 0.0, "lon": 0.0} for i in range(1000)]
    window = {"release": "r", "model": "seqanon", "trajectories": 2, "locations": places}
    few, far = ({"locations": [places[0]["members"], places[i]["members"]]} for i in (1, 999))
    drawn = shapes(json.dumps(window).encode(), [json.dumps(one).encode() for one in (few, far)], MetricGrid(5000.0))
    assert (len(drawn.regions), drawn.n_regions) == (DRAWN_REGIONS, 1000)
    assert sum(len(region.cells) for region in drawn.regions) == DRAWN_CELLS
    assert [trajectory.locations for trajectory in drawn.trajectories] == [[0, 1]]
    assert drawn.n_trajectories == 2
