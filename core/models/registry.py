"""The list of all families of models. A new family is a folder beside this file and an entry in :data:`FAMILIES`.

All other code asks this module which models a kind of feed has, which settings there are and how a window is released.
"""

from __future__ import annotations

from typing import Any

from core.models import disassociation, flows, kdelta, kkm, klm, km, km_sets, lkc, p2ka
from core.models.common.family import Family
from core.models.disassociation.settings import DisassociationSettings
from core.models.flows.settings import FlowSettings
from core.models.kdelta.settings import KDeltaSettings
from core.models.kkm.settings import KKmSettings
from core.models.klm.settings import KLmSettings
from core.models.km.settings import KmSettings
from core.models.km_sets.settings import KmSetSettings
from core.models.lkc.settings import LKCSettings
from core.models.p2ka.settings import P2kASettings
from core.records.record import Kind

__all__ = ["FAMILIES", "CheckInModelSettings", "FragmentModelSettings", "family_of", "models_of"]

FAMILIES: tuple[Family[Any, Any, Any, Any, Any], ...] = (
    km.FAMILY,
    klm.FAMILY,
    lkc.FAMILY,
    p2ka.FAMILY,
    kkm.FAMILY,
    km_sets.FAMILY,
    disassociation.FAMILY,
    flows.FAMILY,
    kdelta.FAMILY,
)
"""In the order in which models are listed; the first model of a kind of feed is its default."""


class CheckInModelSettings(
    FlowSettings,
    KmSettings,
    KmSetSettings,
    P2kASettings,
    DisassociationSettings,
    KKmSettings,
    LKCSettings,
    KLmSettings,
):
    """The settings of all models of check-ins; `check-config` prints those of the last class first."""


class FragmentModelSettings(KDeltaSettings):
    """The settings of all models of fragments."""


def models_of(kind: Kind) -> tuple[str, ...]:
    """Return the names of the models of a kind of feed, the default first."""
    return tuple(model for family in FAMILIES if family.kind is kind.model_kind for model in family.models)


def family_of(model: str) -> Family[Any, Any, Any, Any, Any]:
    """Return the family of a model.

    Raises:
        KeyError: No family has this model.
    """
    return _FAMILY_OF[model]


_FAMILY_OF = {model: family for family in FAMILIES for model in family.models}
