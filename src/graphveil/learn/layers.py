"""Parameters of layers, with the names, shapes and first values of PyG's modules, so a trained model's parameters fit the plain PyG model.

What layers do with them is in `backbones`. PyG itself takes longer to load than torch, and processes that learn are many.
"""

from __future__ import annotations

import math

import torch
from torch import nn


class Convolution(nn.Module):
    """Of a GCNConv from k to m columns: ``lin.weight`` (m x k), drawn by Glorot and Bengio (2010), and ``bias`` (m), zeros."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.lin = nn.Linear(inputs, outputs, bias=False)
        self.bias = nn.Parameter(torch.zeros(outputs))
        _draw(self.lin.weight, math.sqrt(6.0 / (inputs + outputs)))


class Attention(nn.Module):
    """Of a GATConv from k to m columns with several heads: ``lin.weight`` (heads·m x k), what a sender and a receiver count for it (``att_src``,
    ``att_dst``, 1 x heads x m), and ``bias``: heads·m where heads stand side by side (``concat``), else m, for their mean."""

    def __init__(self, inputs: int, outputs: int, heads: int, concat: bool) -> None:
        super().__init__()
        self.lin = nn.Linear(inputs, heads * outputs, bias=False)
        self.att_src, self.att_dst = (nn.Parameter(torch.empty(1, heads, outputs)) for _ in range(2))
        self.bias = nn.Parameter(torch.zeros(heads * outputs if concat else outputs))
        self.concat = concat
        _draw(self.lin.weight, math.sqrt(6.0 / (inputs + heads * outputs)))
        for each in (self.att_src, self.att_dst):
            _draw(each, math.sqrt(6.0 / (heads + outputs)))


class Linear(nn.Module):
    """Of an SGConv or SSGConv from k to m columns: ``lin`` with its bias."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.lin = nn.Linear(inputs, outputs)
        _draw_linear(self.lin)


class Means(nn.Module):
    """Of a SAGEConv from k to m columns: ``lin_l`` for the mean of neighbours, ``lin_r`` for oneself, without a bias."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.lin_l, self.lin_r = nn.Linear(inputs, outputs), nn.Linear(inputs, outputs, bias=False)
        _draw_linear(self.lin_l)
        _draw_linear(self.lin_r)


class Sums(nn.Module):
    """Of a GINConv: ``nn``, a small network of linear maps, and ``eps``, by how much more than neighbours oneself counts: 0."""

    eps: torch.Tensor

    def __init__(self, network: nn.Sequential) -> None:
        super().__init__()
        self.nn = network
        self.register_buffer("eps", torch.zeros(1))
        for part in network:
            if isinstance(part, nn.Linear):
                part.reset_parameters()


def _draw_linear(lin: nn.Linear) -> None:
    _draw(lin.weight, math.sqrt(6 / ((1 + math.sqrt(5) ** 2) * lin.in_features)))
    if lin.bias is not None:
        _draw(lin.bias, 1.0 / math.sqrt(lin.in_features))


def _draw(values: torch.Tensor, bound: float) -> None:
    """Draw first values evenly up to a bound. They have been drawn before, when there was nothing else in the module: PyG does so too."""
    with torch.no_grad():
        values.uniform_(-bound, bound)
