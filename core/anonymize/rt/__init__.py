"""Rum-bound and Tum-bound: (k,k^m)-anonymity of attributes and locations (Poulis et al. 2013).

bounding.py     the two frameworks, and what they return
clustering.py   clusters of at least k people with similar attributes
spans.py        generalized attributes of clusters, and their NCP
merging.py      which clusters are merged: the R, T and RT merges
items.py        which locations are generalized together inside a cluster, and their UL
diversity.py    the same for (k,l^m)-diversity
transactions.py how far apart the locations of two clusters are: BTD
"""

from core.anonymize.rt.bounding import anonymize_rt
from core.anonymize.rt.result import BoundNotMet, RTGroup, RTOptions, RTRecords, RTResult, published

__all__ = ["BoundNotMet", "RTGroup", "RTOptions", "RTRecords", "RTResult", "anonymize_rt", "published"]
