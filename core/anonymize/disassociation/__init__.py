"""Disassociation: k^m-anonymity of sets of locations by hiding which were visited together.

horizontal.py    people into clusters (HorPart)
growing.py       a chunk that stays k^m-anonymous
vertical.py      locations of a cluster into chunks (VerPart, Lemma 2)
refinement.py    clusters into joint clusters (Refine, Property 1)
disassociate.py  all of it, for a window
"""

from core.anonymize.disassociation.disassociate import Disassociation, DisassociationOptions, disassociate

__all__ = ["Disassociation", "DisassociationOptions", "disassociate"]
