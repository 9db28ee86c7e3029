"""Denoised reports of a small graph, and the same as a plain matrix."""

from __future__ import annotations

import numpy as np
import torch

from graphveil import SeededBits, mechanism
from graphveil.denoise import KProp
from graphveil.learn.attribute_analysis import DenoisedReports, KnownLabels
from graphveil.linear import weighted_mean_matrix
from tests.learn.graphs import small_graph

# An attribute that nobody reported.
SILENT = 3


def setting(name="multibit", hops=2, features=40, users=80):
    """Denoised reports, all their rows in double precision, and the labels that are known."""
    graph, rows, _ = small_graph(users=users, features=features, edges=2 * users)
    built = mechanism(name, epsilon=8.0, dims=features, range=(0, 1))
    estimate = built.randomize(rows, SeededBits(0)).estimate()
    if estimate.indices is None:
        estimate.values.reshape(estimate.shape)[:, SILENT] = 0
    else:
        estimate.values[estimate.indices == SILENT] = 0
    operator = KProp(hops).operator(weighted_mean_matrix(graph, np.ones(users)))
    whole = estimate.dense() - estimate.offset
    matrix = operator.matrix.to_dense().double().numpy()
    plain = np.linalg.matrix_power(matrix, hops) @ whole
    return DenoisedReports(estimate, operator), plain, known_of(graph)


def known_of(graph):
    return KnownLabels(graph.labels.copy(), graph.train.copy(), graph.validation.copy(), graph.class_count)


def decided(users=300, features=30, deciding=(4, 17), classes=3, seed=1):
    """Reports without noise and hops, of which two attributes say the class and the others nothing."""
    random = np.random.default_rng(seed)
    labels = random.integers(0, classes, users)
    rows = random.standard_normal((users, features))
    for place in deciding:
        rows[:, place] = 3 * labels + random.standard_normal(users)
    train, validation = np.zeros(users, dtype=bool), np.zeros(users, dtype=bool)
    train[: users // 2], validation[users // 2 : 3 * users // 4] = True, True
    return plain_values(rows), KnownLabels(labels, train, validation, classes)


def plain_values(rows):
    """A plain matrix as denoised reports, with no hops."""
    from graphveil.linear import SparseMatrix
    from graphveil.mechanisms import Estimate

    users, features = rows.shape
    loops = SparseMatrix.from_csr(np.arange(users + 1), np.arange(users), np.ones(users), (users, users))
    pointers = np.arange(users + 1, dtype=np.int64) * features
    values = np.asarray(rows, dtype=np.float64).ravel()
    return DenoisedReports(Estimate(rows.shape, pointers, None, values, 0.0, True), KProp(0).operator(loops))


def largest_tensor(call):
    """The most numbers that any dense tensor held which ``call`` made."""
    from torch.utils._python_dispatch import TorchDispatchMode

    largest = 0

    class Sizes(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            nonlocal largest
            result = function(*args, **(kwargs or {}))
            for tensor in result if isinstance(result, (tuple, list)) else (result,):
                if hasattr(tensor, "layout") and tensor.layout == torch.strided:
                    largest = max(largest, tensor.numel())
            return result

    with Sizes():
        call()
    return largest
