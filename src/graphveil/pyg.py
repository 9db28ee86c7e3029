"""graphveil for PyG pipelines: a transform that makes features private, and denoisers as modules."""

from __future__ import annotations

import os
from threading import Lock
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform

from graphveil import denoise
from graphveil.channels import SeededBits
from graphveil.checks import check_whole
from graphveil.denoise import HOA, NFR, AdaptiveResidual, GroupLasso, KProp, Residual
from graphveil.errors import InputError, PrivacyError
from graphveil.learn.inputs import report_input
from graphveil.linear.propagation import pagerank_edge_matrix, weighted_mean_edge_matrix
from graphveil.linear.sparse import SparseMatrix
from graphveil.privacy import Ledger, Plan, answer

__all__ = [
    "HOA",
    "NFR",
    "AdaptiveResidual",
    "FlexProp",
    "GroupLasso",
    "KProp",
    "PageRank",
    "Privatize",
    "Residual",
]


# Where a tensor's numbers lie: two tensors of the same place are the same numbers.
Place = tuple[tuple[int, int, tuple[int, ...], tuple[int, ...]], ...]


class Privatize(BaseTransform):  # type: ignore[misc]
    """Replace ``data.x`` by what a server could know of it: every node reports its row once, at ε.

    A dataset calls its ``transform`` at every access. So an instance answers once for each Data and gives the same answer
    again, bit for bit, whenever the same tensor comes back; what was written into the tensor since then is not asked for.
    It answers for as many Data as ``graphs`` says and refuses any other: a Data that was loaded anew cannot be told from
    the same people asked again, whose noise would average out. Contents are never compared, which would reveal who is equal
    to whom. Copies share what was answered. An instance that was pickled, or finds itself in another process, answers nothing
    new without a seed, as it cannot know what the others have answered.

    By default rows are scaled by public constants to a norm that a GNN can be trained on; ``scaled=False`` gives the
    mechanism's own estimate, unbiased where the mechanism is. ``blind=True`` is the control: reports that carry nothing.
    ``data.privacy`` says what was spent. A seed makes the reports repeatable, as a simulation needs them.

    ``data.x`` is n nodes x d features, dense or sparse, and stays n x d, dense. ``name`` is a mechanism, ``range`` what its
    features are known to lie within; further ``settings`` are fields of `Plan` (sampled, delta) or options of the mechanism.

    >>> data = Data(x=torch.eye(4), edge_index=torch.tensor([[0, 1], [1, 0]]))
    >>> Privatize("multibit", epsilon=1.0, range=(0, 1))(data).privacy
    {'mechanism': 'multibit', 'epsilon': 1.0, 'delta': 0.0}
    """

    def __init__(
        self,
        name: str,
        *,
        epsilon: float,
        range: tuple[float, float],
        scaled: bool = True,
        blind: bool = False,
        seed: int | None = None,
        graphs: int = 1,
        **settings: Any,
    ) -> None:
        self.name, self.epsilon, self.range = name, epsilon, range
        self.scaled, self.blind, self.seed, self.settings = scaled, blind, seed, settings
        self._graphs = check_whole(graphs, "graphs", least=1)
        self._answered = _Answered(os.getpid())

    @property
    def graphs(self) -> int:
        """The number of Data for which it answers."""
        return self._graphs

    def forward(self, data: Data) -> Data:
        """Replace the rows of ``data.x`` by their reports: the stored answer, or a new one."""
        if data.x is None:
            raise InputError("data has no x to report: load a graph with features")
        if data.x.dim() != 2:
            raise InputError(f"data.x must be nodes x features, got {data.x.dim()} dimensions")
        with self._answered.lock:
            place = _place(data.x)
            if place not in self._answered:
                self._check_new()
                x, privacy = self._answer(data.x)
                # An alias: `data.x = ...` or a resize of the caller's tensor does not let go of the numbers.
                self._answered[place] = data.x.detach(), x, privacy
        _, x, privacy = self._answered[place]
        data.x, data.privacy = x.clone(), dict(privacy)
        return data

    def _check_new(self) -> None:
        """Raise an error if it may not answer for another Data."""
        if len(self._answered) >= self._graphs:
            raise PrivacyError(
                f"this Privatize answers for {self._graphs} Data and has done so: a Data that was loaded anew cannot be told from "
                "the same people asked again. Use it as pre_transform=, make a Privatize of its own for other people, or say "
                "how many Data of different people there are with graphs="
            )
        if self.seed is None and self._answered.process != os.getpid():
            raise PrivacyError(
                "this Privatize was pickled or is in another process than it was made in, where it would draw another answer "
                "for the same people: access the Data once before workers start, or use it as pre_transform="
            )

    def _answer(self, private: Tensor) -> tuple[Tensor, dict[str, Any]]:
        """Ask every row once."""
        dense = private if private.layout == torch.strided else private.to_dense()
        rows = dense.detach().cpu().double().numpy()
        plan = self._plan(rows.shape[1])
        # Each Data has noise of its own: the difference of two that share it would be free of noise.
        stream = (len(self._answered),) if len(self._answered) else ()
        random_bits = None if self.seed is None else SeededBits(self.seed, *stream)
        ledger = Ledger(len(rows), plan.claim.epsilon, plan.claim.delta)
        reports = answer(plan, rows, ledger, random_bits, blind=self.blind)
        if self.scaled:
            inputs = report_input(reports)
            x = inputs.to_dense() if isinstance(inputs, SparseMatrix) else inputs
        else:
            x = torch.from_numpy(reports.estimate().dense()).float()
        claim = reports.mechanism.claim
        return x, {"mechanism": self.name, "epsilon": claim.epsilon, "delta": claim.delta}

    def _plan(self, dims: int) -> Plan:
        """Return the question to every node."""
        fields = {key: value for key, value in self.settings.items() if key in Plan.model_fields}
        options = {key: value for key, value in self.settings.items() if key not in fields}
        return Plan(
            mechanism=self.name, epsilon=self.epsilon, dims=dims, range=self.range, options=options, **fields
        )

    def __repr__(self) -> str:
        return f"Privatize({self.name}, epsilon={self.epsilon:g})"


