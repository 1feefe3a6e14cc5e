"""The path of a record, in order. Read this first.

    intake.py             validate -> locate -> shard     a batch of records in, a chunk of rows per shard out
    partition.py          window -> seal                  chunks in, the rows of one sealed window out
    release_window        assemble -> anonymize -> verify a sealed window in, what may leave out
        release_sequences.py      check-ins:  sequences of locations, generalize.py (SeqAnon), k^m-anonymity
        release_clusters.py       check-ins:  the same in clusters of people, organize.py (ZGA, SGA), (k,l)^m-anonymity
        release_patterns.py       check-ins:  sequences as they are, p2ka.py (BF-P2kA), pattern-preserving k-anonymity
        release_pairs.py          check-ins:  visits with slots of time, suppress.py, LKC-privacy
        release_attributes.py     check-ins:  attributes and sets of locations, rt/ (Rum-bound), (k,k^m)-anonymity
        release_sets.py           check-ins:  sets of locations in parts, disassociation/, disassociated k^m
        release_points.py         fragments:  GPS trajectories, colocate.py (Wait for Me), (k,delta)-anonymity

``stream/ingest.py`` and ``stream/windows.py`` run these stages between Kafka topics; ``stream/replay.py`` runs the
same ones on files.
"""

from __future__ import annotations

from core.plan import AttributePlan, ClusterPlan, PairPlan, PatternPlan, Plan, PointPlan, SequencePlan, SetPlan
from core.records import Rows
from core.release import Outcome, WithholdReason
from core.release_attributes import release_attributes
from core.release_clusters import release_clusters
from core.release_pairs import release_pairs
from core.release_patterns import release_patterns
from core.release_points import release_points
from core.release_sequences import release_sequences
from core.release_sets import release_sets
from core.seal import Seal

__all__ = ["release_window"]


def release_window(seal: Seal, rows: Rows, plan: Plan) -> Outcome:  # noqa: PLR0911 - one for each plan
    """Anonymize and verify the rows of a sealed window. The same arguments give the same bytes, anywhere.

    A window that was sealed under other settings, or whose records are no longer all there, is withheld: released now
    it could be compared with what may already have left.
    """
    if seal.digest != plan.digest:
        return plan.withhold(seal, WithholdReason.SETTINGS_CHANGED, withheld=len(rows))
    if len(rows) != seal.n_rows:
        return plan.withhold(seal, WithholdReason.RECORDS_MISSING, withheld=len(rows))
    match plan:
        case SequencePlan():
            return release_sequences(seal, rows, plan)
        case ClusterPlan():
            return release_clusters(seal, rows, plan)
        case PatternPlan():
            return release_patterns(seal, rows, plan)
        case PairPlan():
            return release_pairs(seal, rows, plan)
        case AttributePlan():
            return release_attributes(seal, rows, plan)
        case SetPlan():
            return release_sets(seal, rows, plan)
        case PointPlan():
            return release_points(seal, rows, plan)
