"""k^m-anonymity of sequences: SeqAnon, SD-SeqAnon, U-SeqAnon, least loss, and the best of several (see README.md)."""

from core.models.common.family import Family, ModelSummary, Variant
from core.models.common.sequences import SequenceTrajectory
from core.models.km import measure, plan, release
from core.models.km.settings import KmSettings
from core.records.record import Kind
from core.utility.published import LOCATION_FIGURES

__all__ = ["FAMILY"]

FAMILY = Family(
    summaries={
        "seqanon": ModelSummary(
            needs="nothing more; merges locations that are near",
        ),
        "sd-seqanon": ModelSummary(
            needs="`taxonomy`; merges locations that are near and alike in meaning",
        ),
        "u-seqanon": ModelSummary(
            needs="`constraints`; merges locations, and suppresses up to `suppression_percent` of them",
            also="no location is merged with one of another constraint",
        ),
        "least-loss": ModelSummary(
            needs="nothing more; merges locations, suppresses visits (`max_suppressed`) or splits trajectories "
            "(`max_split`), whichever loses least",
            page="least_loss.md",
        ),
        "auto": ModelSummary(
            needs="nothing more; takes for each window what loses least of `least-loss`, `seqanon` and `sd-seqanon`",
            page="least_loss.md",
        ),
    },
    promise="an adversary who knows up to `m` locations of a person, in order, finds at least `k` people who match, "
    "or nobody; with a `horizon` also in several windows together",
    figures=LOCATION_FIGURES | {"semantic_penalty": "Mean loss of meaning by the taxonomy, from 0 to 1."},
    parameters={
        "taxonomy": "Name of the taxonomy.",
        "constraints": "Name of the constraints.",
        "max_suppressed": "`privacy.max_suppressed`, percent.",
        "max_split": "`privacy.max_split`, percent.",
        "candidates": "Models that were compared.",
        "chosen": "The model among these that lost least in this window.",
    },
    released=SequenceTrajectory,
    kind=Kind.CHECKINS,
    settings=KmSettings,
    check=plan.check,
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
    variants=(
        Variant(name="SeqAnon_F", model="seqanon", given={"apriori": False}),
        Variant(
            name="suppression only",
            model="least-loss",
            given={"suppression_price": 0, "max_suppressed": 100, "max_split": 0},
        ),
    ),
)
