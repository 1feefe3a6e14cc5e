"""The anonymizers: LM-Anon, ZGA and SGA."""
