"""The anonymizer: global suppression of location-time pairs."""
