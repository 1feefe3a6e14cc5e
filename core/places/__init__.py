"""Places: the vocabulary of locations, where they are and what they mean."""
