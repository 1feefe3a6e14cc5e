"""The (k,delta) models of this checkout beside those of an earlier commit, in one run: ``make bench-w4m``."""
