"""The combinations of a comparison: which settings run, which are left out, and which of them read a file alike."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any

from core.models.common.family import Variant
from core.models.common.plan import Plan
from core.records.record import Kind
from core.windows.window import WindowPolicy
from stream.feeds.digests import digest, file_digest
from stream.feeds.feed import Feed, places_digest
from stream.replay.comparison.axes import MODEL, Axis, override_name, shown, variants_of
from stream.settings.errors import SettingsError
from stream.settings.kinds import KindSettings
from stream.settings.model import Settings

__all__ = ["Combination", "Combinations", "Reading"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Reading:
    """One way to read the files: combinations that share it see the same windows."""

    feed: Feed = field(repr=False)
    """Reads the records; the plan it has is that of one combination and does not matter."""

    settings: Settings = field(repr=False)
    policy: WindowPolicy
    """How windows are cut. No window depends on what an earlier one released, whatever the models promise."""

    digest: str
    """Digest of the files and of everything that decides their windows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Combination:
    """One model under one choice of the settings that vary."""

    variant: str
    """The model, or the name of a variant of one."""

    varied: Mapping[str, Any]
    """The settings that vary, by dotted name, without the model."""

    k: int
    m: int | None
    """None for fragments, whose promises do not depend on it."""

    delta_m: float | None
    """Metres; None for all but fragments."""

    promise: str
    plan: Plan = field(repr=False)
    reading: Reading = field(repr=False)

    digest: str
    """Digest of the files and of everything that decides the results. It depends on the secret, and does not reveal
    it."""

    @property
    def label(self) -> str:
        """Its name in progress lines and messages."""
        return ", ".join([self.variant, _named_values(self.varied)] if self.varied else [self.variant])


