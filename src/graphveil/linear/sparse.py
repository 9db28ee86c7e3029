"""Linear maps: sparse matrices times narrow dense ones, where the time goes, their polynomials, and one map after another; edges as PyG has them."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import reverse_cuthill_mckee
from torch import Tensor

from graphveil.errors import InputError

Device = torch.device | str
SPARSE = (torch.sparse_coo, torch.sparse_csr, torch.sparse_csc)
# Columns of a composition that are multiplied out at a time.
COLUMNS_AT_ONCE = 128
# Users with neighbours beside each other find their rows in the cache: reverse Cuthill-McKee's order takes 15 to 40% off a
# product, and at 22,000 users as long to compute as some fifteen products. With fewer users all rows are in the cache anyway, with fewer hops the way
# there and back costs as much, and a second copy of a matrix with more entries (8 bytes each) would cost too much memory.
MANY_USERS, MANY_HOPS, MANY_ENTRIES = 1 << 13, 3, 1 << 26


@dataclass(frozen=True, eq=False)
class Edges:
    """Directed edges: sources, targets, and weights, which are 1 where none are given."""

    source: NDArray[np.int64]
    target: NDArray[np.int64]
    weights: NDArray[np.float64]
    device: torch.device

    @property
    def plain(self) -> bool:
        """Whether all weights are 1."""
        return bool((self.weights == 1).all())


def edges_of(edges: Any, nodes: int, edge_weight: Tensor | None = None) -> Edges:
    """Return the edges of n nodes, from any form in which PyG's layers take them.

    Weights are constants: no gradient flows into them.

    Parameters
    ----------
    edges
        An ``edge_index`` (2 x edges, sources above targets), or a sparse matrix, n x n, whose row is the
        target and whose column is the source, as PyG's ``adj_t``: a sparse tensor of torch, or torch_sparse's
        ``SparseTensor``. Its values are the weights.
    nodes
        The number of nodes n.
    edge_weight
        A weight for each edge of an ``edge_index``; 1 by default.
    """
    if hasattr(edges, "coo"):
        # torch_sparse's; it need not be installed to be recognized.
        target, source, values = edges.coo()
        shape, weights = tuple(edges.sizes()), values
    elif isinstance(edges, Tensor) and edges.layout in SPARSE:
        whole = edges.detach().to_sparse_coo().coalesce()
        target, source = whole.indices()
        shape, weights = tuple(edges.shape), whole.values()
    elif isinstance(edges, Tensor) and edges.dim() == 2 and len(edges) == 2 and not edges.is_floating_point():
        source, target = edges
        shape, weights = (nodes, nodes), edge_weight
    else:
        got = type(edges).__name__
        if isinstance(edges, Tensor):
            got = f"{edges.dtype} of shape {tuple(edges.shape)}"
        expected = f"an edge_index (2 x edges, integers) or a sparse adjacency matrix ({nodes} x {nodes})"
        raise InputError(f"edges must be {expected}, got {got}")
    if shape != (nodes, nodes):
        raise InputError(f"an adjacency matrix of {nodes} nodes must be {nodes} x {nodes}, got {shape}")
    if edge_weight is not weights and edge_weight is not None:
        raise InputError("a sparse adjacency matrix has its weights itself: leave edge_weight out")
    first, second = (each.detach().cpu().numpy().astype(np.int64) for each in (source, target))
    count = np.ones(len(first)) if weights is None else weights.detach().cpu().numpy().astype(np.float64)
    return _checked(Edges(first, second, count, source.device), nodes)


def _checked(edges: Edges, nodes: int) -> Edges:
    if edges.weights.shape != edges.source.shape:
        shape = edges.weights.shape
        raise InputError(f"edge_weight must be {len(edges.source)} numbers, one an edge, got {shape}")
    if not np.isfinite(edges.weights).all() or (edges.weights < 0).any():
        raise InputError("weights of edges must be finite and at least 0")
    ends = np.concatenate([edges.source, edges.target])
    if ends.size and not 0 <= int(ends.min()) <= int(ends.max()) < nodes:
        raise InputError(f"edges must name nodes 0..{nodes - 1}, got {int(ends.min())}..{int(ends.max())}")
    return edges


class CsrMatrix:
    """A CSR tensor (n x m) as it is multiplied with dense ones: on a processor by a compiled loop, elsewhere by torch."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor

    @cached_property
    def _arrays(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        parts = self.tensor.crow_indices(), self.tensor.col_indices(), self.tensor.values()
        pointers, columns, values = (part.detach().numpy() for part in parts)
        return pointers, columns, values

    def multiply(
        self,
        dense: Tensor,
        out: Tensor | None = None,
        *,
        added: Tensor | None = None,
        weight: float = 1.0,
        scale: float = 0.0,
    ) -> Tensor:
        """Return weight·(rows @ dense) + scale·added, without a gradient.

        Parameters
        ----------
        dense
            The factor: (m, k).
        out
            The tensor to write to, (n, k); a new one by default.
        added
            What is added, (n, k); it may be ``out``.
        """
        if out is None:
            out = dense.new_empty((self.tensor.shape[0], dense.shape[1]))
        if self._compiled([dense, out] if added is None else [dense, out, added]):
            from graphveil.linear.compiled import sparse_product

            others = None if added is None else added.detach().numpy()
            sparse_product(self._arrays, dense.detach().numpy(), out.numpy(), others, weight, scale)
            return out
        # Said that nothing is added, torch neither clears nor copies what it is about to overwrite.
        base, kept = (out, 0.0) if added is None else (added, scale)
        return torch.addmm(base, self.tensor, dense, beta=kept, alpha=weight, out=out)

    def _compiled(self, tensors: Sequence[Tensor]) -> bool:
        kind = self.tensor.dtype
        return kind in (torch.float32, torch.float64) and all(
            each.dtype is kind and each.is_cpu and each.is_contiguous() for each in tensors
        )


class SparseMatrix:
    """A constant sparse matrix (n x m) on a device: ``matrix @ dense`` (m x k to n x k) has a gradient for the dense factor.

    ``whole`` says whether all of its rows are in this process.
    """

    whole = True

    def __init__(
        self, rows: CsrMatrix | Tensor, columns: CsrMatrix | Tensor, order: Tensor | None = None
    ) -> None:
        # The matrix and its transpose; ``order`` says where each entry of the transpose stands among the entries.
        self._rows = rows if isinstance(rows, CsrMatrix) else CsrMatrix(rows)
        same = columns is rows
        self._columns = (
            self._rows if same else columns if isinstance(columns, CsrMatrix) else CsrMatrix(columns)
        )
        self._order = order

    @classmethod
    def from_csr(
        cls,
        indptr: NDArray[Any],
        indices: NDArray[Any],
        values: NDArray[Any],
        shape: tuple[int, int],
        *,
        symmetric: bool = False,
        device: Device = "cpu",
        dtype: torch.dtype = torch.float32,
    ) -> SparseMatrix:
        """Make a matrix from the three arrays of a CSR matrix.

        Parameters
        ----------
        indptr
            The start of each row: n + 1 pointers.
        indices, values
            The column and the value of each entry.
        shape
            The shape: (n, m).
        symmetric
            Whether the matrix is its own transpose, which saves building it.
        device, dtype
            Those of the matrix.
        """
        forward = csr_tensor(indptr, indices, values, shape, device, dtype)
        if symmetric:
            return cls(forward, forward)
        # Entry numbers, column by column: scipy counts where sorting would compare.
        turned = csr_matrix((np.arange(len(indices)), indices, indptr), shape=shape).tocsc()
        order = turned.data
        backward = csr_tensor(
            turned.indptr, turned.indices, values[order], (shape[1], shape[0]), device, dtype
        )
        return cls(forward, backward, torch.from_numpy(order).to(device))

    @classmethod
    def from_scipy(cls, matrix: Any, *, device: Device = "cpu") -> SparseMatrix:
        """From a CSR matrix of scipy."""
        return cls.from_csr(matrix.indptr, matrix.indices, matrix.data, matrix.shape, device=device)

    @property
    def shape(self) -> tuple[int, int]:
        """CsrMatrix and columns."""
        rows, columns = self._rows.tensor.shape
        return int(rows), int(columns)

    @property
    def device(self) -> torch.device:
        """The device that the matrix is on."""
        return self._rows.tensor.device

    @cached_property
    def transposed(self) -> SparseMatrix:
        """The transpose, which shares its memory with this matrix."""
        if self._rows is self._columns:
            return self
        turned = SparseMatrix(self._columns, self._rows)
        turned.__dict__["transposed"] = self
        return turned

    @cached_property
    def clustered(self) -> Clustered | None:
        """The same matrix with neighbours beside each other, for many products; None where it would not be faster."""
        users, tensor = self.shape[0], self._rows.tensor
        if self._rows is not self._columns or not tensor.is_cpu:
            return None
        if users < MANY_USERS or self.entry_count > MANY_ENTRIES:
            return None
        parts = tensor.values(), tensor.col_indices(), tensor.crow_indices()
        given = csr_matrix(tuple(part.numpy() for part in parts), shape=self.shape)
        order = reverse_cuthill_mckee(given, symmetric_mode=True).copy()
        near = given[order][:, order]
        near.sort_indices()
        forward = csr_tensor(near.indptr, near.indices, near.data, self.shape, dtype=tensor.dtype)
        numbers, matrix = torch.from_numpy(order).long(), SparseMatrix(forward, forward)
        # It is in its best order already.
        matrix.__dict__["clustered"] = None
        return Clustered(matrix, numbers, numbers.argsort())

    @property
    def entry_count(self) -> int:
        """The number of stored entries."""
        return int(self._rows.tensor.values().numel())

    def __matmul__(self, dense: Tensor) -> Tensor:
        product: Callable[..., Tensor] = _Product.apply
        return product(dense, self)

    def multiply(self, dense: Tensor, out: Tensor | None = None) -> Tensor:
        """The product with m x k without a gradient, written into ``out`` (n x k) if given."""
        return self._rows.multiply(self.operand(dense), out)

    def operand(self, dense: Tensor) -> Tensor:
        """Return the rows that the stored entries are multiplied with."""
        return dense

    def multiply_add(self, dense: Tensor, added: Tensor, weight: float, out: Tensor | None = None) -> Tensor:
        """Return the product with ``dense`` plus ``weight`` times ``added``, without a gradient.

        Parameters
        ----------
        dense
            The matrix to multiply with: (m, k).
        added
            The matrix to add: (n, k).
        weight
            The factor of ``added``.
        out
            The tensor to write to; a new one by default.
        """
        return self._rows.multiply(self.operand(dense), out, added=added, scale=weight)

    def add_product(self, dense: Tensor, weight: float, scale: float, out: Tensor) -> Tensor:
        """Set out ← scale·out + weight·(matrix @ dense), in place and without a gradient.

        Parameters
        ----------
        dense
            The matrix to multiply with: (m, k).
        weight, scale
            The factors of the product and of ``out``.
        out
            The tensor to change: (n, k).
        """
        return self._rows.multiply(self.operand(dense), out, added=out, weight=weight, scale=scale)

    def thinned(self, dropped: float) -> SparseMatrix:
        """A random share of the entries (``dropped``, in [0, 1)) at 0, the others scaled up by as much as keeps the mean."""
        if self._order is None:
            raise InputError("a symmetric or transposed matrix is not thinned: build it from rows")
        rows, columns = self._rows.tensor, self._columns.tensor
        values = torch.nn.functional.dropout(rows.values(), dropped)
        return SparseMatrix(_with_values(rows, values), _with_values(columns, values[self._order]))

    def to_csr(self) -> Tensor:
        """The matrix as torch has it, sparse."""
        return self._rows.tensor

    def to_dense(self) -> Tensor:
        """The whole matrix, dense; for tests and small graphs."""
        return self.to_csr().to_dense()


@dataclass(frozen=True, eq=False)
class Clustered:
    """A symmetric matrix with users in another order: ``order`` has who comes next, ``places`` where each user is."""

    matrix: SparseMatrix
    order: Tensor
    places: Tensor


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, dense: Tensor, operator: SparseMatrix | HopSeries) -> Tensor:
        """Multiply with ``dense``.

        Parameters
        ----------
        ctx
            What is kept for the gradient.
        dense
            The factor: (m, k).
        operator
            The linear map: (n, m).
        """
        ctx.operator = operator
        return operator.multiply(dense)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return ctx.operator.transposed.multiply(gradients[0].contiguous()), None


