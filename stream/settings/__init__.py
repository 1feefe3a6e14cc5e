"""Settings: one object, from a YAML file and ``SHOAL_...`` variables, validated before anything starts.

A setting has one name in three places: ``SHOAL_PRIVACY__K``, ``settings.privacy.k``, Helm ``privacy.k``.
"""
