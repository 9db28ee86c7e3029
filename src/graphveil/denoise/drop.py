"""Reported labels, cleaned by those of the neighbourhood."""

from __future__ import annotations

import torch
from torch import Tensor

from graphveil.linear.polynomial import Polynomial


def spread_labels(labels: Tensor, known: Tensor, classes: int, hops: Polynomial) -> Tensor:
    """The class of which most arrives at each user, when the labels of ``known`` users spread along ``hops``.

    ``labels`` are n numbers below ``classes``, ``known`` says of each user whether the label counts, and so the result is n
    numbers. A user at whom nothing arrives keeps the own label.
    """
    rows = torch.zeros(len(labels), classes, device=labels.device)
    rows[known.nonzero().ravel(), labels[known]] = 1
    arriving = hops @ rows
    return torch.where(arriving.sum(1) > 0, arriving.argmax(1), labels)
