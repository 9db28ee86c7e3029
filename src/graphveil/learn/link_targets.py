"""What an encoder learns towards where links are to be predicted: linked pairs should be more alike than others."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from graphveil import linear
from graphveil.graphs.graph import Graph
from graphveil.graphs.links import LinkPairs
from graphveil.graphs.metrics import area_under_curve
from graphveil.linear.pair_products import PairProducts


class LinkTargets:
    """Embeddings of all users are decoded by inner products: the larger ⟨H_u, H_v⟩, the likelier a link.

    The loss is pairwise (Wang et al. 2021): every training link is compared with a pair that is none, drawn anew each time,
    and loses log(1 + e^-(difference)). The model is chosen by the area under the ROC curve over the validation pairs.
    ``scores`` are the embeddings H, a row a user: n x h.
    """

    def __init__(self, graph: Graph, device: torch.device | str = "cpu") -> None:
        assert graph.links is not None
        self.train = _Pairs(graph.links.train, graph.node_count, device)
        self.validation = _Pairs(graph.links.validation, graph.node_count, device)

    def train_loss(self, scores: Tensor) -> Tensor:
        """The pairwise loss of the training pairs, given the embeddings of all users."""
        linked, unlinked = self.train.scores(scores)
        order = torch.randperm(len(unlinked)).to(scores.device)
        return functional.softplus(unlinked[order] - linked).mean()

    def validation_loss(self, scores: Tensor) -> Tensor:
        """How far the area under the curve is from 1: what counts in the end, however scores are scaled."""
        return torch.tensor(1 - self.validation_score(scores))

    def validation_score(self, scores: Tensor) -> float:
        """The area under the curve over the validation pairs."""
        with torch.no_grad():
            linked, unlinked = self.validation.scores(scores)
        if not (linked.isfinite().all() and unlinked.isfinite().all()):
            return float("nan")
        wanted = np.arange(len(linked) + len(unlinked)) < len(linked)
        return area_under_curve(torch.cat([linked, unlinked]).cpu().numpy(), wanted)


class _Pairs:
    """Linked pairs and others, in one list."""

    def __init__(self, pairs: LinkPairs, users: int, device: torch.device | str) -> None:
        self.linked = len(pairs.linked)
        self.products = PairProducts(np.concatenate([pairs.linked, pairs.unlinked]), users, device)

    def scores(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """The scores of the linked pairs, and of the others."""
        every = self.products(rows)
        return every[: self.linked], every[self.linked :]


class InnerProducts:
    """Σ_j w_j H_uj H_vj for the m pairs that are asked for (m x 2); ``rows`` is H, n x h, and ``weights`` has h numbers."""

    def __init__(self, rows: NDArray[np.float32], weights: NDArray[np.float32] | None = None) -> None:
        self.rows = rows
        self.weights = np.ones(rows.shape[1], dtype=np.float32) if weights is None else weights

    def __call__(self, pairs: NDArray[np.int64]) -> NDArray[np.float32]:
        return linear.weighted_products(self.rows, pairs, self.weights)
