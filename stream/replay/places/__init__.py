"""Places: dense regions of past feeds, and hierarchies of places, as files and pictures."""
