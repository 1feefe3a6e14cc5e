"""The files that a replay wrote, read back."""
