"""For whoever uses the releases: what the promise costs."""

from __future__ import annotations

from deploy.grafana.build import Panel, Row, document
from deploy.grafana.queries import FEED_LEGEND, per_feed, rate, records, series, share_of_an_hour

__all__ = ["utility"]

_SHARES = ("distance_share", "generalized_distance_share", "semantic_penalty")
_ENDED = records("released", "suppressed", "withheld")


def utility() -> str:
    """Return what the promise costs those who use the releases."""
    measure = "{{kind}} {{model}}: {{measure}}"
    rows = [
        Row(
            title="Loss of the last release",
            panels=[
                Panel(
                    title="Distance from the truth",
                    description="Check-ins: expected distance from a visited location to what is released for it. "
                    "Fragments: mean distance that a point was moved.",
                    unit="lengthm",
                    queries=[(_loss("distance_m", "mean_space_translation_m"), measure)],
                ),
                Panel(
                    title="Shift in time",
                    description="Fragments: mean time between a point and the one released for it. Check-ins are "
                    "released without times.",
                    unit="s",
                    queries=[(_loss("mean_time_translation_s"), measure)],
                ),
                Panel(
                    title="Relative loss of check-ins",
                    description="0 is no loss. Distance as a share of the widest distance in the release; distance "
                    "between the members of a generalized location; with sd-seqanon the penalty of mixing meanings.",
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
                    description="Visits and points left out of released windows, as a share of those in them, over the "
                    "last hour.",
                    unit="percentunit",
                    queries=[(share_of_an_hour("suppressed", "released", "suppressed"), FEED_LEGEND)],
                ),
                Panel(
                    title="Where records of windows ended",
                    description="Visits and points of the windows of the last hour: released, suppressed or withheld.",
                    unit="short",
                    look="stack",
                    queries=[(f"sum by (kind, outcome) (increase({_ENDED}[1h]))", "{{kind}} {{outcome}}")],
                ),
                Panel(
                    title="Records that came too late or twice",
                    description="Late records are in no window: more allowed lateness keeps them and delays releases. "
                    "Duplicates cost nothing.",
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
            title="Sizes",
            panels=[
                Panel(
                    title="People and trajectories of the last release",
                    description="Distinct people where that may be told, and trajectories. The more of them, the less "
                    "is lost for the same k.",
                    unit="short",
                    queries=[
                        (per_feed("max", series("shoal_release_people")), "people: {{kind}} {{model}}"),
                        (per_feed("max", series("shoal_release_trajectories")), "trajectories: {{kind}} {{model}}"),
                    ],
                ),
                Panel(
                    title="Visits and points of the last release",
                    description="How much one window holds.",
                    unit="short",
                    queries=[(per_feed("max", series("shoal_release_points")), FEED_LEGEND)],
                ),
                Panel(
                    title="Locations released as one",
                    description="Check-ins: mean number of members of a generalized location. 1 would be the truth.",
                    unit="short",
                    queries=[(_loss("generalized_size"), measure)],
                ),
            ],
        ),
    ]
    return document(
        "shoal-utility",
        "Shoal: utility",
        "What the promise costs: figures of the last release of each worker, which PRIVACY.md allows to be told.",
        rows,
    )


def _loss(*measures: str) -> str:
    return per_feed("max", series("shoal_information_loss", measure=measures), "measure")
