"""The settings of the SeqAnon family, in the section ``privacy``."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from core.models.common.settings import HorizonSettings, SuppressionSettings

__all__ = ["KmSettings"]


class KmSettings(SuppressionSettings, HorizonSettings):
    """The settings that these models have beside those that all share."""

    apriori: bool = True
    """Whether ``seqanon`` protects subtrajectories of 1, 2, ... ``m`` locations in turn. If not, those of ``m``
    locations come first: the slower algorithm SeqAnon_F, with which the paper compares."""

    suppression_price: Annotated[float, Field(ge=0, le=1_000)] = 1.0
    """Price of a suppressed visit in ``least-loss`` and ``auto``, and in all models of the SeqAnon family with a
    ``horizon``. At 1 it costs as much as a visit that is generalized to one location for the whole window. At 0 visits
    are suppressed first, up to ``max_suppressed``."""

    split_price: Annotated[float, Field(ge=0, le=1_000)] = 1.0
    """Price of splitting a trajectory in two, for ``least-loss`` and ``auto``, on the same scale. The two parts get
    different pseudonyms, and their order is not published."""

    max_suppressed: Annotated[float, Field(ge=0, le=100)] = 5.0
    """Most visits of a window that ``least-loss`` may suppress, percent. More only if even one location for the
    whole window requires it, or a ``horizon``."""

    max_split: Annotated[float, Field(ge=0, le=100)] = 5.0
    """Most splits, in percent of a window's trajectories, for ``least-loss`` and ``auto``."""

    max_work: Annotated[int, Field(ge=1)] = 50_000_000
    """Most subtrajectories that ``auto`` may examine in a window, over all models that it tries; ``least-loss`` is
    always tried. A count, not a time limit, so that a replay makes the same choice."""
