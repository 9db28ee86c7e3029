"""A group lasso on the first layer's weights: features that tell little are left out whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from graphveil.learn.backbones import Backbone
from graphveil.learn.targets import Goal
from graphveil.learn.topology import Topology
from graphveil.linear.composition import Input

# Added to squared norms: the root has no gradient at 0.
TINY = 1e-12


def group_lasso(
    model: Backbone, inputs: Input, topology: Topology, targets: Goal, share: float
) -> Callable[[], Tensor] | None:
    """λ Σ_j ‖w_j‖, to be added to the loss: w_j are the weights of feature j in the first layer (Meier et al. 2008).

    Their factor for the size of a group is left out, as all groups have the same. ``share`` is λ as a part of the smallest one
    that outweighs, for every feature, what the loss pulls at its weights when training begins; they too give λ as a part
    of that which leaves no feature. None for a share of 0. Adam brings groups near 0, not to it.
    """
    if share == 0:
        return None
    weights = model.feature_weights()
    model.eval()
    pulls = torch.autograd.grad(targets.train_loss(model(inputs, topology)), weights)
    strength = share * float(_norms(pulls).max())
    return lambda: strength * _norms(weights).sum()


def _norms(parts: Sequence[Tensor]) -> Tensor:
    """The norm of what belongs to each feature, from matrices that have a column a feature."""
    squares = [part.square().sum(dim=0) for part in parts]
    return (torch.stack(squares).sum(dim=0) + TINY).sqrt()
