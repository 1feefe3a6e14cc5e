"""How fragments are anonymized: from settings to the model of trajectories."""

from __future__ import annotations

from core.anonymize.bounding import BoundedOptions
from core.anonymize.never_walk_alone import NeverWalkAloneOptions
from core.anonymize.segmentation import SegmentationOptions
from core.anonymize.wait4me import Wait4MeOptions
from core.colocate import BoundedWaitForMe, Colocator, NeverWalkAlone, SegmentedWaitForMe, WaitForMe
from stream.settings import PrivacySettings

__all__ = ["colocator"]


def colocator(privacy: PrivacySettings) -> Colocator:
    """Build the model that ``privacy.model`` names, W4M where it names none."""
    if privacy.model == "nwa":
        return NeverWalkAlone(
            options=NeverWalkAloneOptions(
                translation=privacy.translation,
                time_step_ms=privacy.time_step,
                max_radius_m=privacy.max_radius_m,
                trash_share=privacy.trash_share,
                refined=privacy.refinement,
                granularity_ms=privacy.granularity,
            )
        )
    options = Wait4MeOptions(
        translation=privacy.translation,
        time_step_ms=privacy.time_step,
        max_radius_m=privacy.max_radius_m,
        trash_share=privacy.trash_share,
        refined=privacy.refinement,
        distance=privacy.distance,
        time_tolerance_s=privacy.time_tolerance / 1000,
        space_tolerance_m=privacy.space_tolerance_m,
        max_radius_edits=privacy.max_radius_edits,
        chunk_size=privacy.chunk_size,
    )
    if privacy.model == "pw4m-tr":
        segmentation = SegmentationOptions(
            sigma_m=privacy.sigma_m, window=privacy.segment_window, threshold=privacy.segment_threshold
        )
        return SegmentedWaitForMe(options=options, segmentation=segmentation)
    if privacy.model == "bounded-pw4m":
        bound = BoundedOptions(
            improvement=privacy.improvement,
            edit_factor=privacy.edit_factor,
            step_percent=privacy.edit_step_percent,
        )
        return BoundedWaitForMe(options=options, sigma_m=privacy.sigma_m, bound=bound)
    return WaitForMe(options=options, personal=privacy.model == "pw4m")
