"""``shoal size``: what a feed needs, from figures that one run of ``make bench-size`` measured."""
