"""Backbones whose input stays sparse: two layers, or one linear map after propagation, with PyG's parameter names; and any module of torch from outside, by name."""

from __future__ import annotations

import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from graphveil.checks import check_number
from graphveil.errors import InputError
from graphveil.learn.inputs import refuse_above
from graphveil.learn.topology import Topology, dropout
from graphveil.linear.sparse import Input, Polynomial
from graphveil.plugins import Registry


def parameters(**members: Any) -> nn.Module:
    """Return a module that holds these parameters and modules, by the names that PyG gives them."""
    held = nn.Module()
    for name, member in members.items():
        setattr(held, name, member)
    return held


def convolution(inputs: int, outputs: int) -> nn.Module:
    """Those of a GCNConv from k to m columns: ``lin.weight`` (m x k), drawn by Glorot and Bengio (2010), and ``bias`` (m), zeros."""
    lin = nn.Linear(inputs, outputs, bias=False)
    _draw(lin.weight, math.sqrt(6.0 / (inputs + outputs)))
    return parameters(lin=lin, bias=nn.Parameter(torch.zeros(outputs)))


def attention(inputs: int, outputs: int, heads: int, *, concat: bool) -> nn.Module:
    """Those of a GATConv from k to m columns with several heads.

    ``lin.weight`` (heads·m x k), what a sender and a receiver count for it (``att_src``, ``att_dst``, 1 x heads x m), and ``bias``: heads·m
    where heads stand side by side (``concat``), else m, for their mean.

    Parameters
    ----------
    inputs, outputs
        The numbers k and m.
    heads
        The number of heads.
    concat
        Whether heads stand side by side.
    """
    lin = nn.Linear(inputs, heads * outputs, bias=False)
    att_src, att_dst = (nn.Parameter(torch.empty(1, heads, outputs)) for _ in range(2))
    bias = nn.Parameter(torch.zeros(heads * outputs if concat else outputs))
    _draw(lin.weight, math.sqrt(6.0 / (inputs + heads * outputs)))
    for each in (att_src, att_dst):
        _draw(each, math.sqrt(6.0 / (heads + outputs)))
    return parameters(lin=lin, att_src=att_src, att_dst=att_dst, bias=bias, concat=concat)


def linear(inputs: int, outputs: int) -> nn.Module:
    """Those of an SGConv or SSGConv from k to m columns: ``lin`` with its bias."""
    return parameters(lin=_drawn(nn.Linear(inputs, outputs)))


def mean_of_neighbours(inputs: int, outputs: int) -> nn.Module:
    """Those of a SAGEConv from k to m columns: ``lin_l`` for the mean of neighbours, ``lin_r`` for oneself, without a bias."""
    lin_l, lin_r = nn.Linear(inputs, outputs), nn.Linear(inputs, outputs, bias=False)
    return parameters(lin_l=_drawn(lin_l), lin_r=_drawn(lin_r))


def sum_of_neighbours(network: nn.Sequential) -> nn.Module:
    """Those of a GINConv: ``nn``, a small network of linear maps, and ``eps``, by how much more than neighbours oneself counts: 0."""
    held = parameters(nn=network)
    held.register_buffer("eps", torch.zeros(1))
    for part in network:
        if isinstance(part, nn.Linear):
            part.reset_parameters()
    return held


def _drawn(lin: nn.Linear) -> nn.Linear:
    _draw(lin.weight, math.sqrt(6 / ((1 + math.sqrt(5) ** 2) * lin.in_features)))
    if lin.bias is not None:
        _draw(lin.bias, 1.0 / math.sqrt(lin.in_features))
    return lin


def _draw(values: torch.Tensor, bound: float) -> None:
    """Draw first values evenly up to a bound. They have been drawn before, when there was nothing else in the module: PyG does so too."""
    with torch.no_grad():
        values.uniform_(-bound, bound)


# Of the attention of GAT below 0.
SLOPE = 0.2
ACTIVATIONS: dict[str, type[nn.Module]] = {"selu": nn.SELU, "relu": nn.ReLU}


