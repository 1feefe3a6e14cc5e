"""What may be released of a window: outcomes, counts, locations, and the risk of attacks."""
