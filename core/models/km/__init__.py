"""k^m-anonymity of sequences: SeqAnon, SD-SeqAnon, U-SeqAnon, least loss, and the best of several (see README.md)."""

from core.models.common.family import Family, ModelSummary, Variant
from core.models.common.sequences import SequenceTrajectory
from core.models.km import measure, plan, release
from core.models.km.settings import KmSettings
from core.records.record import Kind

__all__ = ["FAMILY"]

_PROMISE = "an adversary who knows up to `m` locations of a person, in order, finds at least `k` people who match"

FAMILY = Family(
    models=("seqanon", "sd-seqanon", "u-seqanon", "least-loss", "auto"),
    summaries=(
        ModelSummary(
            models=("seqanon",),
            promise=_PROMISE,
            needs="nothing more; merges locations that are near",
        ),
        ModelSummary(
            models=("sd-seqanon",),
            promise=_PROMISE,
            needs="`taxonomy`; merges locations that are near and alike in meaning",
        ),
        ModelSummary(
            models=("u-seqanon",),
            promise=f"{_PROMISE}; no location is merged with one of another constraint",
            needs="`constraints`; merges locations, and suppresses up to `suppression_percent` of them",
        ),
        ModelSummary(
            models=("least-loss",),
            promise=_PROMISE,
            needs="nothing more; merges locations, suppresses visits (`max_suppressed`) or splits trajectories "
            "(`max_split`), whichever loses least",
            page="least_loss.md",
        ),
        ModelSummary(
            models=("auto",),
            promise=_PROMISE,
            needs="nothing more; takes for each window what loses least of `least-loss`, `seqanon` and `sd-seqanon`",
            page="least_loss.md",
        ),
    ),
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
    measures_meaning=True,
    variants=(
        Variant(
            name="suppression only",
            model="least-loss",
            given={"suppression_price": 0, "max_suppressed": 100, "max_split": 0},
        ),
    ),
)
