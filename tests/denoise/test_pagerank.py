from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from graphveil.denoise import PageRankDenoiser
from graphveil.linear import Chebyshev, Composition, Polynomial, pagerank_matrix
from graphveil.mechanisms import Estimate
from tests.denoise.pagerank_graphs import allowed, exact, graphs, sparse_estimate
from tests.refusals import check_refused
from tests.together import together

EVERY = ["push", "power", "chebyshev", "auto"]


@pytest.mark.parametrize("graph", graphs(), ids=["random", "star"])
@pytest.mark.parametrize("algorithm", EVERY)
@settings(max_examples=15)
@given(alpha=st.floats(0.05, 0.9), r=st.floats(0, 1), r_max=st.floats(-7, -1).map(lambda power: 10.0**power))
@example(alpha=0.05, r=0.0, r_max=1e-3)
@example(alpha=0.05, r=1.0, r_max=1e-3)
@example(alpha=0.3, r=0.5, r_max=0.1)
@example(alpha=0.3, r=0.1, r_max=1e-7)
@example(alpha=0.9, r=1.0, r_max=1e-2)
def test_every_entry_is_within_the_guarantee(graph, algorithm, alpha, r, r_max):
    estimate, rows = sparse_estimate(60, 13)
    pagerank = PageRankDenoiser(alpha, r, r_max, algorithm)
    expected = exact(graph, alpha, r, rows)
    got = pagerank.rows(estimate, graph)
    assert (np.abs(got - expected) <= allowed(graph, r, r_max, expected)).all()


@together("name", EVERY)
def test_reports_of_all_values_or_of_nothing_are_propagated_too_and_a_graph_needs_no_edges(name):
    rows = np.random.default_rng(0).normal(size=(60, 30))
    estimate = Estimate((60, 30), np.arange(61) * 30, None, rows.ravel(), 0.5, True)
    expected = exact(graphs()[0], 0.2, 0.3, rows)
    found = PageRankDenoiser(0.2, 0.3, 1e-4, name).rows(estimate, graphs()[0])
    assert (np.abs(found - expected) <= allowed(graphs()[0], 0.3, 1e-4, expected)).all()
    pagerank = PageRankDenoiser(0.3, 0.5, 1e-3, name)
    nothing = Estimate((60, 3), np.zeros(61, dtype=np.int64), np.empty(0, np.int32), np.empty(0), 0.5, True)
    assert not pagerank.rows(nothing, graphs()[0]).any()
    estimate, rows = sparse_estimate(60, 48)
    # Users without neighbours keep their rows.
    for graph in (graphs()[0], graphs()[0].without_edges()):
        alone = graph.degrees == 0
        assert alone.any()
        assert np.array_equal(pagerank.rows(estimate, graph)[alone], rows[alone].astype(np.float32))
    # A block is a small part of the whole.
    assert {block.shape[1] for _, block in pagerank.blocks(estimate, graphs()[0])} == {4}


@pytest.mark.parametrize("algorithm", ["power", "chebyshev"])
@settings(max_examples=10)
@given(alpha=st.floats(0.05, 0.3), r=st.floats(0, 1))
@example(alpha=0.05, r=0.0)
@example(alpha=0.05, r=1.0)
@example(alpha=0.3, r=0.5)
def test_single_precision_holds_where_it_is_taken(alpha, r, algorithm):
    # X = D^r 1 stays as it is, so that all roundings add up.
    graph = graphs()[1]
    degree = np.maximum(graph.degrees, 1).astype(float)
    estimate = Estimate((60, 1), np.arange(61), None, degree**r, 0.0, True)
    floor = 2.0**-24 * (2 + degree.max() / 16) / alpha
    pagerank = PageRankDenoiser(alpha, r, floor * 1.01, algorithm)
    assert pagerank.plan(estimate, graph).precision == "single"
    assert replace(pagerank, r_max=floor / 1.01).plan(estimate, graph).precision == "double"
    got = pagerank.rows(estimate, graph)
    assert np.abs(got[:, 0] / degree**r - 1).max() <= floor + 2.0**-24


def test_few_entries_and_a_large_r_max_are_pushed_and_others_not():
    few, _ = sparse_estimate(60, 40, share=0.01)
    many, _ = sparse_estimate(60, 40, share=1.0)
    coarse = PageRankDenoiser(0.2, 0.5, 0.1).plan(few, graphs()[0])
    assert coarse.algorithm == "push" and coarse.precision == "double"
    for estimate, r_max in ((many, 1e-3), (few, 1e-5), (many, 1e-9)):
        plan = PageRankDenoiser(0.2, 0.5, r_max).plan(estimate, graphs()[0])
        assert plan.algorithm == "chebyshev"
        assert plan.work["chebyshev"] < min(plan.work["push"], plan.work["power"])
    assert PageRankDenoiser(0.2, 0.5, 0.1, "power").plan(few, graphs()[0]).algorithm == "power"


