"""Records: what arrives, and who and when it is about."""
