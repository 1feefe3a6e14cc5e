"""The anonymizer: a division of the window into places, found by splitting and joining."""