def _with_values(matrix: Tensor, values: Tensor) -> Tensor:
    shape = int(matrix.shape[0]), int(matrix.shape[1])
    return csr_tensor(matrix.crow_indices(), matrix.col_indices(), values, shape, matrix.device, trusted=True)


def csr_tensor(
    indptr: NDArray[Any] | Tensor,
    indices: NDArray[Any] | Tensor,
    values: NDArray[Any] | Tensor,
    shape: tuple[int, int],
    device: Any = "cpu",
    dtype: torch.dtype = torch.float32,
    *,
    trusted: bool = False,
) -> Tensor:
    """Return a CSR tensor from its three arrays; tensors are taken as they are.

    Parameters
    ----------
    indptr
        The start of each row: n + 1 pointers.
    indices, values
        The column and the value of each entry.
    shape
        The shape: (n, m).
    trusted
        Whether indices are taken without a check.
    """
    with warnings.catch_warnings():
        # torch calls its CSR layout beta once a process; what is used of it here is tested.
        warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta state")
        return torch.sparse_csr_tensor(
            # Copies: torch wants arrays that it could write to.
            indptr if isinstance(indptr, Tensor) else torch.from_numpy(np.array(indptr, dtype=np.int32)),
            indices if isinstance(indices, Tensor) else torch.from_numpy(np.array(indices, dtype=np.int32)),
            values if isinstance(values, Tensor) else torch.tensor(values, dtype=dtype),
            size=shape,
            device=device,
            check_invariants=not trusted,
        )


