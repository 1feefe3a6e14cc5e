"""Encodings: the bytes of a message become a document."""
