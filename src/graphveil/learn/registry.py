"""Backbones by name: the library's own, and any module of torch from outside."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from graphveil.errors import InputError
from graphveil.learn.backbones import APPNP, GAT, GCN, GIN, MLP, SGC, SSGC, Backbone, GraphSAGE
from graphveil.learn.inputs import refuse_above
from graphveil.learn.topology import Topology
from graphveil.linear.polynomial import Input
from graphveil.plugins import Registry

CONVENTION = (
    "a torch.nn.Module class, or a function that returns a module, called with (inputs, hidden, outputs)"
)
# The second parameter of a forward that takes what the library's own backbones take.
TOPOLOGY = "topology"


def outside_backbone(name: str, member: Any) -> Callable[..., Backbone]:
    """What was found in a file or a package, as a function that makes a backbone."""
    if isinstance(member, nn.Module):
        raise InputError(
            f"{name} is a module that is built already, for one number of columns: name its class, or a function that makes it"
        )
    if not callable(member) or (isinstance(member, type) and not issubclass(member, nn.Module)):
        kind = member.__name__ if isinstance(member, type) else type(member).__name__
        raise InputError(f"{name} is no backbone but a {kind}: name {CONVENTION}")

    def make(inputs: int, hidden: int, outputs: int, **options: Any) -> Backbone:
        accepted = _parameters(member)
        taken = {key: value for key, value in options.items() if key in accepted}
        try:
            made = member(inputs, hidden, outputs, **taken)
        except TypeError as error:
            raise InputError(
                f"{name} cannot be made with ({inputs}, {hidden}, {outputs}): {error}; it must be {CONVENTION}"
            ) from error
        if isinstance(made, Backbone):
            return made
        if not isinstance(made, nn.Module):
            raise InputError(f"{name} returned a {type(made).__name__}: it must be {CONVENTION}")
        return OutsideBackbone(name, made, outputs)

    return make


class OutsideBackbone(Backbone):
    """A module from outside. All of it is the second layer: the library does not know where its first one ends."""

    has_first_layer = False
    # Gigabytes of a dense input; by default what the machine has left.
    max_memory: float | None = None

    def __init__(self, name: str, module: nn.Module, outputs: int) -> None:
        super().__init__("selu", 0.0)
        self.name, self.module, self.outputs = name, module, outputs
        self.takes_topology = _takes_topology(name, module)
        self._dense: tuple[Input, Tensor] | None = None

    def layer(self, conv: Any, inputs: Input, topology: Topology) -> Tensor:
        """The whole module."""
        out = self.module(
            *((inputs, topology) if self.takes_topology else (self._as_dense(inputs), topology.edge_index))
        )
        return self._checked(out, inputs.shape[0])

    def first(self, inputs: Input, topology: Topology) -> Any:
        """The input as it is."""
        return inputs

    def second(self, hidden: Input, topology: Topology) -> Tensor:
        """From the input to the scores."""
        return self.layer(self.module, hidden, topology)

    def _as_dense(self, inputs: Input) -> Tensor:
        """The input as a dense matrix, made once for each input."""
        if isinstance(inputs, Tensor):
            return inputs
        if self._dense is None or self._dense[0] is not inputs:
            refuse_above(
                self.max_memory,
                inputs.shape,
                f"the input of {self.name}",
                f"let its forward take (inputs, {TOPOLOGY}), where inputs stay sparse",
            )
            columns = torch.eye(inputs.shape[1], device=next(self.parameters(), torch.empty(0)).device)
            self._dense = inputs, (inputs @ columns).detach()
        return self._dense[1]

    def _checked(self, out: Any, users: int) -> Tensor:
        if not isinstance(out, Tensor) or not out.is_floating_point() or out.shape != (users, self.outputs):
            got = (
                f"{out.dtype} of shape {tuple(out.shape)}" if isinstance(out, Tensor) else type(out).__name__
            )
            raise InputError(
                f"{self.name} must return a tensor of floats, users x output columns, here ({users}, {self.outputs}): "
                f"it returned {got}"
            )
        return out


def _parameters(build: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(build).parameters
    except (TypeError, ValueError):
        return {}


def _takes_topology(name: str, module: nn.Module) -> bool:
    """Whether forward takes what the library's own backbones take, by the name of its second parameter."""
    accepted = list(_parameters(module.forward).values())
    several = any(parameter.kind is parameter.VAR_POSITIONAL for parameter in accepted)
    needed = [
        parameter
        for parameter in accepted
        if parameter.default is parameter.empty and parameter.kind is not parameter.VAR_POSITIONAL
    ]
    if not several and (len(accepted) < 2 or len(needed) > 2):
        raise InputError(
            f"the forward of {name} takes {', '.join(parameter.name for parameter in accepted) or 'nothing'}: it must take "
            f"(x, edge_index) or (inputs, {TOPOLOGY})"
        )
    return len(accepted) > 1 and accepted[1].name == TOPOLOGY


BACKBONES = Registry[Callable[..., Backbone]](
    "backbone",
    {
        "gcn": GCN,
        "sage": GraphSAGE,
        "gat": GAT,
        "gin": GIN,
        "appnp": APPNP,
        "sgc": SGC,
        "ssgc": SSGC,
        "mlp": MLP,
    },
    group="graphveil.backbones",
    adapt=outside_backbone,
)


def build_backbone(name: str, inputs: int, hidden: int, classes: int, **options: Any) -> Backbone:
    """A backbone by name, from d inputs over h hidden columns to c classes; ``options`` are those of its class."""
    return BACKBONES.find(name)(inputs, hidden, classes, **options)