class Columns(NamedTuple):
    """Sparse columns.

    Parameters
    ----------
    pointers
        The start of each of k columns: k + 1 numbers.
    owners
        The users whose entries they are, rising within a column.
    values
        The entries.
    """

    pointers: NDArray[np.int64]
    owners: NDArray[np.int32]
    values: NDArray[Any]


def entries_of(rows: NDArray[Any]) -> Columns:
    """The entries that are not 0 of a dense block (n x k), by columns."""
    columns, users = np.nonzero(rows.T)
    counts = np.bincount(columns, minlength=rows.shape[1])
    pointers = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts)])
    return Columns(pointers, users.astype(np.int32), rows[users, columns])


def write(columns: Columns, block: Tensor) -> None:
    """Write k sparse columns into a block of zeros (n x k)."""
    places = np.repeat(np.arange(block.shape[1]), np.diff(columns.pointers))
    values = torch.from_numpy(columns.values).to(block)
    block[torch.from_numpy(columns.owners).long(), torch.from_numpy(places)] = values


class HopSeries(ABC):
    """A sum of polynomials of a square matrix, Σ_k c_k p_k(P) with p_0 = 1, applied by ``series @ dense``, with a gradient.

    ``matrix`` is P, n x n, ``coefficients`` are c_0, c_1, …, and a dense factor is n x k, as the product is.
    """

    def __init__(self, matrix: SparseMatrix, coefficients: Sequence[float]) -> None:
        if matrix.shape[0] != matrix.shape[1]:
            raise InputError(f"hops need a square matrix, got {matrix.shape[0]} x {matrix.shape[1]}")
        if not coefficients:
            raise InputError("hops need a coefficient: [1] is the identity")
        self.matrix, self.coefficients = matrix, tuple(float(c) for c in coefficients)

    @property
    def shape(self) -> tuple[int, int]:
        """CsrMatrix and columns."""
        return self.matrix.shape

    @property
    def degree(self) -> int:
        """The number of hops."""
        return len(self.coefficients) - 1

    @property
    def transposed(self) -> HopSeries:
        """The same series of Pᵀ."""
        return type(self)(self.matrix.transposed, self.coefficients)

    def __matmul__(self, dense: Tensor) -> Tensor:
        product: Callable[..., Tensor] = _Product.apply
        return dense if self.coefficients == (1.0,) else product(dense, self)

    def multiply(self, dense: Tensor) -> Tensor:
        """The product without a gradient."""
        clustered = self.matrix.clustered if self.degree >= MANY_HOPS else None
        if clustered is None:
            return self.into(dense, torch.empty_like(dense), torch.empty_like(dense))
        series = type(self)(clustered.matrix, self.coefficients)
        return series.multiply(dense.index_select(0, clustered.order)).index_select(0, clustered.places)

    @abstractmethod
    def into(self, dense: Tensor, total: Tensor, spare: Tensor) -> Tensor:
        """Return the product, without a gradient, in one of two tensors that are given.

        Parameters
        ----------
        dense
            The matrix to multiply with: (n, k).
        total, spare
            The tensors to work in: (n, k) each.
        """


