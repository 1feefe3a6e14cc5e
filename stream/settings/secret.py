"""The secret behind pseudonyms: its rules, and how to make one.

An adversary who guesses it can undo pseudonyms, user hashes and random choices, so every secret must follow the rules.
"""

from __future__ import annotations

import secrets

from pydantic import SecretStr

from stream.settings.values import wrong_value

__all__ = ["HOW_TO_MAKE_ONE", "check_secret", "new_secret", "secret_fault"]

_LEAST_CHARACTERS, _LEAST_DIFFERENT = 16, 5

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


def check_secret(value: SecretStr | None) -> SecretStr | None:
    """Refuse a secret that breaks the rules."""
    if value is not None and (said := secret_fault(value.get_secret_value())) is not None:
        raise wrong_value(said)
    return value
