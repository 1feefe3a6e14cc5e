"""The section ``privacy``: settings that models share. A model's own settings are in its folder in ``core/models``."""

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
    """The privacy model, its parameters, and what locations mean."""

    model: Annotated[
        ModelName | None,
        Field(
            description=f"{_listed()} for check-ins. The others are for fragments; "
            f"``{models_of(Kind.FRAGMENTS)[0]}`` is their default. ``w4m`` and ``nwa`` leave out people who demand "
            "more than ``k`` and ``delta_m``; the other models for fragments meet such demands, ``bounded-pw4m`` as "
            "far as its limit of distortion allows."
        ),
    ] = None

    k: Annotated[int, Field(ge=2)] = 5
    """The ``k`` of the privacy model: the least number of people who share what is released."""

    m: Annotated[int, Field(ge=1, le=10)] = 2
    """Number of locations of a person that an adversary may know, for models of check-ins."""

    delta_m: Annotated[float, Field(gt=1, le=1_000_000)] = 500.0
    """Greatest distance between the people of one set of at least ``k``, metres, for models of fragments."""

    demands_file: Path | None = None
    """People's demands for fragments that do not state their own: a CSV with the header ``user,k,delta_m``, in which an
    empty value demands nothing. Read at the start."""

    taxonomy: str = "own"
    """Taxonomy of locations, for ``sd-seqanon``, ``sets-apriori``, ``sets-lra``, ``sets-vpa``, ``flows`` and levels of
    ``constraints``: ``own`` (H3 parents, grid quadrants); ``categories``, those of ``location.pois_file`` or of the
    column ``category`` in ``location.venues_file``, with the hierarchy that is written in them (``Food > Bakery``); or
    a CSV with the header ``category,parent``, which has these categories, or the venues themselves: ``shoal taxonomy``
    makes and checks one."""

    default_category: str | None = None
    """Category of venues and places that have none, or one that is not in the taxonomy; if not set, every one must have
    one."""

    constraints: str | None = None
    """Which locations may be generalized together, for ``u-seqanon``, ``coat`` and ``pcta``: ``level:N`` of the
    taxonomy, or a CSV with the header ``location,constraint``."""

    default_constraint: str | None = None
    """Constraint of locations that the CSV does not list; if not set, the CSV must list every venue."""

    l: Annotated[int, Field(ge=2)] = 2  # noqa: E741 - the name in the literature
    """Of the people who match what an adversary knows, at most one in ``l`` is released at any one of
    ``sensitive_locations``, for ``lm-anon``, ``zga``, ``sga``, ``rum-bound``, ``tum-bound`` and
    ``disassociation``."""

    sensitive_locations: Annotated[tuple[str, ...], BeforeValidator(separated_by_commas), NoDecode] = ()
    """Locations that are sensitive for these models: a list of names, or names separated by commas. ``category:NAME``
    means every venue or place of a category or of one below it. A sensitive location is released as it is, or
    suppressed."""


class _PeopleSettings(Section):
    """The attributes of a person in check-ins, and the secret behind pseudonyms."""

    attributes: dict[FieldName, Text] = {}  # noqa: RUF012 - pydantic copies it
    """Attributes of a person in check-ins: for the name of each field either ``LOW..HIGH`` for whole numbers, or a CSV
    with the header ``category,parent``, whose categories are the values. A record that lacks an attribute or has
    another value is rejected. The number of combinations of all values must fit 32 bits."""

    sensitive_field: FieldName | None = None
    """Field of a check-in that holds a sensitive attribute of its person; not one of ``attributes``."""

    sensitive_values: Annotated[tuple[str, ...], BeforeValidator(separated_by_commas), NoDecode] = ()
    """The values of ``sensitive_field`` that are sensitive, a list or separated by commas; other values are not."""

    secret: Annotated[SecretStr | None, AfterValidator(check_secret)] = None
    """Key of pseudonyms and random choices: at least 16 characters, at least 5 of them different; white space at the
    ends does not count. A worker does not start without it; ``shoal secret`` prints a new one."""

    secret_file: Path | None = None
    """A file with the secret, instead of ``secret``; one line break at its end does not belong to the secret. Read at
    the start."""


class PrivacySettings(FragmentModelSettings, _PeopleSettings, CheckInModelSettings, _PromiseSettings):
    """What a release guarantees, by which model, and the secret."""

    with_rules_for_empty = frozenset({"secret"})
    secrets_in_files = frozenset({"secret"})
