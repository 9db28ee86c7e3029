"""The reference that lpgnn is compared with computes what LPGNN's paper says, and the benchmark compares all that it should."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import torch

from benchmarks import peers
from benchmarks.result import Sizes
from graphveil.graphs import Graph, from_arrays

TINY = Sizes(draws=1000, users=40, dimensions=30, repetitions=1, epochs=2)


LINKS = np.array([[0, 1], [1, 2], [1, 3], [3, 4], [4, 5], [2, 5]])


@pytest.fixture
def graph() -> Graph:
    """Six users, six links, two classes."""
    return from_arrays(LINKS, None, np.array([0, 1, 0, 1, 0, 1]), name="six")[0]


def normalised(*, loops: bool) -> torch.Tensor:
    """D^-1/2 A D^-1/2 of the six users, entry by entry."""
    adjacency = torch.eye(6) * loops
    for one, other in LINKS:
        adjacency[one, other] = adjacency[other, one] = 1
    degrees = adjacency.sum(0)
    return adjacency / (degrees[:, None] * degrees[None, :]).sqrt()


def test_a_rectified_report_has_one_answer_and_the_middle_elsewhere() -> None:
    torch.manual_seed(0)
    found = peers.multibit(torch.rand(50, 8), 1.0)
    answer = 8 / 2 * (math.e + 1) / (math.e - 1)
    assert ((found - 0.5).abs() > 1e-6).sum(1).tolist() == [1] * 50
    torch.testing.assert_close((found - 0.5).abs().amax(1), torch.full((50,), answer))


def test_a_budget_for_several_answers_asks_for_several() -> None:
    found = peers.multibit(torch.rand(50, 8), 3 * 2.18 + 0.01)
    assert ((found - 0.5).abs() > 1e-6).sum(1).tolist() == [3] * 50


@pytest.mark.statistical
def test_rectified_reports_are_unbiased() -> None:
    """The mean of 200,000 answers about a value; false alarms: 5 standard errors, below one in a million."""
    torch.manual_seed(0)
    values = torch.tensor([0.0, 0.3, 1.0]).expand(200_000, 3).contiguous()
    found = peers.multibit(values, 2.0)
    error = found.std(0) / math.sqrt(len(found))
    assert ((found.mean(0) - values[0]).abs() < 5 * error).all()


def test_kprop_takes_hops_without_loops(graph: Graph) -> None:
    one = normalised(loops=False)
    for hops in (0, 1, 3):
        found = peers.propagated(peers._csr(graph, loops=False), torch.eye(6), hops)
        torch.testing.assert_close(found, torch.linalg.matrix_power(one, hops))


def test_a_layer_of_the_reference_has_loops_and_torch_s_gradient(graph: Graph) -> None:
    matrix, dense = peers._csr(graph, loops=True), normalised(loops=True)
    torch.testing.assert_close(matrix.to_dense(), dense)
    ours, theirs = (torch.arange(12.0).view(6, 2).requires_grad_(True) for _ in range(2))
    weights = torch.arange(12.0).view(6, 2).square()
    (peers.SymmetricProduct.apply(ours, matrix) * weights).sum().backward()
    ((dense @ theirs) * weights).sum().backward()
    torch.testing.assert_close(ours.grad, theirs.grad)


def test_an_epoch_multiplies_twice_for_each_hop_and_what_the_layers_need(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns: list[int] = []

    def counted(matrix: object, dense: np.ndarray, out: np.ndarray) -> None:
        columns.append(dense.shape[1])

    monkeypatch.setattr(peers.compiled, "sparse_product", counted)
    peers.products(graph, 5, 4)()
    # Reports and their transpose, four hops and a layer to and fro; the second layer three times, in two classes.
    assert (columns.count(16), columns.count(2)) == (peers.REPEAT * (2 + 10), peers.REPEAT * 3)


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "_measured", peers.measure_here)
    # Small enough for a test.
    monkeypatch.setattr(peers, "WARM_UP", "40 x 30")


@pytest.mark.usefixtures("in_this_process")
def test_whole_runs_and_epochs_are_compared() -> None:
    results = peers.run(TINY)
    assert [result.unit for result in results] == ["s", "MB", "MB", "% wrong"] * 2 + ["s"]
    assert all(result.theirs > 0 for result in results if result.unit != "MB")


@pytest.mark.usefixtures("in_this_process")
def test_a_side_says_what_it_took(capsys: pytest.CaptureFixture[str]) -> None:
    peers.main(["--graphs", "40 x 30", "--hops", "1", "--epochs", "2", "--side", "reference"])
    found = json.loads(capsys.readouterr().out)
    assert set(found) == {"source", *peers.UNITS}
