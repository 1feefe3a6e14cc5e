"""A trial of a feed: what its first records are read as, why others are not, and which settings would read them."""
