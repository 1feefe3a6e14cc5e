"""The anonymizer: BF-P2kA."""
