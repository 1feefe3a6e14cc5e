"""Utility: measures of the information that a release lost, shared by several models."""
