"""Models of labels and graph alone: label propagation, a network on masked labels and ids, LINK on adjacency rows, and blends of them."""

from __future__ import annotations

import copy
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor, nn

from graphveil.graphs.collective import SINGLE_PROCESS, Collective
from graphveil.graphs.graph import Graph
from graphveil.graphs.part import GraphPart, Group
from graphveil.learn.backbones import ACTIVATIONS
from graphveil.learn.inputs import ROW_NORM_SHARE
from graphveil.learn.targets import Targets, add_up
from graphveil.learn.topology import Topology, dropout
from graphveil.learn.training import Adam, BestEpoch, Fitted, Progress, Schedule
from graphveil.linear.sparse import SparseMatrix

# Labels that have spread are small numbers; so scaled, a network learns from them within a hundred epochs.
LABEL_SCALE = 16.0
ID_HOPS = 3
# So many masks are drawn, and epochs take turns with them; fewer where their rows would be more than so many numbers.
MASKS, MOST_NUMBERS = 32, 2**26
# Labels of several masks spread side by side, in about so many columns: a wide product costs less than several narrow ones.
COLUMNS = 64


class LabelNetwork(nn.Module):
    """The labels that are some hops away, the degree and, if asked for, ids; one hidden layer.

    h = selu(Σ_k (P^k Y) L_k + log(1 + degree) l + s P³ V + b), scores = dropout(h) W + c, for k = 1..``hops`` and P the
    GCN's matrix. Reading several hops side by side is SIGN's (Frasca et al. 2020), here with labels for features. An id
    is a one-hot row of norm s = √n/8 for n users, so that V has a row for each user; what is learned of one user thereby
    reaches all who are near (Kipf and Welling 2017, their graphs without features).

    It is built from n ``users``, c ``classes``, ``hops`` (K), ``hidden`` columns, whether there are ``ids``, ``activation`` and
    ``dropout``; it maps rows of `inputs` (n x (1 + Kc)) and of `near_ids` (n x hidden) to scores (n x c).
    """

    def __init__(
        self,
        users: int,
        classes: int,
        hops: int = 6,
        hidden: int = 16,
        ids: bool = False,
        activation: str = "selu",
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        self.hops, self.dropout, self.activation = hops, dropout, ACTIVATIONS[activation]()
        self.read, self.score = nn.Linear(hops * classes + 1, hidden), nn.Linear(hidden, classes)
        self.id_norm = math.sqrt(users) * ROW_NORM_SHARE
        self.ids = nn.Parameter(torch.randn(users, hidden) * 0.1 / self.id_norm) if ids else None

    def inputs(self, labels: Tensor, topology: Topology) -> Tensor:
        """The degree and the labels (n x c) after each of K hops, side by side: n x (1 + Kc)."""
        degrees = torch.log1p(torch.from_numpy(topology.graph.degrees).float())
        columns, reached = [degrees.to(labels)[:, None]], labels
        for _ in range(self.hops):
            reached = topology.ordered @ reached
            columns.append(LABEL_SCALE * reached)
        return torch.cat(columns, dim=1)

    def near_ids(self, topology: Topology) -> Tensor:
        """The part of the ids in reach in the hidden layer of every user: n x hidden, or n x 1 zeros without ids."""
        if self.ids is None:
            return self.read.bias.new_zeros(topology.graph.node_count, 1)
        near = self.ids * self.id_norm
        for _ in range(ID_HOPS):
            near = topology.ordered @ near
        return near

    def forward(self, inputs: Tensor, near: Tensor, numbers: Tensor | None = None) -> Tensor:
        """Return the scores of the classes.

        Parameters
        ----------
        inputs, near
            Rows of `inputs` and of `near_ids`.
        numbers
            The numbers of these rows among those of all workers, if these are not all.
        """
        hidden = self.activation(self.read(inputs) + near)
        scores: Tensor = self.score(dropout(hidden, self.dropout, self.training, numbers))
        return scores

    def go_on_from(self, trained: LabelNetwork) -> None:
        """Start with the weights of a network without ids: ids, small at first, only add what labels nearby do not say."""
        with torch.no_grad():
            for mine, learned in ((self.read, trained.read), (self.score, trained.score)):
                mine.weight.copy_(learned.weight)
                mine.bias.copy_(learned.bias)


def hidden_count(trained: int, share: float) -> int:
    """Return how many training users are hidden: at least one, and not all if there are two or more."""
    return min(max(round(share * trained), 1), max(trained - 1, 1))


def without_hidden(labels: Tensor, hidden: Tensor, share: float, trained: int) -> Tensor:
    """Return the labels without hidden ones, scaled up by as much as is missing: (n, c).

    Parameters
    ----------
    labels
        (n, c).
    hidden
        The users whose labels are hidden.
    share
        The share of training users that is hidden.
    trained
        The number of training users.
    """
    left = labels * (trained / max(trained - hidden_count(trained, share), 1))
    left[hidden] = 0
    return left


def draw_mask(graph: Graph, train: Group, share: float) -> tuple[Tensor, Tensor | None]:
    """Draw a random share of the training users of all workers to be hidden.

    The numbers of those who are here are returned, and their places among all who are hidden, if not all of
    them are here.

    Parameters
    ----------
    train
        The training users of all workers.
    share
        The share that is hidden.
    """
    drawn = torch.randperm(train.size)[: hidden_count(train.size, share)]
    users = torch.from_numpy(train.users)
    if not isinstance(graph, GraphPart):
        return users[drawn], None
    standing = torch.full((train.size,), -1)
    standing[drawn] = torch.arange(len(drawn))
    own = standing[torch.from_numpy(train.places)]
    return users[own >= 0], own[own >= 0]


@dataclass(frozen=True)
class MaskedInputs:
    """The inputs of networks on labels: the rows of everybody (n x (1 + Kc)); and of each mask whom it hides, their rows, and where
    these stand among the rows of all workers."""

    everything: Tensor
    masks: tuple[tuple[Tensor, Tensor, Tensor | None], ...]


def masked_inputs(
    model: LabelNetwork, topology: Topology, targets: Targets, masked: float = 0.5, masks: int = MASKS
) -> MaskedInputs:
    """Hide a random share of the training labels, several times, and let what is left spread.

    Parameters
    ----------
    model
        The network; only its number of hops matters, so that networks with and without ids may share the
        inputs.
    masked
        The share of training labels that is hidden.
    masks
        The most masks that are drawn.
    """
    labels = training_labels(targets, model.score.out_features)
    everything = model.inputs(labels, topology)
    train = Group.of(topology.graph, targets.train_rows.cpu().numpy())
    numbers = max(1, round(masked * train.size) * everything.shape[1])
    count = max(2, min(masks, MASKS, MOST_NUMBERS // numbers))
    drawn = [draw_mask(topology.graph, train, masked) for _ in range(count)]
    together = max(1, COLUMNS // labels.shape[1])
    degrees = everything[:, :1]
    found: list[tuple[Tensor, Tensor, Tensor | None]] = []
    for first in range(0, count, together):
        block = [hidden.to(labels.device) for hidden, _ in drawn[first : first + together]]
        reached = torch.cat([without_hidden(labels, who, masked, train.size) for who in block], dim=1)
        columns = [[degrees[who]] for who in block]
        for _ in range(model.hops):
            reached = topology.ordered.multiply(reached)
            parts = reached.split(labels.shape[1], dim=1)
            for rows, part, who in zip(columns, parts, block, strict=True):
                rows.append(LABEL_SCALE * part[who])
        places = (numbers for _, numbers in drawn[first : first + together])
        found += zip(block, (torch.cat(rows, dim=1) for rows in columns), places, strict=True)
    return MaskedInputs(everything, tuple(found))


def fit_masked(
    model: LabelNetwork,
    topology: Topology,
    targets: Targets,
    schedule: Schedule,
    inputs: MaskedInputs,
    progress: Progress | None = None,
) -> Fitted:
    """Train on the users whose labels are hidden in each epoch, and return the scores of the lowest validation loss.

    Without the mask a network would copy each training user's label from its own input, where it comes back
    from the neighbours (Shi et al. 2021, Wang et al. 2021). For validation and in the end all training labels
    are input. The model is left as it was at its best.

    Parameters
    ----------
    inputs
        The inputs of all masks, which epochs take in turn: see `masked_inputs`.
    progress
        A function that is called with each epoch's number, the most epochs and the loss.
    """
    judges = targets.validation_rows
    everything = inputs.everything[judges]

    def look(epoch: int) -> tuple[Tensor, Callable[[], Tensor]]:
        near = model.near_ids(topology)
        hidden, rows, numbers = inputs.masks[epoch % len(inputs.masks)]
        with torch.no_grad():
            scores = model.eval()(everything, near[judges])

        def loss() -> Tensor:
            predicted = model.train()(rows, near[hidden], numbers)
            return targets.loss(predicted, targets.labels[hidden])

        return scores, loss

    best = BestEpoch(of_rows(targets, judges), schedule, progress)
    fitted = _fit_best(
        model, best, Adam(model, schedule.lr, schedule.weight_decay, topology.collective), look
    )
    with torch.no_grad():
        everybody = model.eval()(inputs.everything, model.near_ids(topology))
    return replace(fitted, scores=everybody)


def _fit_best(
    model: nn.Module, best: BestEpoch, step: Adam, look: Callable[[int], tuple[Tensor, Callable[[], Tensor]]]
) -> Fitted:
    """Train a model and leave it as it was at its best; ``look`` gives the scores of an epoch, and what computes its loss."""
    kept = copy.deepcopy(model.state_dict())
    for epoch in range(best.schedule.epochs):
        scores, loss = look(epoch)
        if best.keep(epoch, scores):
            kept = copy.deepcopy(model.state_dict())
        if best.enough(epoch):
            break
        step(loss())
    model.load_state_dict(kept)
    return best.fitted()


def of_rows(targets: Targets, rows: Tensor) -> Targets:
    """Return the same goal for some users alone, all of whom validate."""
    everybody = torch.ones(len(rows), dtype=torch.bool, device=rows.device)
    return replace(targets, labels=targets.labels[rows], train=~everybody, validation=everybody)


# Root mean square norm of an input row (of 4, 6 and 8 the best overall, on validation users).
ROW_NORM = 6.0


class LinkModel(nn.Module):
    """softmax(AW + b): one weight for each possible neighbour and class (Zheleva and Getoor 2009, Lim et al. 2021).

    It is built from m ``neighbours`` and c ``classes``, and maps adjacency rows (n x m, sparse) to scores (n x c). All weights
    start at zero, so nothing about it is random.
    """

    def __init__(self, neighbours: int, classes: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(neighbours, classes))
        self.bias = nn.Parameter(torch.zeros(classes))

    def forward(self, rows: SparseMatrix) -> Tensor:
        """Scores of the classes."""
        scores: Tensor = rows @ self.weight + self.bias
        return scores


def adjacency_rows(graph: Graph, *, by_degree: bool = False) -> Any:
    """The adjacency matrix (n x n, scipy's CSR), scaled to a public row norm; ``by_degree`` gives every row the same norm."""
    degrees = graph.degrees.astype(np.float64)
    if by_degree:
        values = ROW_NORM / np.repeat(np.sqrt(degrees), graph.degrees)
    else:
        values = np.full(len(graph.indices), ROW_NORM / math.sqrt(max(degrees.mean(), 1.0)))
    return csr_array((values, graph.indices, graph.indptr), shape=(graph.node_count,) * 2)


def fit_link(
    rows: Any, classes: int, targets: Targets, schedule: Schedule, progress: Progress | None = None
) -> Fitted:
    """Train a `LinkModel` and return the scores of all users at the lowest validation loss.

    Only neighbours of training users ever get a weight, so nobody else is a column; only rows of training and
    validation users are multiplied before the end.

    Parameters
    ----------
    rows
        The links: n x n, sparse.
    classes
        The number of classes.
    progress
        A function that is called with each epoch's number, the most epochs and the loss.
    """
    device, train, judges = targets.labels.device, targets.train_rows, targets.validation_rows
    # Whom any training user knows.
    known = rows[:, np.unique(rows[train.cpu().numpy()].indices)]
    learned, held_out = (
        SparseMatrix.from_scipy(known[who.cpu().numpy()], device=device) for who in (train, judges)
    )
    model = LinkModel(known.shape[1], classes).to(device)
    labels = targets.labels[train]

    def look(epoch: int) -> tuple[Tensor, Callable[[], Tensor]]:
        with torch.no_grad():
            return model(held_out), lambda: targets.loss(model(learned), labels)

    best = BestEpoch(of_rows(targets, judges), schedule, progress)
    fitted = _fit_best(model, best, Adam(model, schedule.lr, schedule.weight_decay), look)
    with torch.no_grad():
        return replace(fitted, scores=model(SparseMatrix.from_scipy(known, device=device)))


# A little of the classes' shares goes to everybody, so that a user whom no label reaches has probabilities too.
SHARE_WEIGHT = 1e-3


def training_labels(targets: Targets, classes: int) -> Tensor:
    """The labels of training users as rows (users x classes) with a single 1, or with a 1 for each label that a user has.

    They are zeros for everybody else.
    """
    rows = targets.labels.new_zeros((len(targets.labels), classes)).float()
    if targets.labels.ndim == 2:
        rows[targets.train] = targets.labels[targets.train].float()
        return rows
    rows[targets.train.nonzero().ravel(), targets.labels[targets.train]] = 1
    return rows


def class_shares(labels: Tensor, collective: Collective = SINGLE_PROCESS) -> Tensor:
    """Return the share of each of c classes among the labels (n x c) of all workers.

    Counts begin at 1, so that no class is impossible.
    """
    counts = add_up(labels.sum(dim=0), collective) + 1
    return counts / counts.sum()


def spread(labels: Tensor, matrix: SparseMatrix, alpha: float) -> Iterator[Tensor]:
    """Yield Z ← αPZ + (1-α)Y after every hop, from Z = Y and without end.

    Source: Zhou et al. (2004), "Learning with local and global consistency". The limit is (1-α)(I-αP)⁻¹Y.

    Parameters
    ----------
    labels
        Y: (n, c).
    matrix
        P: (n, n).
    alpha
        α, in 0..1.
    """
    reached = labels
    while True:
        reached = alpha * (matrix @ reached) + (1 - alpha) * labels
        yield reached


def as_probabilities(reached: Tensor, shares: Tensor) -> Tensor:
    """Labels that have spread (n x c) as probabilities: rows that sum to one, nowhere 0; ``shares`` has c numbers."""
    weights = reached + SHARE_WEIGHT * shares
    return weights / weights.sum(dim=1, keepdim=True)


def with_known(labels: Tensor, train: Tensor) -> Tensor:
    """Rows of training labels (n x L, 0 for all others) and a last column that is 1 for training users: n x (L + 1).

    What spreads of the last column says how many labels have been heard of; what spreads of the others, how many were 1.
    """
    return torch.cat([labels, train.to(labels)[:, None]], dim=1)


def known_rates(known: Tensor) -> Tensor:
    """Return the share of training users that has each label (L numbers).

    Counts begin at 1, so that no label is impossible or certain.
    """
    return (known[:, :-1].sum(dim=0) + 1) / (known[:, -1].sum() + 2)


def as_rates(reached: Tensor, rates: Tensor) -> Tensor:
    """Labels that have spread beside those that are known (n x (L + 1)), as probabilities of each label (n x L).

    A little of everybody's rates goes to each user, so that a user whom no label reaches has probabilities too.
    """
    return (reached[:, :-1] + SHARE_WEIGHT * rates) / (reached[:, -1:] + SHARE_WEIGHT)


def degree_rates(known: Tensor, degrees: Tensor) -> Tensor:
    """The rate of each label (n x L) among training users whose degree rounds to the same power of two; see `degree_table`."""
    rows = degree_rows(degrees)
    prior = torch.cat([known_rates(known), known.new_ones(1)])
    table = PRIOR_USERS * prior.repeat(int(rows.max()) + 1, 1)
    table.index_add_(0, rows, known)
    return (table[:, :-1] / table[:, -1:])[rows]


# A row of the table counts as if it had seen so many more users, of all classes in their usual shares.
PRIOR_USERS = 5.0


def degree_rows(degrees: Tensor) -> Tensor:
    """The row of each user in a table by degree: the power of two to which it rounds."""
    return torch.log2(degrees.float() + 1).round().long()


def degree_probabilities(labels: Tensor, degrees: Tensor, collective: Collective = SINGLE_PROCESS) -> Tensor:
    """Return the shares of the classes among training users whose degree rounds to the same power of two: (n, c).

    Parameters
    ----------
    labels
        One-hot rows of training users, zeros for all others: (n, c).
    degrees
        (n,).
    collective
        The workers; training users of all of them count.
    """
    rows = degree_rows(degrees)
    highest = int(collective.gather(np.array([int(rows.max()) if len(rows) else 0])).max())
    table = PRIOR_USERS * class_shares(labels, collective).repeat(highest + 1, 1)
    if collective.size == 1:
        table.index_add_(0, rows, labels)
    else:
        table += add_up(torch.zeros_like(table).index_add_(0, rows, labels), collective)
    return (table / table.sum(1, keepdim=True))[rows]


def choose_blend(
    candidates: Mapping[str, NDArray[Any]], quality: Callable[[NDArray[Any]], Any], rounds: int
) -> dict[str, float]:
    """Choose candidates and their weights by greedy addition (Caruana et al. 2004).

    In each round the candidate is added, again if need be, whose addition makes the mean of all that were
    added the best; of all rounds the best is returned. With one round that is the best candidate alone, and
    more rounds are never worse than that where ``quality`` was measured. Of equals the first is taken.

    Parameters
    ----------
    candidates
        Arrays of one shape, by name.
    quality
        A function that judges such an array; more is better.
    rounds
        The number of rounds.

    >>> near = lambda value: -abs(float(value[0]) - 2)
    >>> choose_blend({"one": np.ones(1), "four": np.full(1, 4.0)}, near, rounds=3)
    {'one': 0.6666666666666666, 'four': 0.3333333333333333}
    """
    added: list[str] = []
    best, chosen = None, dict[str, float]()
    for _ in range(rounds):
        # Judged as they are mixed in the end: rounding could break a tie in another way.
        tried = {name: _shares([*added, name]) for name in candidates}
        reached = {name: quality(mix(candidates, weights)) for name, weights in tried.items()}
        name = max(reached, key=lambda each: reached[each])
        added.append(name)
        if best is None or reached[name] > best:
            best, chosen = reached[name], tried[name]
    return chosen


def mix(candidates: Mapping[str, NDArray[Any]], weights: Mapping[str, float]) -> NDArray[Any]:
    """The weighted mean of the chosen candidates, of the same shape."""
    mean: NDArray[Any] = np.sum([weight * candidates[name] for name, weight in weights.items()], axis=0)
    return mean


def _shares(names: Sequence[str]) -> dict[str, float]:
    """Return the share of each name in a list."""
    return {name: count / len(names) for name, count in Counter(names).items()}
