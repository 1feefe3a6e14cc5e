"""Settings: one object, from a YAML file and ``SHOAL_...`` variables, validated before anything starts.

A setting has one name in three places: ``SHOAL_PRIVACY__K``, ``settings.privacy.k``, Helm ``privacy.k``.
"""

from stream.settings.checks import SettingsError
from stream.settings.load import load_settings
from stream.settings.model import Settings
from stream.settings.sections import (
    FieldSettings,
    KafkaSettings,
    KindSettings,
    LocationSettings,
    LogSettings,
    MetricsSettings,
    PrivacySettings,
    ShardSettings,
)

__all__ = [
    "FieldSettings",
    "KafkaSettings",
    "KindSettings",
    "LocationSettings",
    "LogSettings",
    "MetricsSettings",
    "PrivacySettings",
    "Settings",
    "SettingsError",
    "ShardSettings",
    "load_settings",
]
