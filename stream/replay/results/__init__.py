"""The files that a replay writes, in every format."""
