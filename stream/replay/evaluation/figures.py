"""The figures of an evaluation: what each means, in one line, and which direction is better."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["FIGURES", "STATED", "FigureMeaning"]

Better = Literal["lower", "higher", "-"]


@dataclass(frozen=True, slots=True)
class FigureMeaning:
    """What a figure means."""

    meaning: str
    unit: str = ""
    better: Better = "lower"


def _share(meaning: str, better: Better = "lower") -> FigureMeaning:
    return FigureMeaning(meaning, "0..1", better)


FIGURES: dict[str, FigureMeaning] = {
    "journeys": FigureMeaning("Journeys: what one person did in one window.", better="-"),
    "journeys_kept_share": FigureMeaning("Released journeys per raw journey.", better="higher"),
    "visits_kept_share": FigureMeaning("Released visits or points per raw one.", better="higher"),
    "heat_map_divergence": _share("Jensen-Shannon divergence of visits per cell: 0 is the same map."),
    "od_divergence": _share("The same of where journeys begin and end, cell by cell."),
    "trip_length_shift_m": FigureMeaning("How far lengths of journeys moved, on average (Wasserstein-1).", "m"),
    "gyration_shift_m": FigureMeaning("The same of the radius within which a journey stays.", "m"),
    "range_distortion_possibly": _share("Error of counts of people who were possibly sometime in a disc (PSI)."),
    "range_distortion_definitely": _share("Error of counts of people who were definitely always in a disc (DAI)."),
    "people_paired": FigureMeaning("People with the same id in both.", better="-"),
    "people_missing": FigureMeaning("People of the raw feed whose id is not in the release: the trash."),
    "points_trashed": FigureMeaning("Points of these missing people."),
    "points_created": FigureMeaning("Released points of paired people that have no raw one."),
    "points_deleted": FigureMeaning("Raw points of paired people that have no released one."),
    "translation_m": FigureMeaning("Mean distance from the i-th raw to the i-th released point, paired evenly.", "m"),
    "translation_s": FigureMeaning("Mean time between the points of these pairs.", "s"),
    "distance_at_time_m": FigureMeaning("Mean distance between raw and released position at the same time.", "m"),
    "are": FigureMeaning("Average relative error of counts of people who visited one or two places, in order."),
    "kl_locations": FigureMeaning("Kullback-Leibler divergence of the supports of locations.", "nats"),
    "kl_locations_lost": _share("Share of these supports whose location is not released."),
    "kl_pairs": FigureMeaning("The same divergence of pairs of locations, in order.", "nats"),
    "kl_pairs_lost": _share("Share of these supports whose pair is not released."),
    "patterns_frequent": FigureMeaning("Frequent sequential patterns of the raw feed.", better="-"),
    "patterns_kept": _share("Share of them that the release has.", "higher"),
    "patterns_invented": _share("Share of the release's patterns that the raw feed does not have."),
    "sim1": _share("How near supports of the release's k-frequent patterns are to the raw ones (SIM1).", "higher"),
    "sim2": _share("How near their number is to that of the raw feed (SIM2).", "higher"),
    "tkd": _share("Share of the 1000 most frequent sets of locations that is not among the release's (tKd)."),
    "re": FigureMeaning("Mean relative error of the supports of pairs of frequent locations (re).", "0..2"),
    "ul": _share("Utility lost to generalized locations; a person without any location counts 1 (UL)."),
    "risk_raw_highest": _share(
        "Highest probability of finding a person in the raw feed by known visits, in order.", "-"
    ),
    "risk_raw_mean": _share("Mean of it over people.", "-"),
    "risk_highest": _share("Highest probability of telling a released person from all others by such visits."),
    "risk_mean": _share("Mean of it over released people."),
    "risk_above_1_k": _share("Share of released people above 1/k."),
    "risk_paired_highest": _share(
        "Highest probability of finding one of 200 people in the release by raw places that are known."
    ),
    "risk_paired_mean": _share("Mean of it."),
    "risk_paired_times_highest": _share("Highest probability with a raw position and its time."),
    "risk_paired_times_mean": _share("Mean of it."),
}
"""In the order in which they are shown."""

STATED = FigureMeaning("As the release itself states it.", better="-")
"""The meaning of figures that windows messages have."""
