"""Dirichlet energy: how different neighbours are, and what hops leave of it, component by component."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import block_array, csr_array
from scipy.sparse.csgraph import connected_components

from graphveil.checks import check_whole
from graphveil.errors import InputError
from graphveil.graphs.graph import Graph
from graphveil.mechanisms import Estimate


@dataclass(frozen=True, eq=False)
class Components:
    """Orthonormal eigenvectors as columns of sparse matrices (users x components): of 1, and of -1.

    ``bipartite`` says of each user whether their component is.
    """

    constant: Any
    alternating: Any
    bipartite: NDArray[np.bool_]

    @property
    def bipartite_count(self) -> int:
        """The number of bipartite components; a user without neighbours does not count as one."""
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


# So many columns are propagated at a time: wide inputs are never dense as a whole.
BLOCK = 256
Energies = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class HopEnergies:
    """The energy after 0, 1, …, K hops of SKA and of HOA, and what SKA's can never fall below.

    ``mixing`` is the share of the components that are not bipartite; None where that is all there is.
    """

    ska: Energies
    hoa: Energies
    floor: float = 0.0
    mixing: HopEnergies | None = None

    @property
    def relative(self) -> HopEnergies:
        """Each in units of its energy before the first hop, so that inputs of any scale compare."""
        start = self.ska[0] if self.ska[0] > 0 else 1.0
        mixing = None if self.mixing is None else self.mixing.relative
        return HopEnergies(self.ska / start, self.hoa / start, float(self.floor / start), mixing)

    @property
    def ratio(self) -> Energies:
        """HOA over SKA at each K; above 1 where HOA leaves more energy."""
        return np.divide(self.hoa, self.ska, out=np.full_like(self.hoa, np.inf), where=self.ska > 0)


def dirichlet_energy(values: Any, graph: Graph) -> float:
    """The energy of n x c values: dense, a sparse matrix, or an estimate (without its offset, as it is learned from)."""
    return float(energy_over_hops(values, graph, 0).ska[0])


def energy_over_hops(
    values: Any, graph: Graph, hops: int, *, sketch: int | None = None, seed: int = 0
) -> HopEnergies:
    """Return the energies of SKA and HOA for all K up to ``hops``.

    They take one sweep of hops + 1 products a block of columns. The part that is alike already is taken out
    first: it has no energy, hops do not change it, and without it tiny energies keep their digits. HOA needs
    no product of its own: with x_k = Â^k x and s = x_1 + … + x_k, s - Âs = x_1 - x_{k+1}.

    Parameters
    ----------
    values
        The features: (n, d).
    hops
        The largest K.
    sketch
        Inputs wider than this are first multiplied by so many random columns of signs: project before you
        propagate. Energies then are estimates without bias, whose standard deviation is at most √(2/sketch)
        of them.
    seed
        The seed of the signs.
    """
    hops = check_whole(hops, "hops", least=0)
    values = _matrix(values, graph.node_count)
    if sketch is not None and values.shape[1] > sketch:
        signs = np.random.Generator(np.random.Philox(seed)).choice([-1.0, 1.0], (values.shape[1], sketch))
        values = _times(values, signs / np.sqrt(sketch))
    matrix, parts = _normalised(graph), find_components(graph)
    linked = (graph.degrees > 0)[:, None]
    # Of the components that are not bipartite, and of those that are.
    ska, hoa, floor = np.zeros((2, hops + 1)), np.zeros((2, hops + 1)), 0.0
    for start in range(0, values.shape[1], BLOCK):
        x = np.where(linked, _block(values, start, min(start + BLOCK, values.shape[1])), 0.0)
        x -= parts.constant @ (parts.constant.T @ x)
        floor += 2 * float(np.square(parts.alternating.T @ x).sum())
        first = following = matrix @ x
        ska[:, 0] += _inner(x, x - first, parts.bipartite)
        total = np.zeros_like(x)
        for k in range(1, hops + 1):
            x, following = following, matrix @ following
            total += x
            ska[:, k] += _inner(x, x - following, parts.bipartite)
            hoa[:, k] += _inner(total, first - following, parts.bipartite) / k**2
    hoa[:, 0] = ska[:, 0]
    # Rounding may leave less than nothing where there is nothing.
    scale = 2 / max(graph.node_count, 1)
    ska, hoa = scale * ska.clip(0), scale * hoa.clip(0)
    mixing = HopEnergies(ska[0], hoa[0]) if parts.bipartite_count else None
    return HopEnergies(ska.sum(0), hoa.sum(0), scale * floor, mixing)


def _inner(one: Energies, other: Energies, chosen: NDArray[np.bool_]) -> Energies:
    """The inner product of two matrices over the users that are not chosen, and over those that are."""
    by_user = np.einsum("ij,ij->i", one, other)
    return np.array([by_user[~chosen].sum(), by_user[chosen].sum()])


def _normalised(graph: Graph) -> Any:
    """Â in double precision: energies fall by many orders of magnitude."""
    degree = graph.degrees.astype(np.float64)
    scale = np.power(degree, -0.5, out=np.zeros_like(degree), where=degree > 0)
    entries = np.repeat(scale, graph.degrees) * scale[graph.indices]
    return csr_array((entries, graph.indices, graph.indptr), shape=(graph.node_count,) * 2)


def _matrix(values: Any, nodes: int) -> Any:
    """The input as a scipy or numpy matrix or a `SparseMatrix`, checked."""
    if isinstance(values, Estimate):
        values = values.values.reshape(values.shape) if values.indices is None else values.to_scipy()
    elif hasattr(values, "detach"):
        values = values.detach().cpu().numpy()
    elif not hasattr(values, "shape"):
        values = np.asarray(values, dtype=np.float64)
    if len(values.shape) != 2 or values.shape[0] != nodes:
        raise InputError(f"values must be {nodes} rows, one a user, got the shape {tuple(values.shape)}")
    return values.tocsc() if hasattr(values, "tocsc") else values


def _block(values: Any, start: int, stop: int) -> NDArray[np.float64]:
    """Some columns, dense."""
    if hasattr(values, "transposed"):
        return _times(values, np.eye(values.shape[1], stop - start, -start))
    columns = values[:, start:stop]
    dense = columns.toarray() if hasattr(columns, "toarray") else columns
    return np.asarray(dense, dtype=np.float64)


def _times(values: Any, right: NDArray[np.float64]) -> NDArray[np.float64]:
    """The product with a dense matrix, dense; a `SparseMatrix` is multiplied by torch, in single precision."""
    if not hasattr(values, "transposed"):
        return np.asarray(values @ right, dtype=np.float64)
    factor = torch.from_numpy(right).to(values.device, torch.float32)
    return np.asarray(values.multiply(factor).cpu().numpy(), dtype=np.float64)
