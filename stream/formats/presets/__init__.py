"""Presets: the mappings of feeds whose form is public, in groups by what writes them."""
