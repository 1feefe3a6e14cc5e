"""Worked examples of Terrovitis et al. 2012."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from core.models.disassociation.anonymize.disassociate import DisassociationOptions, disassociate
from core.models.disassociation.anonymize.refinement import Node, refine
from core.models.disassociation.anonymize.vertical import Leaf, vertical_partition
from core.models.disassociation.disassociated import Disassociated
from core.models.disassociation.guarantee import DisassociatedKm
from core.models.disassociation.verify import verify_disassociated
from tests.golden.test_seqanon import golden
from tests.oracles import disassociation as oracles
from tests.oracles.disassociation import chunk, cluster


class Figure:
    """Figure 2: records by id, and the clusters that VerPart and Refine are shown on."""

    def __init__(self) -> None:
        self.case: Any = golden("disassociation_fig2.json")
        self.guarantee = DisassociatedKm(k=self.case["k"], m=self.case["m"])
        self.names = sorted({term for record in self.case["records"].values() for term in record})

    def ids(self, terms: list[str]) -> set[int]:
        return {self.names.index(term) for term in terms}

    def leaves(self) -> list[Leaf]:
        return [self.vertical([self.case["records"][r] for r in its]) for its in self.case["clusters"]]

    def vertical(self, records: list[list[str]]) -> Leaf:
        visitors: dict[int, int] = {}
        for bit, record in enumerate(records):
            for term in self.ids(record):
                visitors[term] = visitors.get(term, 0) | 1 << bit
        return vertical_partition(visitors, len(records), self.guarantee)


def test_verpart_makes_the_published_chunks() -> None:
    """
    Figure 2b: the record chunks and the term chunk of both clusters.
    """
    figure = Figure()
    for leaf, published in zip(figure.leaves(), figure.case["vertical"], strict=True):
        assert [set(chunk) for chunk in leaf.chunks] == [figure.ids(terms) for terms in published["record_chunks"]]
        assert leaf.terms == figure.ids(published["term_chunk"])


def test_refine_makes_the_published_joint_cluster() -> None:
    """
    Figure 3: both clusters share one chunk over ikea and ruby, with the subrecords of r1, r2, r3, r7 and r10.
    """
    figure = Figure()
    leaves = figure.leaves()
    (joint,) = refine(leaves, figure.guarantee)
    assert isinstance(joint, Node)
    assert sorted(joint.leaves) == [0, 1]
    ikea, ruby = sorted(figure.ids(figure.case["refined"]["shared_terms"]))
    (shared,) = joint.shared
    assert Counter(shared) == {(ikea, ruby): 3, (ruby,): 1, (ikea,): 1}
    assert leaves[0].terms == figure.ids(["viagra"])
    assert leaves[1].terms == figure.ids(["panic disorder", "playboy"])


def test_the_unsafe_cluster_of_figure_4_is_refused() -> None:
    """
    Figure 4: chunks {a} and {b, c} are 3^2-anonymous each; with 6 subrecords for 5 people the cluster is not.
    """
    case = golden("disassociation_fig2.json")["unsafe_cluster"]
    a, b, c = 0, 1, 2
    unsafe = Disassociated(
        clusters=(cluster(5, chunk([a], [a], [a]), chunk([b, c], [b, c], [b, c])),), joint_clusters=()
    )
    report = verify_disassociated(unsafe, DisassociatedKm(k=case["k"], m=case["m"]))
    assert report.violations == {"too_few_subrecords": 1}
    assert not oracles.keeps_guarantee_1(unsafe, case["k"], case["m"])


def test_the_unsafe_cluster_of_figure_4_is_not_made() -> None:
    """
    Lemma 2: VerPart moves the least frequent location, here the first of three alike, to the term chunk.
    """
    case = golden("disassociation_fig2.json")["unsafe_cluster"]
    records = [{"abc".index(term) for term in record} for record in case["records"]]
    guarantee = DisassociatedKm(k=case["k"], m=case["m"])
    options = DisassociationOptions(largest_cluster=5)
    release = disassociate(oracles.sequences(records), guarantee, np.random.default_rng(1), options).release
    assert release.clusters == (cluster(5, chunk([1, 2], [1, 2], [1, 2]), terms=[0]),)
    assert verify_disassociated(release, guarantee).holds
    assert oracles.keeps_guarantee_1(release, case["k"], case["m"])


def test_figure_2_as_a_whole_is_released_and_verified() -> None:
    """
    The published records, k and m: everything is released, in clusters of three people or more.
    """
    figure = Figure()
    records = [figure.ids(record) for record in figure.case["records"].values()]
    options = DisassociationOptions(largest_cluster=5, rare_locations=True)
    made = disassociate(oracles.sequences(records), figure.guarantee, np.random.default_rng(1), options)
    assert made.kept.all()
    assert set(made.release.locations) == set(range(len(figure.names)))
    report = verify_disassociated(made.release, figure.guarantee)
    assert report.holds
    assert report.smallest_cluster is not None
    assert 3 <= report.smallest_cluster <= 5