class Composition:
    """``(outer ∘ inner) @ W = outer @ (inner @ W)``: project before you propagate.

    ``outer`` is n x n and ``inner`` n x d, so that a composition maps W (d x k) to n x k.
    """

    def __init__(self, outer: HopSeries | SparseMatrix, inner: Input) -> None:
        self.outer, self.inner = outer, inner

    @property
    def shape(self) -> tuple[int, int]:
        """CsrMatrix and columns."""
        return self.outer.shape[0], self.inner.shape[1]

    @property
    def device(self) -> torch.device:
        """The device that it is on."""
        return self.inner.device

    def __matmul__(self, dense: Tensor) -> Tensor:
        return self.outer @ (self.inner @ dense)

    def to_dense(self) -> Tensor:
        """The whole matrix, some columns at a time."""
        rows, columns = self.shape
        whole = torch.empty(rows, columns, device=self.inner.device)
        for first in range(0, columns, COLUMNS_AT_ONCE):
            unit = torch.zeros(columns, min(COLUMNS_AT_ONCE, columns - first), device=whole.device)
            unit[first : first + unit.shape[1]].fill_diagonal_(1.0)
            whole[:, first : first + unit.shape[1]] = self @ unit
        return whole


class Scaled:
    """``scaled @ W = inner @ (factor · W)``: an input (n x d) of another size, of which no copy is made."""

    def __init__(self, inner: Input, factor: float) -> None:
        self.inner, self.factor = inner, factor

    @property
    def shape(self) -> tuple[int, int]:
        """CsrMatrix and columns."""
        return self.inner.shape[0], self.inner.shape[1]

    @property
    def device(self) -> torch.device:
        """The device that it is on."""
        return self.inner.device

    def __matmul__(self, dense: Tensor) -> Tensor:
        return self.inner @ (self.factor * dense)


