"""Slow oracles: what each kernel computes, in a few obvious lines; only tests call them."""
