"""Credentials for the cluster, checked before anything starts, and the TLS contexts built from them."""

from __future__ import annotations

import os
import ssl
from pathlib import Path

from stream.settings.errors import SettingsError
from stream.settings.kafka import KafkaSettings

__all__ = [
    "check_credentials",
    "check_token_file",
    "client_certificate",
    "load_trust",
    "oauth_context",
    "sasl_password",
    "tls_context",
    "trusting",
    "use_certificate",
]

_TLS = ("ssl_cafile", "ssl_certfile", "ssl_keyfile", "ssl_key_password")
_PASSWORD = ("sasl_username", "sasl_password")
_BY_URL = ("oauth_token_url", "oauth_client_id", "oauth_client_secret")
_WITH_URL = ("oauth_scope", "oauth_cafile")
_BY_FILE = "oauth_token_file"


def check_credentials(kafka: KafkaSettings) -> None:
    """Check that every credential that the protocol and the mechanism need is set, and no other.

    An unused credential is an error as well, because somebody may believe that it protects the connection.

    Raises:
        SettingsError: A credential is missing, not used, or cannot be read.
    """
    protocol, mechanism = kafka.security_protocol, kafka.sasl_mechanism
    if not protocol.endswith("SSL"):
        _refuse(kafka, _TLS, f"kafka.security_protocol is {protocol}", "only SSL and SASL_SSL use it")
    elif kafka.ssl_certfile is not None or kafka.ssl_keyfile is not None:
        _demand(kafka, ("ssl_certfile", "ssl_keyfile"), "kafka.ssl_certfile and ssl_keyfile belong together")
    elif kafka.ssl_key_password is not None:
        _demand(kafka, ("ssl_certfile", "ssl_keyfile"), "kafka.ssl_key_password is set")

    if not protocol.startswith("SASL"):
        why = f"kafka.security_protocol is {protocol}"
        _refuse(kafka, (*_PASSWORD, *_BY_URL, *_WITH_URL, _BY_FILE), why, "only SASL_SSL and SASL_PLAINTEXT use it")
    elif mechanism == "OAUTHBEARER":
        _check_oauth(kafka)
    else:
        why = f"kafka.security_protocol is {protocol} and kafka.sasl_mechanism {mechanism}"
        _refuse(kafka, (*_BY_URL, *_WITH_URL, _BY_FILE), why, "only OAUTHBEARER uses it")
        _demand(kafka, _PASSWORD, why)


def check_token_file(setting: str, path: Path) -> None:
    """Check that a file with a token can be read.

    Raises:
        SettingsError: It cannot.
    """
    if not os.access(path, os.R_OK):
        raise SettingsError(f"{setting} is {path}: it cannot be read; it must hold a token")


def _check_oauth(kafka: KafkaSettings) -> None:
    why = "kafka.sasl_mechanism is OAUTHBEARER"
    _refuse(kafka, _PASSWORD, why, "it needs kafka.oauth_... instead")
    by_url = [name for name in _BY_URL if getattr(kafka, name)]
    if kafka.oauth_token_file is not None:
        _refuse(kafka, (*_BY_URL, *_WITH_URL), "kafka.oauth_token_file is set", "tokens come from a file or from a URL")
        check_token_file("kafka.oauth_token_file", kafka.oauth_token_file)
    elif not by_url:
        raise SettingsError(
            f"{why}: set kafka.oauth_token_url, oauth_client_id and oauth_client_secret, or kafka.oauth_token_file"
        )
    else:
        _demand(kafka, _BY_URL, f"{why} and kafka.{by_url[0]} is set")
        oauth_context(kafka)


def _refuse(kafka: KafkaSettings, names: tuple[str, ...], why: str, who_uses_it: str) -> None:
    for name in names:
        if getattr(kafka, name):
            raise SettingsError(f"kafka.{name} is set and {why}: {who_uses_it}; leave one of the two out")


def _demand(kafka: KafkaSettings, names: tuple[str, ...], why: str) -> None:
    # An empty name or password usually comes from a missing environment variable.
    if missing := [name for name in names if not getattr(kafka, name)]:
        raise SettingsError(f"{why}: {' and '.join(f'kafka.{name}' for name in missing)} must be set as well")


def tls_context(kafka: KafkaSettings) -> ssl.SSLContext | None:
    """Return the TLS context for connections to the cluster, or None without TLS.

    Raises:
        SettingsError: A file cannot be used.
    """
    if not kafka.security_protocol.endswith("SSL"):
        return None
    context = trusting("kafka.ssl_cafile", kafka.ssl_cafile)
    use_certificate(context, kafka)
    return context


def sasl_password(kafka: KafkaSettings) -> str:
    """Return the password, or the empty string if none is set."""
    return kafka.sasl_password.get_secret_value() if kafka.sasl_password is not None else ""


def use_certificate(context: ssl.SSLContext, kafka: KafkaSettings) -> None:
    """Load the client certificate, if there is one; connections made later show it.

    Raises:
        SettingsError: A file cannot be used.
    """
    if kafka.ssl_certfile is not None:
        client_certificate(
            context,
            kafka.ssl_certfile,
            kafka.ssl_keyfile,
            names="kafka.ssl_certfile and ssl_keyfile",
            password=kafka.ssl_key_password.get_secret_value() if kafka.ssl_key_password else "",
            and_what="and kafka.ssl_key_password its password, if it has one",
        )


def load_trust(context: ssl.SSLContext, kafka: KafkaSettings) -> None:
    """Trust the certificates of ``kafka.ssl_cafile`` as well, as it is now; those trusted before stay trusted."""
    if kafka.ssl_cafile is not None:
        context.load_verify_locations(kafka.ssl_cafile)


def oauth_context(kafka: KafkaSettings) -> ssl.SSLContext:
    """Return the TLS context for connections to the token endpoint.

    Raises:
        SettingsError: ``kafka.oauth_cafile`` cannot be used.
    """
    return trusting("kafka.oauth_cafile", kafka.oauth_cafile)


def client_certificate(
    context: ssl.SSLContext, certfile: Path, keyfile: Path | None, *, names: str, password: str, and_what: str
) -> None:
    """Load the certificate with which a client authenticates.

    Args:
        context: The context that shows it.
        certfile: PEM file of the certificate.
        keyfile: PEM file of its key.
        names: Names of the two settings.
        password: Password of the key; empty if it has none.
        and_what: What the error says about the password.

    Raises:
        SettingsError: The files cannot be used.
    """
    try:
        # Always pass a password, even an empty one: otherwise OpenSSL may prompt for it on the terminal.
        context.load_cert_chain(certfile, keyfile, password)
    except (OSError, ssl.SSLError) as fault:
        raise SettingsError(
            f"{names} cannot be used ({_reason(fault)}): they must be readable PEM files of one certificate and its "
            f"key, {and_what}"
        ) from None


def trusting(setting: str, cafile: Path | None) -> ssl.SSLContext:
    """Return a TLS context that trusts the certificates of a file, or the system's.

    Raises:
        SettingsError: The file cannot be used.
    """
    try:
        return ssl.create_default_context(cafile=cafile)
    except (OSError, ssl.SSLError) as fault:
        raise SettingsError(
            f"{setting} is {cafile}: it cannot be used ({_reason(fault)}); it must be a readable PEM file of "
            "certificates"
        ) from None


def _reason(fault: OSError) -> str:
    return str(getattr(fault, "reason", None) or fault.strerror or type(fault).__name__).replace("_", " ").lower()
