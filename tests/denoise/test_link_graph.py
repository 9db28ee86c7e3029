"""The private graph: which reported pairs stay in each variant, and with which weights."""

from __future__ import annotations

import numpy as np
import pytest

from graphveil.channels.sampling import SeededBits
from graphveil.denoise.links import HYBRID_LEAST, SURE, ReportedLinks, private_graph
from graphveil.mechanisms import mechanism
from tests.denoise.test_links import cliques

REPORTS = mechanism("link-rr", epsilon=4.0, dims=200).randomize(cliques(40, 5), SeededBits(1))
LINKS = ReportedLinks.of(REPORTS)
CHANCES = LINKS.plausibilities()


def test_plain_is_as_many_reported_pairs_as_there_are_links_in_expectation():
    plain = private_graph(REPORTS, "plain", 0)
    assert len(plain.pairs) == round(LINKS.density * 200 * 199 / 2) < len(LINKS.pairs)
    reported = {tuple(pair) for pair in LINKS.pairs.tolist()}
    assert {tuple(pair) for pair in plain.pairs.tolist()} <= reported
    assert (plain.weights == 1).all()


def test_plain_depends_on_its_seed_alone():
    first, again, other = (private_graph(REPORTS, "plain", seed).pairs.tolist() for seed in (0, 0, 1))
    assert first == again != other


def test_hard_keeps_what_is_likelier_than_not():
    hard = private_graph(REPORTS, "hard", 0)
    assert np.array_equal(hard.pairs, LINKS.pairs[CHANCES > 0.5])
    assert (hard.weights == 1).all()
    assert hard.left_out == pytest.approx(CHANCES[CHANCES <= 0.5].sum())


def test_soft_weighs_by_how_likely_a_link_is_and_hybrid_by_the_square():
    soft, hybrid = (private_graph(REPORTS, variant, 0) for variant in ("soft", "hybrid"))
    assert np.array_equal(soft.weights, CHANCES[CHANCES > 0.01])
    kept = CHANCES[CHANCES > HYBRID_LEAST]
    assert np.array_equal(hybrid.weights, np.where(kept < SURE, kept**2, 1.0))
    assert soft.left_out <= hybrid.left_out


def test_what_a_curator_publishes_is_the_graph():
    reports = mechanism("lapgraph", epsilon=22.0, dims=20).randomize(cliques(4, 5), SeededBits(0))
    graph = private_graph(reports, "hybrid", 0)
    assert len(graph.pairs) == 40 and (graph.pairs[:, 0] // 5 == graph.pairs[:, 1] // 5).all()


def test_nobody_s_report_leaves_no_pair():
    nobody = REPORTS.answered_by(np.zeros(200, dtype=bool))
    for variant in ("plain", "hard", "soft", "hybrid"):
        assert len(private_graph(nobody, variant, 0).pairs) == 0
