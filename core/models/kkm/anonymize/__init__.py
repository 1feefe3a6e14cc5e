"""The anonymizers: Rum-bound and Tum-bound."""
