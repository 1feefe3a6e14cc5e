"""Noise on counts of people, drawn by OpenDP (extra ``dp``). It cannot be repeated, so it is drawn at the edge."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from core.models.common.noise import LaplaceNoise
from core.windows.draw import Counts
from stream.settings.errors import SettingsError

__all__ = ["check_noise", "with_noise"]

_names: msgspec.json.Decoder[tuple[str, ...]] = msgspec.json.Decoder(tuple[str, ...])


def check_noise(noise: LaplaceNoise) -> None:
    """Check at the start that OpenDP is there, and confirms what the settings promise.

    Raises:
        SettingsError: It is missing, or the noise does not keep the promise.
    """
    try:
        mechanism = _mechanism(noise)
    except ImportError:
        raise SettingsError(
            "privacy.noise is laplace: it needs OpenDP; install the extra dp, pip install 'shoal[dp]'"
        ) from None
    epsilon, delta = mechanism.map((noise.most_counts, noise.most_counts, 1))
    if epsilon > noise.epsilon or delta > noise.delta:
        raise SettingsError(
            f"privacy.epsilon {noise.epsilon:g} and privacy.dp_delta {noise.delta:g} are not kept by the noise: "
            f"OpenDP computes {epsilon:g} and {delta:g}; choose a larger epsilon or a smaller max_flows_per_person"
        )


def with_noise(counts: Counts, noise: LaplaceNoise) -> dict[tuple[str, ...], int]:
    """Add noise, and leave out what is below the threshold. Every call draws anew, from the system's randomness.

    Args:
        counts: Exact counts of which each person changes at most ``noise.most_counts``, each by 1.
        noise: Scale and threshold.
    """
    plain = {msgspec.json.encode(names).decode(): people for names, people in counts.items()}
    noisy: Mapping[str, int] = _mechanism(noise)(plain)
    return {_names.decode(key): people for key, people in sorted(noisy.items())}


def _mechanism(noise: LaplaceNoise) -> Any:
    import opendp.prelude as dp  # noqa: PLC0415 - an extra, loaded where it is used

    dp.enable_features("contrib")  # mechanisms whose proofs are public, but not all vetted
    return dp.m.make_laplace_threshold(
        dp.map_domain(dp.atom_domain(T=str), dp.atom_domain(T="i64")),
        dp.l01inf_distance(dp.absolute_distance(T="i64")),
        scale=noise.scale,
        threshold=noise.threshold,
    )