@settings(max_examples=15)
@given(
    alpha=st.floats(0.05, 0.9), r=st.floats(0, 0.5), r_max=st.floats(-4, -1).map(lambda power: 10.0**power)
)
@example(alpha=0.05, r=0.0, r_max=1e-4)
@example(alpha=0.3, r=0.4, r_max=1e-1)
@example(alpha=0.9, r=0.5, r_max=1e-4)
def test_the_operator_is_as_close_as_it_says(alpha, r, r_max):
    graph, dense = graphs()[1], torch.randn(60, 5, generator=torch.Generator().manual_seed(0))
    pagerank = PageRankDenoiser(alpha, r, r_max)
    operator = pagerank.operator(pagerank_matrix(graph, r))
    scale = np.maximum(graph.degrees, 1).astype(float)[:, None] ** (0.5 - r)
    error = scale * ((operator @ dense).numpy() - exact(graph, alpha, r, dense.double().numpy()))
    norms = np.linalg.norm(scale * dense.numpy(), axis=0)
    assert (np.linalg.norm(error, axis=0) <= (r_max + 1e-6) * norms).all()


def test_the_operator_is_the_shorter_series():
    matrix = pagerank_matrix(graphs()[0], 0.5)
    short, long = PageRankDenoiser(0.05, 0.5, 1e-4), PageRankDenoiser(0.05, 0.5, 1e-4, "power")
    assert isinstance(short.operator(matrix), Chebyshev) and isinstance(long.operator(matrix), Polynomial)
    assert short.operator(matrix).degree < long.operator(matrix).degree / 4
    assert short.operator(matrix).degree == short.terms(1e-4)["chebyshev"]


@pytest.mark.parametrize("alpha", [0.05, 0.3, 0.95])
@pytest.mark.parametrize("bound", [10.0, 1e-3, 1e-6])
def test_no_hop_is_too_many(alpha, bound):
    pagerank, x = PageRankDenoiser(alpha, 0.5, 1e-3), np.linspace(-1, 1, 2001)
    hops = pagerank.terms(bound)
    target = alpha / (1 - (1 - alpha) * x)

    def rest(name, count):
        matrix = pagerank_matrix(graphs()[0], 0.5)
        coefficients = pagerank._series(matrix, name, count).coefficients
        evaluate = (
            np.polynomial.chebyshev.chebval if name == "chebyshev" else np.polynomial.polynomial.polyval
        )
        return np.abs(evaluate(x, coefficients) - target).max()

    for name, count in hops.items():
        assert rest(name, count) <= bound * (1 + 1e-9)
        assert count == 0 or rest(name, count - 1) > bound * (1 - 1e-9)


def test_the_operator_has_a_gradient():
    graph, inner = graphs()[0], torch.randn(60, 4)
    composed = Composition(PageRankDenoiser(0.2, 0.3, 1e-6).operator(pagerank_matrix(graph, 0.3)), inner)
    weight = torch.randn(4, 2, requires_grad=True)
    (composed @ weight).square().sum().backward()
    whole = torch.from_numpy(exact(graph, 0.2, 0.3, inner.double().numpy())).float()
    other = weight.detach().clone().requires_grad_()
    (whole @ other).square().sum().backward()
    torch.testing.assert_close(weight.grad, other.grad, atol=1e-3, rtol=1e-4)


def test_bad_settings_are_refused():
    wrong = [
        ({"alpha": 0.0}, "alpha must be a number strictly between 0 and 1"),
        ({"alpha": 1.0}, "alpha must be a number strictly between 0 and 1"),
        ({"alpha": float("nan")}, "alpha must be a number strictly between 0 and 1"),
        ({"alpha": "0.1"}, "alpha must be a number strictly between 0 and 1"),
        ({"r": -0.1}, "r must be a number from 0 to 1"),
        ({"r": 1.1}, "r must be a number from 0 to 1"),
        ({"r": True}, "r must be a number from 0 to 1"),
        ({"r_max": 0}, "r_max must be a positive finite number"),
        ({"r_max": float("inf")}, "r_max must be a positive finite number"),
        ({"algorithm": "pushy"}, "algorithm must be one of auto, push, power, chebyshev"),
    ]
    check_refused(lambda given: PageRankDenoiser(**{"alpha": 0.1, **given}), wrong)
    few, rows = "the graph has 60 users, the estimate 59 rows", "rounding needs r_max of at least"
    check_refused(
        lambda users, r_max: PageRankDenoiser(0.1, 0.5, r_max).rows(
            sparse_estimate(users, 3)[0], graphs()[0]
        ),
        [(59, 1e-3, few), (60, 1e-17, rows)],
    )
