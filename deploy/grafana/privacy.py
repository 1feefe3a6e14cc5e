"""For whoever answers for the people in the feed: what is promised, and what is observed."""

from __future__ import annotations

from deploy.grafana.build import Panel, Row, document
from deploy.grafana.queries import FEED_LEGEND, only_what_happens, per_feed, series, share_of_an_hour

__all__ = ["privacy"]

_KIND = "{{kind}}"


def privacy() -> str:
    """Return what is promised, what was observed, and what does not leave."""
    rows = [
        Row(
            title="Is the promise kept?",
            height=5,
            panels=[
                _breaches(
                    "Refused windows",
                    "Windows that verification has stopped, in the time shown. Nothing of them has left. One is a "
                    "fault of ours: look at the log (window_alarm) before anything else.",
                    series("shoal_windows_total", outcome="refused"),
                ),
                _breaches(
                    "Releases below k",
                    "Released windows that show something with fewer than k people behind it, in the time shown. "
                    "One is a breach.",
                    series("shoal_windows_below_promise_total"),
                ),
                _breaches(
                    "Attacks above 1/k",
                    "Released windows in which a simulated attacker found somebody with a probability above 1/k, in "
                    "the time shown. One is a breach.",
                    series("shoal_windows_above_promised_risk_total"),
                ),
                Panel(
                    title="Feeds",
                    description="Which model each feed runs, and what is anonymized on its own.",
                    unit="none",
                    look="names",
                    width=6,
                    queries=[
                        (
                            f"max by (kind, model, shard_kind) ({series('shoal_feed_info')})",
                            "{{kind}}: {{model}}, shards: {{shard_kind}}",
                        )
                    ],
                ),
            ],
        ),
        Row(
            title="Promise and observation",
            panels=[
                Panel(
                    title="People promised and observed",
                    description="Fewest people behind anything that the last release shows, of the worker with the "
                    "fewest, and k, dashed. The line must never go below the dashes. Windows between two scrapes are "
                    "not drawn; the figures above count them.",
                    unit="short",
                    dashed="B",
                    queries=[
                        (per_feed("min", series("shoal_smallest_support")), f"observed: {FEED_LEGEND}"),
                        (f"max by (kind) ({series('shoal_promised_k')})", f"promised: {_KIND}"),
                    ],
                ),
                Panel(
                    title="Best chance of an attacker",
                    description="Highest probability with which a simulated attacker finds one person in the last "
                    "release, and 1/k, dashed. The attacker has a sample of the people; see PRIVACY.md for what is "
                    "known to whom.",
                    unit="percentunit",
                    dashed="B",
                    queries=[
                        (
                            per_feed("max", series("shoal_reidentification_risk", statistic="highest"), "attack"),
                            "{{kind}} {{model}}: {{attack}}",
                        ),
                        (f"1 / min by (kind) ({series('shoal_promised_k')})", f"1/k: {_KIND}"),
                    ],
                ),
                Panel(
                    title="Mean chance of an attacker",
                    description="The same probability, mean over the people attacked: what a person in the crowd "
                    "should expect.",
                    unit="percentunit",
                    queries=[
                        (
                            per_feed("max", series("shoal_reidentification_risk", statistic="mean"), "attack"),
                            "{{kind}} {{model}}: {{attack}}",
                        )
                    ],
                ),
            ],
        ),
        Row(
            title="What does not leave",
            panels=[
                Panel(
                    title="Windows by what became of them",
                    description="Windows of the last hour. Withheld: the crowd was too small, or something else below. "
                    "Refused: verification stopped it.",
                    unit="short",
                    look="stack",
                    queries=[
                        (
                            per_feed("sum", f"increase({series('shoal_windows_total')}[1h])", "outcome"),
                            f"{{{{outcome}}}} {FEED_LEGEND}",
                        )
                    ],
                ),
                Panel(
                    title="Withheld windows by reason",
                    description="Windows of the last hour of which nothing left, by reason; 0 where there was none. "
                    "Many with too few people: longer windows, larger shards or a smaller k.",
                    unit="short",
                    look="stack",
                    queries=[
                        (
                            only_what_happens(
                                per_feed("sum", f"increase({series('shoal_withheld_windows_total')}[1h])", "reason")
                            ),
                            f"{{{{reason}}}} {FEED_LEGEND}",
                        )
                    ],
                ),
                Panel(
                    title="Share of records withheld",
                    description="Records in withheld windows among all records of the windows of the last hour. It "
                    "tells how much of the feed the crowd is too small for.",
                    unit="percentunit",
                    queries=[(share_of_an_hour("withheld", "released", "suppressed", "withheld"), FEED_LEGEND)],
                ),
            ],
        ),
    ]
    return document(
        "shoal-privacy",
        "Shoal: privacy",
        "What Shoal promises, what its verifier and its simulated attackers observe, and what it holds back.",
        rows,
    )


def _breaches(title: str, description: str, counter: str) -> Panel:
    return Panel(
        title=title,
        description=description,
        unit="short",
        look="figure",
        red_from=0.5,
        width=6,
        queries=[(per_feed("sum", f"increase({counter}[$__range])"), FEED_LEGEND)],
    )