class Combinations:
    """All combinations of some axes that the settings allow.

    Args:
        load: Loads the settings; its argument overrides some of them, by dotted name.
        kind: What is released.
        files: The files of records.
        axes: The settings that vary. Without :data:`~stream.replay.comparison.axes.MODEL` the model of the settings
            runs.
        must_run: Whether every combination must be able to run.

    Raises:
        SettingsError: No combination can run with the settings, or one cannot that must.
    """

    def __init__(
        self,
        load: Callable[[dict[str, Any]], Settings],
        kind: Kind,
        files: Sequence[Path],
        axes: Sequence[Axis],
        *,
        must_run: bool = False,
    ) -> None:
        self._load, self.kind = load, kind
        self.axes = tuple(axes)
        self.files = [_file_hash(path) for path in files]
        """The SHA-256 of each file."""

        # Used if privacy.secret is not set. No release is published, so it need not be secret; and as it is the same in
        # every run, so are the results.
        self._secret = hashlib.sha256("".join(["comparison", *self.files]).encode()).hexdigest()
        self._readings: dict[str, Reading] = {}
        self._feeds: dict[str, Feed] = {}
        self.left_out: list[str] = []
        """Messages about the combinations that cannot run with the settings, with the reason."""

        self.without: list[str] = []
        """Names of the variants of which at least one combination is left out."""

        settings = load({})  # a setting that is wrong whatever varies is said once
        models = next((axis.values for axis in axes if axis.name == MODEL), None)
        chosen = [_variant_of_settings(settings, kind)] if models is None else _variants(kind, models)
        # A model that is set has other random choices than the same one as the default.
        self._sets_model = models is not None
        self._others = [axis for axis in axes if axis.name != MODEL]
        ordered: list[tuple[int, Combination]] = []
        for variant in chosen:
            ordered += self._combinations_of(variant, must_run=must_run)
        if not ordered:
            what = "no model can run" if len(chosen) > 1 else "no combination can run"
            raise SettingsError("\n".join([f"{what} with these settings:", *self.left_out]))
        # Values before models: the sort is stable.
        self.all = [one for _, one in sorted(ordered, key=lambda numbered: numbered[0])]

    @property
    def readings(self) -> list[Reading]:
        """The ways to read the files, each once, in the order of the combinations."""
        return list(dict.fromkeys(one.reading for one in self.all))

    def _combinations_of(self, variant: Variant, *, must_run: bool) -> list[tuple[int, Combination]]:
        """Make the combinations of a variant with the number of their values, and note the ones that cannot run."""
        found: list[tuple[int, Combination]] = []
        reasons: dict[str, list[str]] = {}
        for number, values in enumerate(product(*(axis.values for axis in self._others))):
            varied = dict(zip([axis.name for axis in self._others], values, strict=True))
            try:
                found.append((number, self._combination(variant, varied)))
            except SettingsError as fault:
                if must_run:
                    raise
                reasons.setdefault(str(fault), []).append(_named_values(varied))
        self.without += [variant.name] if reasons else []
        for reason, where in reasons.items():
            at = f" ({'; '.join(where)})" if (found or len(reasons) > 1) and where[0] else ""
            self.left_out.append(f"{variant.name}{at} is left out: {reason}")
        return found

    def _combination(self, variant: Variant, varied: dict[str, Any]) -> Combination:
        # Without noise, which no release with the same settings would draw again.
        named = {"privacy.noise": "none", **({MODEL: variant.model} if self._sets_model else {}), **varied}
        named |= {f"privacy.{name}": value for name, value in variant.given.items()}
        settings = self._load({override_name(name, self.kind): value for name, value in named.items()})
        own = settings.for_kind(self.kind)
        secret = own.privacy.secret.get_secret_value() if own.privacy.secret is not None else self._secret
        places = places_digest(own)
        feed = Feed(settings, self.kind, secret=secret, like=self._feeds.get(places))
        self._feeds.setdefault(places, feed)
        reading = self._reading(feed, settings, own)
        has_m = self.kind.model_kind is Kind.CHECKINS
        return Combination(
            variant=variant.name,
            varied=varied,
            k=own.privacy.k,
            m=own.privacy.m if has_m else None,
            delta_m=None if has_m else own.privacy.delta_m,
            promise=feed.plan.promise,
            plan=feed.plan,
            reading=reading,
            digest=digest("combination 1", reading.digest, feed.plan.digest),
        )

    def _reading(self, feed: Feed, settings: Settings, own: KindSettings) -> Reading:
        # Windows must be the same for all models that are compared, also for those whose promise spans windows.
        policy = replace(feed.policy, horizon=1)
        found = digest(
            self.files,
            self.kind,
            feed.vocabulary,
            repr(policy),
            *(section.model_dump(mode="json") for section in (own.fields, own.input, own.time)),
            *(section.model_dump(mode="json") for section in (settings.files, settings.limits)),
            file_digest(own.privacy.demands_file, "privacy.demands_file"),
            file_digest(own.input.schema_file, "input.schema_file"),
        )
        return self._readings.setdefault(found, Reading(feed=feed, settings=settings, policy=policy, digest=found))


def _file_hash(path: Path) -> str:
    """Return the SHA-256 of a file, 64 hexadecimal digits.

    Raises:
        SettingsError: It is a pipe, or something else that can be read only once.
    """
    if not path.is_file():
        raise SettingsError(f"{path}: a comparison reads its files more than once; save this one as a file first")
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _variants(kind: Kind, names: Sequence[str]) -> list[Variant]:
    """Return variants by their names, in their own order."""
    return [variant for variant in variants_of(kind) if variant.name in names]


def _variant_of_settings(settings: Settings, kind: Kind) -> Variant:
    """Return the model that the settings name, or the first of the kind; other settings may be invalid."""
    own = getattr(settings, kind.value).privacy
    model = own.model if "model" in own.model_fields_set else settings.privacy.model
    name = str(model or variants_of(kind)[0].name)
    return Variant(name=name, model=name)


def _named_values(varied: Mapping[str, Any]) -> str:
    """Return settings with their values; those of ``privacy`` without its name."""
    return ", ".join(f"{name.removeprefix('privacy.')}={shown(value)}" for name, value in varied.items())
