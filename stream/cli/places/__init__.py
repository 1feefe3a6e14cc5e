"""Commands that make places and hierarchies of places: ``shoal regions`` and ``shoal taxonomy``."""
