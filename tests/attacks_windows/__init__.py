"""Attacks on several releases of the real feeds, measured with the true people: ``make attack-windows``."""
