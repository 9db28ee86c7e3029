"""From numpy to torch."""

from __future__ import annotations

from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor


def tensor(array: NDArray[Any], device: torch.device | str = "cpu") -> Tensor:
    """A copy of an array on a device, of the same shape and type."""
    return torch.tensor(array, device=device)
