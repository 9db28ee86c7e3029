"""Dropout from few random words: on large graphs a narrow network spends a sixth of its time on it otherwise."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

# A value takes 16 random bits, so four of them share a word; the share is rounded to a multiple of 2^-16.
VALUES_A_WORD, LEVELS = 4, 1 << 16
# Below so many values torch's own takes a millisecond or two, and is left to it.
FEW_VALUES = 1 << 18


def dropout(values: Tensor, share: float, training: bool, few: int | None = None) -> Tensor:
    """A random share of the values at 0 and the others scaled up, in training; the values themselves otherwise.

    ``values`` may have any shape, which stays; ``share`` is in [0, 1). torch's own draws a number for every value, which takes
    several times as long; below ``few`` values (`FEW_VALUES` unless given) it is taken all the same.
    """
    if values.numel() < (FEW_VALUES if few is None else few):
        return functional.dropout(values, share, training)
    level = min(round(share * LEVELS), LEVELS - 1)
    if not training or level == 0:
        return values
    words = -(-values.numel() // VALUES_A_WORD)
    drawn = torch.randint(-(2**63), 2**63 - 1, (words,), device=values.device).view(torch.int16)
    kept = drawn[: values.numel()].view(values.shape) >= level - LEVELS // 2
    return values * kept.to(values.dtype).mul_(LEVELS / (LEVELS - level))
