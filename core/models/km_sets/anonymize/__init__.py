"""The anonymizers: Apriori, LRA and VPA by a hierarchy, COAT and PCTA by utility constraints."""
