"""The privacy dashboard, for people responsible for a release: what is promised, and what is observed."""

from __future__ import annotations

from deploy.grafana.build import Panel, Row, document
from deploy.grafana.queries import FEED_LEGEND, only_what_happens, per_feed, series, share_of_an_hour

__all__ = ["privacy"]

_KIND = "{{kind}}"


def privacy() -> str:
    """Return the privacy dashboard."""
    rows = [
        Row(
            title="Is the promise kept?",
            height=5,
            panels=[
                _breaches(
                    "Refused windows",
                    "Windows that the verifier refused, in the time shown. Nothing of them was published. Even one "
                    "means a bug in Shoal: read the log first (window_alarm).",
                    series("shoal_windows_total", outcome="refused"),
                ),
                _breaches(
                    "Releases below k",
                    "Released windows with a smallest support below k, in the time shown. Even one is a breach.",
                    series("shoal_windows_below_promise_total"),
                ),
                _breaches(
                    "Attacks above 1/k",
                    "Released windows in which a simulated attacker found a person with a probability above 1/k, in "
                    "the time shown. Even one is a breach.",
                    series("shoal_windows_above_promised_risk_total"),
                ),
                Panel(
                    title="Feeds",
                    description="The model and the kind of shards of each feed. Each shard is anonymized on its own.",
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
                    description="Smallest support of the last release, least over all workers, and the promised k, "
                    "dashed. The line must never go below the dashed one. Windows between two scrapes are not drawn; "
                    "the figures above count them.",
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
                    "release, and 1/k, dashed. The attack is simulated on a sample of the people; PRIVACY.md describes "
                    "the adversary's knowledge.",
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
                    description="The same probability, as the mean over the people attacked: the risk of an average "
                    "person.",
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
            title="From window to window",
            panels=[
                Panel(
                    title="People followed above the promise",
                    description="Released windows in which a simulated attacker followed more of a unit's people into "
                    "the next window than the settings promise, in the time shown. Even one is a breach. Without a "
                    "promise over windows it is always 0.",
                    unit="short",
                    look="figure",
                    red_from=0.5,
                    queries=[
                        (
                            per_feed(
                                "sum", f"increase({series('shoal_windows_above_promised_linkage_total')}[$__range])"
                            ),
                            FEED_LEGEND,
                        )
                    ],
                ),
                Panel(
                    title="Best chance of following someone",
                    description="Fragments: the largest share of a set's people whom a simulated attacker follows from "
                    "one release of a shard to the next. Check-ins: the share of right guesses among the surest tenth. "
                    "Dashed: what the settings promise, if they promise anything over windows.",
                    unit="percentunit",
                    dashed="B",
                    queries=[
                        (per_feed("max", series("shoal_linkage_risk", statistic="highest")), FEED_LEGEND),
                        (f"max by (kind) ({series('shoal_promised_linkage_risk')})", f"promised: {_KIND}"),
                    ],
                ),
                Panel(
                    title="Mean chance of following someone",
                    description="Mean probability with which this attacker follows a person to the next window, and "
                    "that of a blind guess, dashed.",
                    unit="percentunit",
                    dashed="B",
                    queries=[
                        (per_feed("max", series("shoal_linkage_risk", statistic="mean")), FEED_LEGEND),
                        (per_feed("max", series("shoal_linkage_risk", statistic="chance")), f"blind: {FEED_LEGEND}"),
                    ],
                ),
            ],
        ),
        Row(
            title="Differential privacy",
            panels=[
                Panel(
                    title="Epsilon spent in a day",
                    description="Sum of the epsilons of windows that were released in the last 24 hours with noise, "
                    "over all shards. A person who is in one shard alone has spent at most this much; compare it with "
                    "privacy.epsilon_per_day. Empty if no feed adds noise.",
                    unit="short",
                    queries=[(per_feed("sum", f"increase({series('shoal_epsilon_spent_total')}[24h])"), FEED_LEGEND)],
                ),
            ],
        ),
        Row(
            title="What is not released",
            panels=[
                Panel(
                    title="Windows by outcome",
                    description="Windows of the last hour. Withheld: there were too few people, or another reason in "
                    "the next panel. Refused: the verifier found a violation.",
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
                    description="Windows of the last hour without a release, by reason; 0 if there are none. If many "
                    "have too few people, use longer windows, larger shards or a smaller k.",
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
                    description="Records in withheld windows, as a share of all records in windows of the last hour. "
                    "It is high if windows often have too few people.",
                    unit="percentunit",
                    queries=[(share_of_an_hour("withheld", "released", "suppressed", "withheld"), FEED_LEGEND)],
                ),
            ],
        ),
    ]
    return document(
        "shoal-privacy",
        "Shoal: privacy",
        "What Shoal promises, what its verifier and its simulated attackers observe, and what it withholds.",
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
