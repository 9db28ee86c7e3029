"""Steps of Adam (Kingma and Ba 2015), by torch's own function: the class of its optimizer loads torch's compiler, which takes seconds."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim.adam import adam

from graphveil.graphs.world import ALONE, World
from graphveil.learn.targets import add_up

BETA1, BETA2, EPS = 0.9, 0.999, 1e-8


class Adam:
    """Steps down the gradient of a loss; where several workers have a share of the loss each, of their sum."""

    def __init__(self, model: nn.Module, lr: float, weight_decay: float, world: World = ALONE) -> None:
        self.parameters, self.world = list(model.parameters()), world
        self._lr, self._weight_decay = lr, weight_decay
        # Of each parameter that a loss has reached, by its number: steps so far, and moments of its gradients.
        self._moments: dict[int, dict[str, Tensor]] = {}

    def __call__(self, loss: Tensor) -> None:
        for each in self.parameters:
            each.grad = None
        loss.backward()
        if self.world.size > 1:
            self._add_up()
        self._step()

    @property
    def state(self) -> dict[str, Any]:
        """All that it knows of earlier steps."""
        return {"state": self._moments}

    def resume(self, state: dict[str, Any]) -> None:
        """Go on from there; moments of other parameters are a ValueError."""
        moments = state["state"]
        for number, held in moments.items():
            expected = _none_yet(self.parameters[number])
            if set(held) != set(expected) or any(
                (held[name].shape, held[name].dtype) != (each.shape, each.dtype)
                for name, each in expected.items()
            ):
                raise ValueError("moments are of another model")
            if not 0 <= float(held["step"]) < math.inf:
                raise ValueError("a step is a number of at least 0")
        self._moments = moments

    def _add_up(self) -> None:
        """All gradients of all workers, in one message; a parameter that no loss reaches has none anywhere."""
        held = [each.grad for each in self.parameters if each.grad is not None]
        whole = torch.cat([gradient.ravel() for gradient in held])
        summed = add_up(whole, self.world).split([gradient.numel() for gradient in held])
        for gradient, total in zip(held, summed, strict=True):
            gradient.copy_(total.view_as(gradient))

    @torch.no_grad()
    def _step(self) -> None:
        reached = [
            (number, each, each.grad) for number, each in enumerate(self.parameters) if each.grad is not None
        ]
        for number, each, _ in reached:
            if number not in self._moments:
                self._moments[number] = _none_yet(each)
        moments = [self._moments[number] for number, _, _ in reached]
        adam(
            [each for _, each, _ in reached],
            [gradient for _, _, gradient in reached],
            [each["exp_avg"] for each in moments],
            [each["exp_avg_sq"] for each in moments],
            [],
            [each["step"] for each in moments],
            amsgrad=False,
            beta1=BETA1,
            beta2=BETA2,
            lr=self._lr,
            weight_decay=self._weight_decay,
            eps=EPS,
            maximize=False,
        )


def _none_yet(parameter: Tensor) -> dict[str, Tensor]:
    zeros = torch.zeros_like(parameter)
    return {"step": torch.tensor(0.0), "exp_avg": zeros, "exp_avg_sq": zeros.clone()}
