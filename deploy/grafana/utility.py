"""The utility dashboard, for users of the releases: what the promise costs."""

from __future__ import annotations

from deploy.grafana.build import Panel, Row, document
from deploy.grafana.queries import FEED_LEGEND, per_feed, rate, records, series, share_of_an_hour

__all__ = ["utility"]

_SHARES = ("distance_share", "generalized_distance_share", "semantic_penalty")
_ENDED = records("released", "suppressed", "withheld")


def utility() -> str:
    """Return the utility dashboard."""
    measure = "{{kind}} {{model}}: {{measure}}"
    rows = [
        Row(
            title="Loss of the last release",
            panels=[
                Panel(
                    title="Distance from the truth",
                    description="Check-ins: expected distance between a visited location and the location that is "
                    "released for it. Fragments: mean distance by which a point is moved.",
                    unit="lengthm",
                    queries=[(_loss("distance_m", "mean_space_translation_m"), measure)],
                ),
                Panel(
                    title="Shift in time",
                    description="Fragments: mean time between a point and the point that is released for it. Check-ins "
                    "are released without times.",
                    unit="s",
                    queries=[(_loss("mean_time_translation_s"), measure)],
                ),
                Panel(
                    title="Relative loss of check-ins",
                    description="0 is no loss. distance_share: distance as a share of the widest distance in the "
                    "release. generalized_distance_share: distance between the members of a generalized location. "
                    "semantic_penalty, of sd-seqanon: the penalty of mixing meanings.",
                    unit="percentunit",
                    queries=[(_loss(*_SHARES), measure)],
                ),
            ],
        ),
        Row(
            title="What is left out",
            panels=[
                Panel(
                    title="Share of records suppressed",
                    description="Visits and points left out of released windows, as a share of all visits and points "
                    "in these windows, over the last hour.",
                    unit="percentunit",
                    queries=[(share_of_an_hour("suppressed", "released", "suppressed"), FEED_LEGEND)],
                ),
                Panel(
                    title="Visits and points by outcome",
                    description="Visits and points in the windows of the last hour: released, suppressed or withheld.",
                    unit="short",
                    look="stack",
                    queries=[(f"sum by (kind, outcome) (increase({_ENDED}[1h]))", "{{kind}} {{outcome}}")],
                ),
                Panel(
                    title="Records that came too late or twice",
                    description="Late records are in no window. A longer window.allowed_lateness keeps them, but "
                    "delays releases. Duplicates are dropped without loss.",
                    unit="recps",
                    queries=[
                        (
                            f"sum by (kind, outcome) ({rate(records('late', 'duplicate'))})",
                            "{{kind}} {{outcome}}",
                        )
                    ],
                ),
            ],
        ),
        Row(
            title="Stops",
            panels=[
                Panel(
                    title="Stops by outcome",
                    description="Stops that were found in fragments in the last hour. Suppressed: left out by the "
                    "model. Withheld: their window had too few people, or another reason. Nowhere: outside all "
                    "locations. Empty if no stops are released.",
                    unit="short",
                    look="stack",
                    queries=[(f"sum by (outcome) (increase({series('shoal_stops_total')}[1h]))", "{{outcome}}")],
                ),
            ],
        ),
        Row(
            title="Sizes",
            panels=[
                Panel(
                    title="People and trajectories of the last release",
                    description="Distinct people, if their number is published, and trajectories. With more of them, "
                    "the loss is lower for the same k.",
                    unit="short",
                    queries=[
                        (per_feed("max", series("shoal_release_people")), "people: {{kind}} {{model}}"),
                        (per_feed("max", series("shoal_release_trajectories")), "trajectories: {{kind}} {{model}}"),
                    ],
                ),
                Panel(
                    title="Visits and points of the last release",
                    description="Visits and points in one release.",
                    unit="short",
                    queries=[(per_feed("max", series("shoal_release_points")), FEED_LEGEND)],
                ),
                Panel(
                    title="Locations released as one",
                    description="Check-ins: mean number of members of a generalized location. 1 means that locations "
                    "are released unchanged.",
                    unit="short",
                    queries=[(_loss("generalized_size"), measure)],
                ),
            ],
        ),
    ]
    return document(
        "shoal-utility",
        "Shoal: utility",
        "What the promise costs: published figures of the last release of each worker.",
        rows,
    )


def _loss(*measures: str) -> str:
    return per_feed("max", series("shoal_information_loss", measure=measures), "measure")
