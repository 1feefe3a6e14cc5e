"""Keys of keyed hashes. A hash with an empty key is one that everybody can compute."""

from __future__ import annotations

import hashlib

import numpy as np

__all__ = ["check_key", "keyed_generator", "keyed_id", "pseudonyms"]

_LEAST_BYTES, _MOST_BYTES = 16, 64
"""BLAKE2b accepts keys of 0 to 64 bytes; with 0 bytes it is not a keyed hash."""

_PSEUDONYMS_OF_A_HASH = 8


def check_key(key: bytes, name: str) -> None:
    """Check the length of a key.

    Args:
        key: The key.
        name: Name of the key in the error message.

    Raises:
        ValueError: The key has fewer than 16 or more than 64 bytes; the message does not repeat it.
    """
    if not _LEAST_BYTES <= len(key) <= _MOST_BYTES:
        raise ValueError(f"{name} has {len(key)} bytes: it must have {_LEAST_BYTES} to {_MOST_BYTES}")


def keyed_id(secret: bytes, purpose: str, *parts: str | int) -> str:
    """Derive 16 hexadecimal digits that nobody can predict or link without the secret.

    Raises:
        ValueError: The secret has fewer than 16 or more than 64 bytes.
    """
    check_key(secret, "the secret")
    return hashlib.blake2b(_text(purpose, *parts), key=secret, digest_size=8).hexdigest()


def keyed_generator(secret: bytes, release_id: str, purpose: str = "choices") -> np.random.Generator:
    """Return the generator of all random choices of one release: the same on every run, unknown to outsiders.

    Args:
        secret: The deployment's key.
        release_id: The release.
        purpose: What the choices are for; by default the release itself. Different purposes draw independently.

    Raises:
        ValueError: The secret has fewer than 16 or more than 64 bytes.
    """
    check_key(secret, "the secret")
    seed = hashlib.blake2b(f"{purpose}\x1f{release_id}".encode(), key=secret, digest_size=16).digest()
    return np.random.Generator(np.random.Philox(key=np.frombuffer(seed, dtype=np.uint64)))


def pseudonyms(secret: bytes, release_id: str, n: int) -> list[tuple[str, int]]:
    """Return a pseudonym for each of ``n`` trajectories of a release, with its index, sorted by pseudonym.

    A pseudonym is 16 hexadecimal digits. A keyed hash of 64 bytes gives eight of them: a window has tens of thousands.
    """
    check_key(secret, "the secret")
    begun = hashlib.blake2b(_text("pseudonyms", release_id, ""), key=secret, digest_size=8 * _PSEUDONYMS_OF_A_HASH)
    digests: list[bytes] = []
    for number in range(-(-n // _PSEUDONYMS_OF_A_HASH)):
        hashed = begun.copy()
        hashed.update(b"%d" % number)
        digests.append(hashed.digest())
    joined = b"".join(digests)[: 8 * n]
    digits = joined.hex()
    order: list[int] = np.argsort(np.frombuffer(joined, dtype=">u8"), kind="stable").tolist()
    return [(digits[16 * i : 16 * i + 16], i) for i in order]


def _text(*parts: str | int) -> bytes:
    return "\x1f".join(map(str, parts)).encode()
