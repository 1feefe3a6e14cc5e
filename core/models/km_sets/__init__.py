"""k^m-anonymity of sets of locations: Apriori, LRA, VPA, COAT and PCTA (see README.md)."""

from core.models.common.family import Family, ModelSummary
from core.models.km_sets import measure, plan, release
from core.models.km_sets.released import LocationSet
from core.models.km_sets.settings import KmSetSettings
from core.records.record import Kind
from core.utility.published import LOCATION_FIGURES

__all__ = ["FAMILY"]

FAMILY = Family(
    summaries={
        "sets-apriori": ModelSummary(
            needs="`taxonomy`; generalizes along it, for all people alike",
        ),
        "sets-lra": ModelSummary(
            needs="`taxonomy`; generalizes along it, in parts of people who are alike",
        ),
        "sets-vpa": ModelSummary(
            needs="`taxonomy`; generalizes along it, first below each of its highest nodes alone",
        ),
        "coat": ModelSummary(
            also="no location is generalized with one of another constraint",
            needs="`constraints`; merges the rarest location of what is too rare, and suppresses up to "
            "`suppression_percent` of the locations",
        ),
        "pcta": ModelSummary(
            also="no location is generalized with one of another constraint",
            needs="`constraints`; merges what costs least, and suppresses up to `suppression_percent` of the locations",
        ),
    },
    promise="an adversary who knows up to `m` locations of a person, in no order, finds at least `k` people who match, "
    "or nobody",
    figures=LOCATION_FIGURES,
    parameters={
        "taxonomy": "The taxonomy along which locations are generalized.",
        "constraints": "The utility constraints.",
        "people_per_part": "People of each part; the last parts may have more.",
    },
    released=LocationSet,
    kind=Kind.CHECKINS,
    settings=KmSetSettings,
    plan=plan.make_plan,
    assemble=release.assemble,
    anonymize=release.anonymize,
    candidate=release.candidate,
    verify=release.verify,
    publish=release.publish,
    loss=measure.loss,
    measure=measure.measure,
    answers=measure.answers,
    measures_meaning=True,
    check=plan.check,
)
