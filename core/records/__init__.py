"""Records: what arrives, and the person and time it is about."""