class _Answered(dict[Place, tuple[Tensor, Tensor, dict[str, Any]]]):
    """The tensors that were answered for, by their place, with the answers; kept, no other tensor can take the same place in memory.

    ``process`` is the one in which all answers were given: None after unpickling, which cannot know whether there were any.
    """

    def __init__(self, process: int | None) -> None:
        super().__init__()
        self.process = process
        # Held from the look for an answer to its being kept: two threads must not both draw.
        self.lock = Lock()

    def __copy__(self) -> _Answered:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> _Answered:
        # Shared: a copy of its own would draw again for what either of the two has answered.
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _Answered, (None,)


def _place(tensor: Tensor) -> Place:
    """Return the place in memory of a tensor's numbers, dense or sparse."""
    if tensor.layout == torch.strided:
        parts: tuple[Tensor, ...] = (tensor,)
    elif tensor.layout == torch.sparse_coo:
        parts = (tensor._indices(), tensor._values())
    else:
        parts = (tensor.crow_indices(), tensor.col_indices(), tensor.values())
    return tuple(
        (part.untyped_storage().data_ptr(), int(part.storage_offset()), tuple(part.shape), part.stride())
        for part in parts
    )


class PageRank(nn.Module):
    """Σ_l α(1-α)^l P^l x with P = D^(r-1) A D^-r (LDP-GE): `graphveil.denoise.PageRank` as a module, with a gradient.

    It maps features of n nodes (n x d, dense or a `SparseMatrix`) and ``edge_index`` (2 x edges) or a sparse ``adj_t`` to n x d, dense; ``alpha``,
    ``r`` and ``r_max`` are those of `graphveil.denoise.PageRank`. An edge counts in both directions. A node without neighbours
    keeps its row. Each column is within r_max of its norm, as `graphveil.denoise.PageRank.operator` says.
    """

    def __init__(self, alpha: float, r: float = 0.5, r_max: float = 1e-4) -> None:
        super().__init__()
        self.settings = denoise.PageRankDenoiser(alpha, r, r_max)

    def forward(self, x: Tensor | SparseMatrix, edge_index: Any) -> Tensor:
        """Propagate features (n x d, dense or sparse) along the edges of a PyG graph; the result is dense."""
        matrix = pagerank_edge_matrix(edge_index, x.shape[0], self.settings.r)
        dense = x if isinstance(x, Tensor) else x @ torch.eye(x.shape[1], device=x.device)
        return (self.settings.operator(matrix) @ dense.float()).to(dense.dtype)

    def extra_repr(self) -> str:
        """Return the settings that the module's repr shows."""
        return f"{self.settings.alpha:g}, r={self.settings.r:g}, r_max={self.settings.r_max:g}"


class FlexProp(nn.Module):
    """Π^K x, Π_ij = w_j / Σ_k w_k over the neighbours k of i and i itself (PPGNN): `graphveil.denoise.FlexProp` as a module.

    It maps features (n x d) and edges, as `KProp` takes them, to n x d; ``node_weight`` (n numbers of at least 0) says how much each node
    counts: the level that it reported, or the inverse variance of its report. ``hops`` is K.

    >>> x, edges = torch.tensor([[0.0], [3.0]]), torch.tensor([[0, 1], [1, 0]])
    >>> FlexProp(1)(x, edges, torch.tensor([1.0, 2.0])).tolist()
    [[2.0], [2.0]]
    """

    def __init__(self, hops: int) -> None:
        super().__init__()
        self.last = KProp(hops)

    def forward(
        self, x: Tensor, edge_index: Any, node_weight: Tensor, edge_weight: Tensor | None = None
    ) -> Tensor:
        """Average features over hops, with each node weighted.

        Parameters
        ----------
        x
            Features, (n, d).
        edge_index
            The links, as PyG's layers take them.
        node_weight
            Weights of the nodes, (n,), finite and at least 0.
        edge_weight
            Weights of the links; all 1 by default.
        """
        weights = node_weight.detach().cpu().numpy().astype(np.float64)
        if weights.shape != (x.shape[0],) or not np.isfinite(weights).all() or (weights < 0).any():
            raise InputError(f"node_weight must be {x.shape[0]} finite numbers of at least 0, one a node")
        matrix = weighted_mean_edge_matrix(edge_index, weights, edge_weight)
        return (self.last.operator(matrix) @ x.float()).to(x.dtype)

    def extra_repr(self) -> str:
        """Return the settings that the module's repr shows."""
        return self.last.extra_repr()