def scaled(inputs: Input, factor: float) -> Input:
    """Inputs times a factor; themselves where it is 1."""
    return inputs if factor == 1 else Scaled(inputs, factor)


# What a backbone multiplies its first weights with.
Input = SparseMatrix | Tensor | Composition | Scaled


class Polynomial(HopSeries):
    """Σ_k c_k P^k, applied by ``polynomial @ dense``: with a gradient, and with the memory of one hop however many there are.

    Horner's rule needs the argument, the sum so far and one product. The gradient is the same polynomial of Pᵀ, so no hop
    is kept for it.

    >>> import numpy as np
    >>> swap = SparseMatrix.from_csr(np.array([0, 1, 2]), np.array([1, 0]), np.ones(2), (2, 2), symmetric=True)
    >>> (Polynomial(swap, [0.0, 1.0, 2.0]) @ torch.tensor([[1.0], [0.0]])).ravel().tolist()
    [2.0, 1.0]
    """

    def into(self, dense: Tensor, total: Tensor, spare: Tensor) -> Tensor:
        """Return the product, without a gradient, in one of two tensors that are given.

        Parameters
        ----------
        dense
            The matrix to multiply with: (n, k).
        total, spare
            The tensors to work in: (n, k) each.
        """
        torch.mul(dense, self.coefficients[-1], out=total)
        for coefficient in reversed(self.coefficients[:-1]):
            if coefficient:
                self.matrix.multiply_add(total, dense, coefficient, spare)
            else:
                self.matrix.multiply(total, spare)
            total, spare = spare, total
        return total


class Chebyshev(HopSeries):
    """Σ_k c_k T_k(P), T_k(cos θ) = cos kθ, applied by ``series @ dense``: as `Polynomial`, with a gradient and no hop kept.

    Clenshaw's rule b_k = c_k X + 2P b_{k+1} - b_{k+2} ends with c_0 X + P b_1 - b_2 and needs the argument and two more
    matrices. The eigenvalues of P have to be real and within -1 and 1, or the terms grow with k. The gradient is the same
    series of Pᵀ.

    >>> import numpy as np
    >>> swap = SparseMatrix.from_csr(np.array([0, 1, 2]), np.array([1, 0]), np.ones(2), (2, 2), symmetric=True)
    >>> (Chebyshev(swap, [0.0, 1.0, 2.0]) @ torch.tensor([[1.0], [0.0]])).ravel().tolist()
    [2.0, 1.0]
    """

    def into(self, dense: Tensor, total: Tensor, spare: Tensor) -> Tensor:
        """Return the product, without a gradient, in one of two tensors that are given.

        Parameters
        ----------
        dense
            The matrix to multiply with: (n, k).
        total, spare
            The tensors to work in: (n, k) each.
        """
        # ``total`` is the newest b, ``spare`` the one before, which the next takes the place of.
        torch.mul(dense, self.coefficients[-1], out=total)
        spare.zero_()
        for k in range(self.degree - 1, -1, -1):
            self.matrix.add_product(total, 2.0 if k else 1.0, -1.0, out=spare)
            spare.add_(dense, alpha=self.coefficients[k])
            total, spare = spare, total
        return total
