"""What may be released of a window: outcomes, counts, locations; and attacks on it."""
