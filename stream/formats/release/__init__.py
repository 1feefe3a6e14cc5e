"""The messages of a release, in every encoding that people read."""
