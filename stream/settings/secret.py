"""Secrets: how one is read from a file, and the rules of the one behind pseudonyms.

An adversary who guesses this one can undo pseudonyms, user hashes and random choices, so it must follow the rules.
"""

from __future__ import annotations

import secrets
from pathlib import Path

from pydantic import SecretStr

from stream.settings.values import wrong_in_section, wrong_value

__all__ = ["HOW_TO_MAKE_ONE", "check_secret", "new_secret", "secret_fault", "secret_in"]

_LEAST_CHARACTERS, _LEAST_DIFFERENT = 16, 5
_MOST_BYTES = 64 * 1024

HOW_TO_MAKE_ONE = "`shoal secret` prints a new one"


def new_secret() -> str:
    """Make a random secret: 64 hexadecimal digits."""
    return secrets.token_hex(32)


def secret_fault(text: str) -> str | None:
    """Return what is wrong with a secret, without its characters.

    White space at the ends is not counted: a file often ends with a line break.

    Args:
        text: The secret.

    Returns:
        What follows the name of the setting in a sentence, or None if the secret follows the rules.

    >>> secret_fault("0123456789abcdef") is None
    True
    >>> secret_fault("short")[:20]
    'has 5 characters: it'
    """
    found = text.strip()
    if not text:
        wrong = "is empty"
    elif not found:
        wrong = "is only white space"
    elif len(found) < _LEAST_CHARACTERS:
        wrong = f"has {len(found)} characters"
    elif (different := len(set(found))) < _LEAST_DIFFERENT:
        wrong = f"has {different} different character{'' if different == 1 else 's'}"
    else:
        return None
    return (
        f"{wrong}: it must have at least {_LEAST_CHARACTERS} characters, at least {_LEAST_DIFFERENT} of them "
        f"different; {HOW_TO_MAKE_ONE}"
    )


def secret_in(setting: str, path: Path) -> str:
    """Read a secret from a file, without one line break at its end.

    Args:
        setting: Name of the setting that names the file, without its section.
        path: The file.

    Raises:
        PydanticCustomError: It cannot be read, is empty, or is no text of one line; the message does not show it.
    """
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
        text = content.decode()
    except OSError as fault:
        reason = (fault.strerror or type(fault).__name__).lower()
        raise wrong_in_section(
            setting, f"is {path}: it cannot be read ({reason}); it must be a file with the secret"
        ) from None
    except UnicodeDecodeError:
        raise wrong_in_section(setting, f"is {path}: it is not text in UTF-8; it must hold the secret alone") from None
    text = text.removesuffix("\n").removesuffix("\r")
    if not text.strip():
        raise wrong_in_section(setting, f"is {path}: the file is empty; it must hold the secret")
    if len(content) > _MOST_BYTES or len(text.splitlines()) > 1:
        raise wrong_in_section(
            setting, f"is {path}: the file has more than one line or is too long; it must hold the secret alone"
        )
    return text


def check_secret(value: SecretStr | None) -> SecretStr | None:
    """Refuse a secret that breaks the rules."""
    if value is not None and (said := secret_fault(value.get_secret_value())) is not None:
        raise wrong_value(said)
    return value
