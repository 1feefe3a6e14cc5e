"""Attacks on what is released, as a measure of the risk that is left: on one release, or on two successive ones."""
