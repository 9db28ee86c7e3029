"""The mean over one hop as the program of UPGNET's authors has it: small entries are forgotten."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from graphveil.graphs.graph import Graph
from graphveil.mechanisms import Estimate

# Entries up to this size are forgotten, the others are shrunk by that.
FORGET, SHRINK = 2.0, 1.0


def forgetful_mean(estimate: Estimate, graph: Graph) -> Any:
    """The mean of the neighbours' decoded reports, oneself left out, each entry forgotten or shrunk.

    From an estimate of n users x d features (offset aside) to a scipy matrix of the same shape; a user without neighbours has
    a row of zeros.
    """
    weights = np.repeat(1 / np.maximum(graph.degrees, 1), graph.degrees)
    links = csr_array((weights, graph.indices, graph.indptr), shape=(graph.node_count,) * 2)
    mean = links @ estimate.to_scipy()
    mean.data[np.abs(mean.data) <= FORGET] = 0
    mean.data -= SHRINK * np.sign(mean.data)
    mean.eliminate_zeros()
    return mean
