"""Where hops end: what K hops of Â = D^-1/2 A D^-1/2 can never smooth away, component by component.

Every component with an edge has the eigenvalue 1, with the eigenvector √deg: all users alike, but for their degree. A
bipartite component (two groups with edges only between them, such as a pair, a star or any tree) has the eigenvalue -1 too,
with the opposite sign in the two groups: each hop swaps the groups, and that goes on forever.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import block_array, csr_array
from scipy.sparse.csgraph import connected_components

from graphveil.graphs.graph import Graph


@dataclass(frozen=True, eq=False)
class Components:
    """Orthonormal eigenvectors as columns of sparse matrices (users x components): of 1, and of -1.

    ``bipartite`` says of each user whether the own component is.
    """

    constant: Any
    alternating: Any
    bipartite: NDArray[np.bool_]

    @property
    def bipartite_count(self) -> int:
        """How many components are bipartite; users without neighbours are none."""
        return int(self.alternating.shape[1])


def find_components(graph: Graph) -> Components:
    """The components of a graph that have edges, and which of them are bipartite (``bipartite``: whose users).

    A component is bipartite where its two copies in the double cover (every edge i-j as i-j' and i'-j) are not connected.
    """
    nodes = graph.node_count
    edges = csr_array((np.ones(len(graph.indices)), graph.indices, graph.indptr), shape=(nodes, nodes))
    linked = graph.degrees > 0
    _, label = connected_components(edges, directed=False)
    _, cover = connected_components(block_array([[None, edges], [edges, None]]), directed=False)
    here, there = cover[:nodes], cover[nodes:]
    bipartite = linked & (here != there)
    side = np.where(here < there, 1.0, -1.0)
    everyone = _columns(graph, label, linked, np.ones(nodes))
    return Components(everyone, _columns(graph, label, bipartite, side), bipartite)


def _columns(graph: Graph, label: NDArray[Any], chosen: NDArray[np.bool_], sign: NDArray[np.float64]) -> Any:
    """One column a component of the chosen users: sign·√deg, of length 1."""
    users = np.flatnonzero(chosen)
    names, column = np.unique(label[users], return_inverse=True)
    degree = graph.degrees[users].astype(np.float64)
    volume = np.bincount(column, weights=degree, minlength=len(names))
    entries = sign[users] * np.sqrt(degree / volume[column])
    return csr_array((entries, (users, column)), shape=(graph.node_count, len(names)))