class Backbone(nn.Module, ABC):
    """Two layers with an activation and dropout between them; a subclass names the layers and says what one does.

    ``backbone(inputs, topology)`` makes scores of c classes (n x c) of the features of n users (n x d; dense, a `SparseMatrix` or
    a `Composition`). Every backbone is built from ``inputs`` = d, ``hidden`` = h columns between the layers, ``classes`` = c,
    ``activation`` (selu or relu) and ``dropout``, the share of what is between the layers that training leaves out, in [0, 1).
    """

    conv1: nn.Module
    conv2: nn.Module
    # Whether `first` is a layer of the model, whose result says something of each user.
    has_first_layer: bool = True
    # Where in the first layer the weights are that the input is multiplied by: a column for each of d features.
    feature_parameters: ClassVar[tuple[str, ...]] = ("lin.weight",)

    def __init__(self, activation: str, dropout: float) -> None:
        super().__init__()
        if activation not in ACTIVATIONS:
            raise InputError(f"activation must be one of {', '.join(ACTIVATIONS)}, got {activation!r}")
        check_number(dropout, "dropout", least=0, below=1)
        self.activation, self.dropout = ACTIVATIONS[activation](), dropout
        self._active: tuple[Tensor, Tensor] | None = None

    @abstractmethod
    def layer(self, conv: Any, inputs: Input, topology: Topology) -> Tensor:
        """Apply one layer: project, then pass messages.

        Parameters
        ----------
        conv
            The parameters of the layer.
        inputs
            (n, k), dense or sparse.
        topology
            The graph to pass messages along.
        """

    def first(self, inputs: Input, topology: Topology) -> Tensor:
        """The first layer, before its activation: from n x d to n x h."""
        return self.layer(self.conv1, inputs, topology)

    def second(self, hidden: Tensor, topology: Topology) -> Tensor:
        """Apply activation, dropout and the second layer: from n x h to scores of the classes (n x c)."""
        # Training and validation look at the same hidden layer, one after the other.
        known, self._active = self._active, None
        active = known[1] if known is not None and known[0] is hidden else self.activation(hidden)
        if self.training:
            self._active = hidden, active
        thinned = dropout(active, self.dropout, self.training, topology.numbers)
        return self.layer(self.conv2, thinned, topology)

    def forward(self, inputs: Input, topology: Topology) -> Tensor:
        return self.second(self.first(inputs, topology), topology)

    def feature_weights(self) -> list[Tensor]:
        """The weights that the input is multiplied by: matrices with a column for each of d features."""
        try:
            return [self.conv1.get_parameter(name) for name in self.feature_parameters]
        except AttributeError:
            missing = f"{type(self).__name__} has no feature_weights, which weight-lasso shrinks"
            raise InputError(f"{missing}: write them, or take another regularizer") from None


class Layers(Backbone):
    """A backbone of the library, which builds its layers in `build`; ``options`` are those that it takes there."""

    def __init__(
        self,
        inputs: int,
        hidden: int,
        classes: int,
        activation: str = "selu",
        dropout: float = 0.5,
        **options: Any,
    ) -> None:
        super().__init__(activation, dropout)
        self.build(inputs, hidden, classes, **options)

    @abstractmethod
    def build(self, inputs: int, hidden: int, classes: int) -> None:
        """Make the layers.

        Parameters
        ----------
        inputs, hidden, classes
            The numbers of input columns, hidden columns and classes.
        """


class GCN(Layers):
    """Graph convolutions (Kipf and Welling 2017): D^-1/2 (A + I) D^-1/2 X W + b."""

    def build(self, inputs: int, hidden: int, classes: int) -> None:
        self.conv1, self.conv2 = convolution(inputs, hidden), convolution(hidden, classes)

    def layer(self, conv: Any, inputs: Input, topology: Topology) -> Tensor:
        out: Tensor = topology.gcn @ project(inputs, conv.lin.weight) + conv.bias
        return out


class GraphSAGE(Layers):
    """Mean of the neighbours and oneself, each with weights of their own (Hamilton et al. 2017)."""

    feature_parameters = ("lin_l.weight", "lin_r.weight")

    def build(self, inputs: int, hidden: int, classes: int) -> None:
        self.conv1, self.conv2 = mean_of_neighbours(inputs, hidden), mean_of_neighbours(hidden, classes)

    def layer(self, conv: Any, inputs: Input, topology: Topology) -> Tensor:
        # One product with both weights side by side, then only the neighbours' half is passed on.
        both = project(inputs, torch.cat([conv.lin_l.weight, conv.lin_r.weight]))
        nearby, own = both.tensor_split(2, dim=1)
        out: Tensor = topology.mean @ nearby.contiguous() + own + conv.lin_l.bias
        return out


