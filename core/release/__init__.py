"""What may leave of a window: outcomes, counts, locations, and the risk of attacks."""
