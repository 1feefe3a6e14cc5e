"""`shoal try`: settings for a feed, found by trial, and what is said of them."""