class GAT(Layers):
    """Attention over neighbours (Veličković et al. 2018): four heads side by side, then one.

    ``heads`` of h columns each make the first layer's result n x (heads·h).
    """

    def build(self, inputs: int, hidden: int, classes: int, heads: int = 4) -> None:
        self.conv1 = attention(inputs, hidden, heads, concat=True)
        self.conv2 = attention(heads * hidden, classes, 1, concat=False)

    def layer(self, conv: Any, inputs: Input, topology: Topology) -> Tensor:
        values = project(inputs, conv.lin.weight).view(-1, *conv.att_src.shape[1:])
        sender, receiver = topology.looped_edges
        sent, received = (values * conv.att_src).sum(-1), (values * conv.att_dst).sum(-1)
        scores = functional.leaky_relu(
            sent.index_select(0, sender) + received.index_select(0, receiver), SLOPE
        )
        messages = share_by(receiver, scores, len(values)).unsqueeze(-1) * values.index_select(0, sender)
        heads = sum_by(receiver, messages, len(values))
        out: Tensor = (heads.flatten(1) if conv.concat else heads.mean(dim=1)) + conv.bias
        return out


class GIN(Layers):
    """Sums over neighbours and oneself through a small network (Xu et al. 2019): W2 act(W1 (A + I) X + b1) + b2."""

    feature_parameters = ("nn.0.weight",)

    def build(self, inputs: int, hidden: int, classes: int) -> None:
        self.conv1, self.conv2 = (
            sum_of_neighbours(nn.Sequential(nn.Linear(size, hidden), self.activation, nn.Linear(hidden, out)))
            for size, out in ((inputs, hidden), (hidden, classes))
        )

    def layer(self, conv: Any, inputs: Input, topology: Topology) -> Tensor:
        read, act, write = conv.nn
        out: Tensor = write(act(topology.sum @ project(inputs, read.weight) + read.bias))
        return out


class MLP(Layers):
    """Two linear layers on a user's own report alone; the graph is not used."""

    feature_parameters = ("weight",)

    def build(self, inputs: int, hidden: int, classes: int) -> None:
        self.conv1, self.conv2 = nn.Linear(inputs, hidden), nn.Linear(hidden, classes)

    def layer(self, conv: Any, inputs: Input, topology: Topology) -> Tensor:
        out: Tensor = project(inputs, conv.weight) + conv.bias
        return out


class APPNP(MLP):
    """Predict, then propagate by personalized PageRank (Gasteiger et al. 2019): Z ← (1-α)ÂZ + αH, K times from Z = H.

    H (n x c) is what the two layers predict of each user alone; ``hops`` is K, ``alpha`` is α in [0, 1].
    """

    def build(self, inputs: int, hidden: int, classes: int, hops: int = 10, alpha: float = 0.1) -> None:
        super().build(inputs, hidden, classes)
        self.coefficients = [alpha * (1 - alpha) ** k for k in range(hops)] + [(1 - alpha) ** hops]

    def second(self, hidden: Tensor, topology: Topology) -> Tensor:
        """Predictions of each user alone, then the hops."""
        return Polynomial(topology.gcn, self.coefficients) @ super().second(hidden, topology)


class SGC(Layers):
    """One linear map after K hops (Wu et al. 2019): Â^K X W + b. It has no hidden layer, activation or dropout.

    ``hops`` is K. The first layer's result is the scores already, n x c; ``hidden`` counts for nothing.
    """

    def build(self, inputs: int, hidden: int, classes: int, hops: int = 2) -> None:
        self.conv1 = linear(inputs, classes)
        self.coefficients = [0.0] * hops + [1.0]

    def layer(self, conv: Any, inputs: Input, topology: Topology) -> Tensor:
        out: Tensor = (
            Polynomial(topology.gcn, self.coefficients) @ project(inputs, conv.lin.weight) + conv.lin.bias
        )
        return out

    def second(self, hidden: Tensor, topology: Topology) -> Tensor:
        """There is no second layer."""
        return hidden


class SSGC(SGC):
    """One linear map after the mean of K hops and a part of oneself (Zhu and Koniusz 2021): αX + (1-α)/K Σ_k Â^k X.

    ``hops`` is K of at least 1, ``alpha`` is α in [0, 1]; otherwise as `SGC`.
    """

    def build(self, inputs: int, hidden: int, classes: int, hops: int = 16, alpha: float = 0.05) -> None:
        super().build(inputs, hidden, classes, hops)
        # Drawn anew: published numbers were.
        self.conv1 = linear(inputs, classes)
        self.coefficients = [alpha] + [(1 - alpha) / hops] * hops


