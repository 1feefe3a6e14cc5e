"""The settings of ``rum-bound`` and ``tum-bound``, in the section ``privacy``."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from core.models.common.settings import HorizonSettings

__all__ = ["KKmSettings"]


class KKmSettings(HorizonSettings):
    """The settings that only these models have."""

    max_loss: Annotated[float, Field(ge=0, le=1)] = 0.65
    """Largest loss of attributes (NCP) under ``rum-bound``, of locations (UL) under ``tum-bound``; a window that cannot
    keep it is withheld."""

    merge: Literal["r", "t", "rt"] = "rt"
    """Which groups ``rum-bound`` and ``tum-bound`` unite: those alike in attributes, in locations, or in both."""

    alike_by: Literal["btd", "ul"] = "btd"
    """How ``rum-bound`` and ``tum-bound`` judge whether groups are alike in locations: by a fast distance, or by the
    loss UL of generalizing them together, as the papers' slow variants do. Has no effect with ``merge: r``."""

    ul_candidates: Annotated[int, Field(ge=1, le=10_000)] = 5
    """For how many groups, the most alike ones by the fast distance, UL is computed before each merge, with
    ``alike_by: ul``."""
