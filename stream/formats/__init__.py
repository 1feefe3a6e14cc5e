"""Formats: bytes to records and back, of topics and of files."""
