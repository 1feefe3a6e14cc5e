"""The section ``privacy``: what all models share; the settings of each stand in its folder in ``core/models``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr
from pydantic_settings import NoDecode

from core.models.registry import CheckInModelSettings, FragmentModelSettings, models_of
from core.records.record import Kind
from stream.settings.secret import check_secret
from stream.settings.section import Section
from stream.settings.values import FieldName, Text, separated_by_commas

__all__ = ["PrivacySettings"]

if TYPE_CHECKING:
    ModelName = str
else:
    ModelName = Literal[*models_of(Kind.CHECKINS), *models_of(Kind.FRAGMENTS)]


def _listed() -> str:
    """List the models of check-ins as prose."""
    default, *others, last = (f"``{model}``" for model in models_of(Kind.CHECKINS))
    return f"{default} (the default), {', '.join(others)} or {last}"


class _PromiseSettings(Section):
    """Who is protected from whom, and what is known of the places."""

    model: Annotated[
        ModelName | None,
        Field(
            description=f"{_listed()} for check-ins; the others for fragments, of which "
            f"``{models_of(Kind.FRAGMENTS)[0]}`` is the default. ``w4m`` and ``nwa`` leave out people who demand more "
            "than ``k`` and ``delta_m``; the others give it to their sets, ``bounded-pw4m`` as far as the distortion "
            "allows."
        ),
    ] = None

    k: Annotated[int, Field(ge=2)] = 5
    """The least number of people that anything released has in common."""

    m: Annotated[int, Field(ge=1, le=10)] = 2
    """How many places of a person an adversary may know, for models of check-ins."""

    delta_m: Annotated[float, Field(gt=1, le=1_000_000)] = 500.0
    """How far apart those who cannot be told apart are at most, metres, for models of fragments."""

    demands_file: Path | None = None
    """What users demand where a fragment of theirs does not say it: a CSV with the header ``user,k,delta_m``, where an
    empty value demands nothing. Read at the start."""

    taxonomy: str = "own"
    """How alike locations are in meaning, for ``sd-seqanon`` and levels of ``constraints``: ``own`` (H3 parents, grid
    quadrants), or a CSV with the header ``category,parent``, where ``location.venues_file`` has a ``category``."""

    default_category: str | None = None
    """Category of venues whose own is empty or not in the taxonomy; without it every venue must have one."""

    constraints: str | None = None
    """Which locations may be generalized together, for ``u-seqanon``: ``level:N`` of the taxonomy, or a CSV with the
    header ``location,constraint``."""

    default_constraint: str | None = None
    """Constraint of locations that the CSV does not list; without it every venue must be listed."""

    l: Annotated[int, Field(ge=2)] = 2  # noqa: E741 - the name the guarantee is known by
    """Of the people who match, at most one in ``l`` was at one of ``sensitive_locations``, for ``lm-anon``, ``zga``,
    ``sga``, ``rum-bound`` and ``tum-bound``."""

    sensitive_locations: Annotated[tuple[str, ...], BeforeValidator(separated_by_commas), NoDecode] = ()
    """Locations that are sensitive for these models, by name, a list or separated by commas; ``category:NAME`` is every
    venue of a category of ``taxonomy``. They are released as they are, or not at all."""


class _PeopleSettings(Section):
    """What check-ins state about their person, and the key of pseudonyms."""

    attributes: dict[FieldName, Text] = {}  # noqa: RUF012 - pydantic copies it
    """What check-ins tell of their person: for a field's name ``LOW..HIGH``, whole numbers, or a CSV with the header
    ``category,parent``, of which every category is a value. A record that lacks one, or has another value, is rejected;
    all combinations of values together must fit 32 bits."""

    sensitive_field: FieldName | None = None
    """Field of a check-in that tells something sensitive of its person, beside ``attributes``."""

    sensitive_values: Annotated[tuple[str, ...], BeforeValidator(separated_by_commas), NoDecode] = ()
    """The values of ``sensitive_field`` that are sensitive, a list or separated by commas; no other is."""

    secret: Annotated[SecretStr | None, AfterValidator(check_secret)] = None
    """Key of pseudonyms and random choices: at least 16 characters beside white space at the ends, at least 5 of them
    different. A worker does not start without it; ``shoal secret`` prints a new one."""


class PrivacySettings(FragmentModelSettings, _PeopleSettings, CheckInModelSettings, _PromiseSettings):
    """What a release promises."""

    with_rules_for_empty = frozenset({"secret"})
