"""The frontier of a file: the loss and the suppression of every model of its kind, over a range of k and m.

The file is read once. Each sealed window is released under every combination in turn, by the service's own code, and
measured; then it is dropped. So memory is that of a replay, and at any moment all combinations have seen the same
windows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
from pydantic import ValidationError

from core.models.common.family import Variant
from core.models.common.plan import Plan
from core.models.frontier import Tally
from core.models.measures import measure_loss
from core.models.registry import FAMILIES, models_of
from core.records.record import Kind
from core.release.linkage import LinkageRisk
from core.release.outcome import Account
from core.utility.window_measures import WindowLoss
from core.windows.history import History, Trace
from core.windows.partition import ReleaseWindow
from stream.feeds.feed import Feed
from stream.formats.files.record_file import RecordFile
from stream.replay.file_windows import FileWindows
from stream.replay.summary import Summary
from stream.settings.errors import SettingsError
from stream.settings.model import Settings
from stream.settings.privacy import PrivacySettings
from stream.settings.secret import new_secret
from stream.windows.latest_extracts import LatestExtracts
from stream.windows.releasing import link, release

__all__ = ["RANGES", "Combination", "Frontier", "checked_values", "variants_of"]

_AXES: dict[Kind, tuple[str, ...]] = {
    Kind.CHECKINS: ("k", "m"),
    Kind.FRAGMENTS: ("k", "delta_m"),
    Kind.STOPS: ("k", "m"),
}
"""The settings of ``privacy`` that vary between combinations, by kind."""

RANGES: dict[str, tuple[float, ...]] = {"k": (3, 5, 10), "m": (2, 3)}
"""Default values; other axes use the setting."""


def variants_of(kind: Kind) -> tuple[Variant, ...]:
    """Return all variants to compare: each model, in the order of the settings, then the named variants."""
    named = (variant for family in FAMILIES if family.kind is kind.model_kind for variant in family.variants)
    return (*(Variant(name=model, model=model) for model in models_of(kind)), *named)


def checked_values(name: str, values: Sequence[float]) -> tuple[float, ...]:
    """Return values of a setting of ``privacy``, each once, ascending.

    Raises:
        ValueError: The setting does not allow one of the values; the message says what it allows.
    """
    for value in values:
        try:
            PrivacySettings.model_validate({name: value})
        except ValidationError as fault:
            rule = fault.errors()[0]["msg"].removeprefix("Input ")
            raise ValueError(f"{value:g}: it {rule}") from None
    return tuple(sorted(set(values)))


_EXTRACTS_BYTES = 4 * 2**20
"""Most memory of the extracts of one combination: there may be a hundred."""


@dataclass(slots=True, kw_only=True)
class Combination:
    """One variant with one k and one m, or delta."""

    variant: str
    values: Mapping[str, float]
    """k, and m or delta_m."""

    promise: str
    plan: Plan = field(repr=False)
    tally: Tally = field(default_factory=Tally)
    fault: str | None = None
    """Why the combination was given up; None while it runs."""

    extracts: LatestExtracts = field(default_factory=lambda: LatestExtracts(_EXTRACTS_BYTES), repr=False)
    """What an attack needs of the latest release of each shard."""

    past: dict[str, tuple[Trace, ...]] = field(default_factory=dict, repr=False)
    """What the last windows of each shard released, if the promise spans windows."""

    @property
    def label(self) -> str:
        """Its name in progress lines and messages."""
        return f"{self.variant}, {_named_values(self.values)}"


@dataclass(frozen=True, slots=True)
class _Step:
    """The result of one combination on one window."""

    account: Account
    loss: WindowLoss | None
    alarmed: bool
    linkage: LinkageRisk | None


class Frontier:
    """All combinations over some files of one kind.

    Args:
        load: Loads the settings; its argument overrides some of them, by dotted name.
        kind: The kind of records in the files.
        ranges: Values of k, m and delta_m. An axis that is missing here uses :data:`RANGES`, else the setting.
        variants: Names of some of :func:`variants_of`; all of them if not given.

    Raises:
        SettingsError: A variant that was requested by name cannot run with the settings, or no variant can.
    """

    def __init__(
        self,
        load: Callable[[dict[str, Any]], Settings],
        kind: Kind,
        *,
        ranges: Mapping[str, Sequence[float]],
        variants: Sequence[str] | None = None,
    ) -> None:
        self._load, self._kind = load, kind
        # Used if privacy.secret is not set. No release is published, so a random secret will do.
        self._secret = new_secret()
        self._feed: Feed | None = None
        self._settings: Settings | None = None
        self.left_out: list[str] = []
        """Messages about the combinations that cannot run with the settings, with the reason."""

        self.without: list[str] = []
        """Names of the variants that are left out for at least one k and m."""

        self.ended_early = False
        """Whether the run was interrupted before the end of the files."""

        everything = variants_of(kind)
        chosen = everything if variants is None else tuple(one for one in everything if one.name in variants)
        settings = load({})
        self.axes = {
            name: tuple(ranges.get(name) or RANGES.get(name) or (_value_of(settings, kind, name),))
            for name in _AXES[kind]
        }
        self.combinations = [
            one for variant in chosen for one in self._combinations_of(variant, must_run=variants is not None)
        ]
        if self._feed is None:
            raise SettingsError("\n".join(["no model can run with these settings:", *self.left_out]))
        # Order by k and m (or delta), then by the order of the models in the settings: the sort is stable.
        self.combinations.sort(key=lambda one: tuple(one.values.values()))

    @property
    def feed(self) -> Feed:
        """The feed that reads the files; reading does not depend on the model."""
        if self._feed is None:
            raise RuntimeError("a frontier without a feed is never made")
        return self._feed

    @property
    def settings(self) -> Settings:
        """The settings of that feed; those of the run alone may name a model that cannot run."""
        if self._settings is None:
            raise RuntimeError("a frontier without a feed is never made")
        return self._settings

    def _combinations_of(self, variant: Variant, *, must_run: bool) -> list[Combination]:
        """Make the combinations of a variant, and note the ones that cannot run."""
        found: list[Combination] = []
        reasons: dict[str, list[str]] = {}
        for values in product(*self.axes.values()):
            named = dict(zip(self.axes, values, strict=True))
            try:
                found.append(self._combination(variant, named))
            except SettingsError as fault:
                if must_run:
                    raise
                reasons.setdefault(str(fault), []).append(_named_values(named))
        self.without += [variant.name] if reasons else []
        for reason, where in reasons.items():
            at = f" ({'; '.join(where)})" if found or len(reasons) > 1 else ""
            self.left_out.append(f"{variant.name}{at} is left out: {reason}")
        return found

    def _combination(self, variant: Variant, values: dict[str, float]) -> Combination:
        # Without noise, which no release with the same settings would draw again.
        privacy = {"model": variant.model, "noise": "none", **values, **variant.given}
        settings = self._load({f"{self._kind}.privacy.{name}": value for name, value in privacy.items()})
        own = settings.for_kind(self._kind).privacy.secret
        secret = own.get_secret_value() if own is not None else self._secret
        feed = Feed(settings, self._kind, secret=secret, like=self._feed)
        if self._feed is None:
            self._feed, self._settings = feed, settings
        elif feed.vocabulary != self._feed.vocabulary:
            raise RuntimeError(f"{variant.name} would read the records differently: a variant sets nothing but privacy")
        return Combination(variant=variant.name, values=values, promise=feed.plan.promise, plan=feed.plan.remembering())

    def run(
        self,
        files: Sequence[RecordFile],
        *,
        now_ms: int,
        max_bytes: int,
        progress: Callable[[int, str], None] = lambda *_: None,
        alarm: Callable[[str], None] = lambda _: None,
    ) -> Summary:
        """Read everything; the results are in the combinations. Ctrl-C ends the run and keeps the results so far.

        Args:
            files: The files, opened as :attr:`feed` needs them.
            now_ms: The present, Unix milliseconds.
            max_bytes: Longest message of a release.
            progress: Called with the number of bytes read so far, and with the next step.
            alarm: Called with a fault that needs attention, once for each combination.

        Returns:
            Counts of what was read. The counts of releases are in the combinations.

        Raises:
            FileFormatError: A file is damaged or of another form.
        """
        summary = Summary()
        windows = FileWindows(self.feed, files, now_ms=now_ms, summary=summary)
        steps: dict[int, _Step] = {}
        people = 0
        try:
            for window in windows:
                summary.windows += 1
                people, steps = len(np.unique(window.rows["user"])), {}
                for i, one in enumerate(self.combinations):
                    if one.fault is not None:
                        continue
                    n_of = f"{i + 1} of {len(self.combinations)}"
                    progress(windows.position, f"window {summary.windows}, {n_of}: {one.label}")
                    if (step := _step(one, window, max_bytes=max_bytes, alarm=alarm)) is not None:
                        steps[i] = step
                self._take(steps, people)
        except KeyboardInterrupt:
            self.ended_early = True
            # A window that only some combinations have finished would make them incomparable, so it is left out;
            # unless it is the only window.
            if summary.windows == 1:
                self._take(steps, people)
        return summary

    def _take(self, steps: Mapping[int, _Step], people: int) -> None:
        for i, step in steps.items():
            self.combinations[i].tally.add(step.account, people, step.loss, failed=step.alarmed, linkage=step.linkage)


def _named_values(values: Mapping[str, float]) -> str:
    return ", ".join(f"{name}={value:g}" for name, value in values.items())


def _value_of(settings: Settings, kind: Kind, name: str) -> float:
    """Return a setting of ``privacy``, the one of the kind of feed first; other settings may be invalid."""
    own: PrivacySettings = getattr(settings, kind.value).privacy
    value: float = getattr(own if name in own.model_fields_set else settings.privacy, name)
    return value


def _step(one: Combination, window: ReleaseWindow, *, max_bytes: int, alarm: Callable[[str], None]) -> _Step | None:
    """Release a window and measure it; if measuring fails, give up the combination and return None."""
    # A window's seal and history depend on the plan; its rows do not.
    key = window.seal.key
    history = History.of(key, one.past.get(key.shard, ()), horizon=one.plan.horizon)
    plan = one.plan.after(history)
    seal = plan.seal(key, window.seal.last_offset, window.seal.n_rows, writer="replay")
    result = release(seal, window.rows, plan, max_bytes=max_bytes)
    if result.trace is not None:
        one.past[key.shard] = (*history.traces, result.trace)
    if result.alarm is not None and not one.tally.windows_failed:
        alarm(f"{one.label}: {result.alarm}; this window and later ones that fail count as withheld")
    loss = None
    if result.outcome == "released":
        try:
            loss = measure_loss(seal, window.rows, plan)
        except Exception as fault:  # one combination must not stop the others
            # The exception's text could contain data; its type cannot.
            one.fault = f"measuring failed ({type(fault).__name__})"
            alarm(
                f"{one.label}: {one.fault}: this combination is left out from here on; run `shoal replay` with its "
                "settings and --measure all to see whether the model itself works"
            )
            return None
    (linked,), extract = link(seal, [result], plan, one.extracts.before(key))
    one.extracts.keep(key, extract)
    return _Step(account=result.account, loss=loss, alarmed=result.alarm is not None, linkage=linked.linkage)