def sum_by(places: Tensor, rows: Tensor, count: int) -> Tensor:
    """Return the sum of the rows of each place: (count, ...).

    Parameters
    ----------
    places
        The place of each row.
    rows
        (rows, ...).
    count
        The number of places.
    """
    index = places.view(-1, *[1] * (rows.dim() - 1)).expand_as(rows)
    return rows.new_zeros(count, *rows.shape[1:]).scatter_add_(0, index, rows)


def share_by(places: Tensor, scores: Tensor, count: int) -> Tensor:
    """Return the softmax of scores among the rows of the same place: (rows, heads).

    Parameters
    ----------
    places
        The place of each row.
    scores
        (rows, heads).
    count
        The number of places.
    """
    largest = scores.new_zeros(count, scores.shape[1]).scatter_reduce_(
        0, places[:, None].expand_as(scores), scores.detach(), "amax", include_self=False
    )
    weights = (scores - largest.index_select(0, places)).exp()
    return weights / (sum_by(places, weights, count) + 1e-16).index_select(0, places)


def project(inputs: Input, weight: Tensor) -> Tensor:
    """Inputs (n x d, sparse or dense) times the transposed weights (h x d), as PyG holds them: n x h."""
    return inputs @ weight.t().contiguous()


CONVENTION = (
    "a torch.nn.Module class, or a function that returns a module, called with (inputs, hidden, outputs)"
)
# The second parameter of a forward that takes what the library's own backbones take.
TOPOLOGY = "topology"


def custom_backbone(name: str, member: Any) -> Callable[..., Backbone]:
    """Turn what a file or a package holds into a function that makes a backbone."""
    if isinstance(member, nn.Module):
        raise InputError(f"{name} is built already: name its class, or a function that makes it")
    if not callable(member) or (isinstance(member, type) and not issubclass(member, nn.Module)):
        kind = member.__name__ if isinstance(member, type) else type(member).__name__
        raise InputError(f"{name} is no backbone but a {kind}: name {CONVENTION}")

    def make(inputs: int, hidden: int, outputs: int, **options: Any) -> Backbone:
        accepted = _parameters(member)
        taken = {key: value for key, value in options.items() if key in accepted}
        try:
            made = member(inputs, hidden, outputs, **taken)
        except TypeError as error:
            sizes = f"({inputs}, {hidden}, {outputs})"
            raise InputError(f"{name} cannot be made with {sizes}: {error}; name {CONVENTION}") from error
        if isinstance(made, Backbone):
            return made
        if not isinstance(made, nn.Module):
            raise InputError(f"{name} returned a {type(made).__name__}: it must be {CONVENTION}")
        return CustomBackbone(name, made, outputs)

    return make


class CustomBackbone(Backbone):
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
        """Apply the module to the input: the scores."""
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
            got = type(out).__name__
            if isinstance(out, Tensor):
                got = f"{out.dtype} of shape {tuple(out.shape)}"
            raise InputError(f"{self.name} must return floats of shape ({users}, {self.outputs}), got {got}")
        return out


def _parameters(build: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(build).parameters
    except (TypeError, ValueError):
        return {}


def _takes_topology(name: str, module: nn.Module) -> bool:
    """Return whether forward takes what the library's own backbones take, by the name of its second parameter."""
    accepted = list(_parameters(module.forward).values())
    several = any(parameter.kind is parameter.VAR_POSITIONAL for parameter in accepted)
    needed = [
        parameter
        for parameter in accepted
        if parameter.default is parameter.empty and parameter.kind is not parameter.VAR_POSITIONAL
    ]
    if not several and (len(accepted) < 2 or len(needed) > 2):
        takes = ", ".join(parameter.name for parameter in accepted) or "nothing"
        raise InputError(f"{name}.forward takes {takes}, not (x, edge_index) or (inputs, {TOPOLOGY})")
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
    adapt=custom_backbone,
)


def build_backbone(name: str, inputs: int, hidden: int, classes: int, **options: Any) -> Backbone:
    """Build a backbone by name.

    Parameters
    ----------
    name
        The name of a backbone, of the library or from outside.
    inputs, hidden, classes
        The numbers of input columns, hidden columns and classes.
    options
        Options of its class.
    """
    return BACKBONES.find(name)(inputs, hidden, classes, **options)
