"""The training loops: full batch, Adam, and the model of the lowest validation loss; alone or with the weights of links."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.optim.adam import adam

from graphveil import linear
from graphveil.errors import InputError
from graphveil.graphs.collective import SINGLE_PROCESS, Collective
from graphveil.learn.backbones import Backbone
from graphveil.learn.inputs import thinned
from graphveil.learn.targets import Goal, SeveralTargets, Targets, add_up
from graphveil.learn.topology import Topology, WeightedTopology
from graphveil.linear.sparse import Input

if TYPE_CHECKING:
    from graphveil.learn.checkpoints import Checkpoints


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Random numbers of torch from this seed; afterwards they go on where they were."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute on one thread, since more of them add up in another order; afterwards on as many as before."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


BETA1, BETA2, EPS = 0.9, 0.999, 1e-8


class Adam:
    """Steps down the gradient of a loss; where several workers have a share of the loss each, of their sum."""

    def __init__(
        self, model: nn.Module, lr: float, weight_decay: float, collective: Collective = SINGLE_PROCESS
    ) -> None:
        self.parameters, self.collective = list(model.parameters()), collective
        self._lr, self._weight_decay = lr, weight_decay
        # Of each parameter that a loss has reached, by its number: steps so far, and moments of its gradients.
        self._moments: dict[int, dict[str, Tensor]] = {}

    def __call__(self, loss: Tensor) -> None:
        for each in self.parameters:
            each.grad = None
        loss.backward()
        if self.collective.size > 1:
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
        summed = add_up(whole, self.collective).split([gradient.numel() for gradient in held])
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


# Added to squared norms: the root has no gradient at 0.
TINY = 1e-12


def group_lasso(
    model: Backbone, inputs: Input, topology: Topology, targets: Goal, share: float
) -> Callable[[], Tensor] | None:
    """Return λ Σ_j ‖w_j‖, to be added to the loss (Meier et al. 2008); None for a share of 0.

    w_j are the weights of feature j in the first layer. Their factor for the size of a group is left out, as
    all groups have the same. Adam brings groups near 0, not to it.

    Parameters
    ----------
    share
        λ as a part of the smallest one that outweighs, for every feature, what the loss pulls at its weights
        when training begins; Meier et al. too give λ as a part of that which leaves no feature.
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


# What an input is multiplied by. One size does not serve all graphs: where a column has many reports, or many hops average them, an
# input can be far larger before a network learns it by heart. Looked at with base and lpgnn on validation users of seeds 100 to 104,
# not every factor on every graph: 1 had the lowest loss on cora, citeseer, the town and wikipedia, and for base on facebook; 16 to 128
# for lpgnn on pubmed and facebook, 16 for base on pubmed. The other methods at their defaults (ε = 1, seed 100, on citeseer 101 too): 1
# on citeseer and wikipedia, on facebook 16 for ldpge and heterorr, else 1. Powers of two, so that a row times a factor is what a larger
# share would have made, to the bit.
FACTORS = (1.0, 16.0, 64.0)
# After so many epochs only so many sizes go on, those with the lowest validation losses so far: three sizes cost a quarter more than one
# that has 500 epochs.
RUNGS = ((40, 2), (80, 1))


def best_scale(
    train: Callable[[float], Steps], schedule: Schedule, seed: int, factors: Sequence[float] = FACTORS
) -> tuple[Fitted, float]:
    """Return the training whose input has the best size, and the factor of that input.

    All sizes begin alike; those that are behind at a rung of `RUNGS` are given up (successive halving, Jamieson
    and Talwalkar 2016), and the last one goes on to the end. In fewer epochs than the first rung has nothing can be
    chosen, and the first factor is taken.

    Parameters
    ----------
    train
        A function that begins a training by a factor.
    schedule
        The schedule of these trainings.
    seed
        The seed of each of them.
    factors
        The factors that are tried.
    """
    tried = factors if schedule.epochs >= RUNGS[0][0] else factors[:1]
    left = [(_Begun(train(factor), seed), factor) for factor in tried]
    for epochs, places in RUNGS:
        if len(left) > places:
            for training, _ in left:
                training.reach(epochs)
            left = sorted(left, key=lambda each: each[0].loss(epochs))[:places]
    ((last, factor),) = left
    return last.finish(), factor


class _Begun:
    """A training that waits between epochs, with random numbers of its own."""

    def __init__(self, steps: Steps, seed: int) -> None:
        self._steps = steps
        self._losses: list[float] = []
        self._fitted: Fitted | None = None
        with seeded(seed):
            self._random = torch.random.get_rng_state()

    def reach(self, epochs: float) -> None:
        """Go on until so many epochs are done, or it has ended."""
        with torch.random.fork_rng(devices=[]):
            torch.random.set_rng_state(self._random)
            while self._fitted is None and len(self._losses) < epochs:
                try:
                    self._losses = next(self._steps)
                except StopIteration as ended:
                    self._fitted = ended.value
            self._random = torch.random.get_rng_state()

    def loss(self, epochs: int) -> float:
        """The lowest validation loss of its first epochs, and infinity where none is a number."""
        losses = self._losses if self._fitted is None else self._fitted.losses
        return min((loss for loss in losses[:epochs] if math.isfinite(loss)), default=math.inf)

    def finish(self) -> Fitted:
        """Go on to the end."""
        self.reach(math.inf)
        assert self._fitted is not None
        return self._fitted


def finish(steps: Steps) -> Fitted:
    """Train to the end."""
    while True:
        try:
            next(steps)
        except StopIteration as ended:
            fitted: Fitted = ended.value
            return fitted


# Called after each epoch with: how many are done, how many there may be, the validation loss.
Progress = Callable[[int, int, float], None]


# A training that yields the validation losses of all epochs so far, after each of them, and returns what it has found.
Steps = Generator[list[float], None, "Fitted"]


class NoFiniteLossError(InputError):
    """Training never came to a validation loss that is a number."""


@dataclass(frozen=True)
class Schedule:
    """The training of a model.

    Parameters
    ----------
    epochs
        Epochs at most.
    lr, weight_decay
        Adam's learning rate and weight decay.
    patience
        Stop after so many epochs without a lower validation loss; None: never.
    """

    epochs: int = 500
    lr: float = 0.01
    weight_decay: float = 1e-3
    patience: int | None = None
    # The share of the input's entries that each epoch leaves out.
    input_dropout: float = 0.0
    # The group lasso on the weights of each feature, as a share of the strength that outweighs all they gain at first.
    group_lasso: float = 0.0


@dataclass(frozen=True)
class Fitted:
    """The scores of all users (n x c) at the best epoch, how good it was on what validates, the first layer's result (n x h).

    Where the weights of links were learned too, a number for each pair of users. ``weights`` are those of the model at that epoch,
    where they were asked for, and ``factor`` is what its input was multiplied by. ``losses`` are those of all epochs, and ``better`` has the
    validation score of each that was the best so far, by its number.
    """

    scores: Tensor
    epoch: int
    validation_loss: float
    validation_score: float
    hidden: Tensor | None = None
    link_weights: Tensor | None = None
    losses: tuple[float, ...] = ()
    better: tuple[tuple[int, float], ...] = ()
    train_losses: tuple[float, ...] = ()
    weights: dict[str, Tensor] | None = None
    factor: float = 1.0


class BestEpoch:
    """The epoch of the lowest validation loss so far, and whether to go on; for any loop over epochs."""

    def __init__(self, targets: Goal, schedule: Schedule, progress: Progress | None = None) -> None:
        self.targets, self.schedule, self.progress = targets, schedule, progress
        self.found: Fitted | None = None
        self.losses: list[float] = []
        self.better: list[tuple[int, float]] = []
        self.train_losses: list[float] = []

    def keep(self, epoch: int, scores: Tensor, hidden: Tensor | None = None) -> bool:
        """Look at the scores of an epoch, and return whether they are the best so far.

        Parameters
        ----------
        scores
            (n, c); they need no gradient.
        hidden
            The hidden layer of that epoch, kept beside the scores.
        """
        with torch.no_grad():
            loss = float(self.targets.validation_loss(scores))
        self.losses.append(loss)
        better = self.found is None or loss < self.found.validation_loss
        if better:
            reached = self.targets.validation_score(scores)
            self.better.append((epoch, reached))
            self.found = Fitted(scores, epoch, loss, reached, None if hidden is None else hidden.detach())
        if self.progress is not None:
            self.progress(epoch + 1, self.schedule.epochs, loss)
        return better

    @property
    def state(self) -> dict[str, Any]:
        """All that was found so far, as numbers and tensors by name."""
        lists = {name: getattr(self, name) for name in _FOUND}
        return {**lists, "found": None if self.found is None else vars(self.found)}

    def resume(self, state: dict[str, Any], rows: int) -> None:
        """Go on from what was found before, of so many users."""
        self.losses, self.train_losses = ([*map(float, state[name])] for name in ("losses", "train_losses"))
        self.better = [(int(epoch), float(score)) for epoch, score in state["better"]]
        self.found = None if state["found"] is None else _fitted(state["found"], rows)

    def enough(self, epoch: int) -> bool:
        """Return whether the best epoch is at least ``patience`` epochs ago."""
        patience = self.schedule.patience
        return patience is not None and self.found is not None and epoch - self.found.epoch >= patience

    def fitted(self) -> Fitted:
        """The best epoch, if it is one: a loss that is not a number from the first epoch on is refused."""
        if self.found is None or not math.isfinite(self.found.validation_loss):
            smaller = "give a smaller learning rate (lr) or a smaller input_share"
            raise NoFiniteLossError(f"the validation loss is not a finite number: {smaller}")
        return replace(
            self.found,
            losses=tuple(self.losses),
            better=tuple(self.better),
            train_losses=tuple(self.train_losses),
        )


# What `BestEpoch` has found besides the best epoch.
_FOUND = ("losses", "better", "train_losses")


def _fitted(held: dict[str, Any], rows: int) -> Fitted:
    """Read what was kept of a training of so many users; anything else is a ValueError or a TypeError."""
    tensors = [held["scores"], *(held[name] for name in ("hidden", "link_weights") if held[name] is not None)]
    tensors += (held["weights"] or {}).values()
    if not all(isinstance(each, Tensor) and each.is_floating_point() for each in tensors):
        raise TypeError("tensors of numbers are expected")
    if held["scores"].ndim != 2 or len(held["scores"]) != rows:
        raise ValueError("scores are of other users")
    numbers = {
        **{name: float(held[name]) for name in ("validation_loss", "validation_score", "factor")},
        **{name: tuple(float(loss) for loss in held[name]) for name in ("losses", "train_losses")},
        "better": tuple((int(epoch), float(score)) for epoch, score in held["better"]),
        "epoch": int(held["epoch"]),
    }
    return Fitted(**{**held, **numbers})


def _like(held: dict[str, Tensor], expected: dict[str, Tensor]) -> dict[str, Tensor]:
    """Tensors of the names and shapes that are expected; any others are a ValueError."""
    own, wanted = ({name: each.shape for name, each in state.items()} for state in (held, expected))
    if own != wanted:
        raise ValueError("weights are of another model")
    return held


def fit(
    model: Backbone,
    inputs: Input,
    topology: Topology,
    targets: Goal,
    schedule: Schedule,
    progress: Progress | None = None,
    *,
    keep_weights: bool = False,
    checkpoints: Checkpoints | None = None,
) -> Fitted:
    """Train a model and return the scores (n x c) of the epoch with the lowest validation loss: see `fitting`."""
    steps = fitting(
        model,
        inputs,
        topology,
        targets,
        schedule,
        progress,
        keep_weights=keep_weights,
        checkpoints=checkpoints,
    )
    return finish(steps)


def fitting(
    model: Backbone,
    inputs: Input,
    topology: Topology,
    targets: Goal,
    schedule: Schedule,
    progress: Progress | None = None,
    *,
    keep_weights: bool = False,
    checkpoints: Checkpoints | None = None,
) -> Steps:
    """Train a model epoch by epoch; what comes in the end are the scores (n x c) of the epoch with the lowest validation loss.

    One pass through the first layer serves training and validation: both see the weights before the step.
    Only with dropout on the input does training need a pass of its own.

    Parameters
    ----------
    inputs
        (n, d), dense or sparse.
    topology
        The graph to pass messages along.
    targets
        The goal: the losses of training and validation.
    progress
        A function that is called with each epoch's number, the most epochs and the loss.
    checkpoints
        Where trainings are kept: one that was interrupted goes on.
    """
    kept = None if checkpoints is None else checkpoints.training()
    if kept is not None and (done := kept.finished()) is not None:
        with kept.resuming():
            return _fitted(done, topology.graph.node_count)
    collective = topology.collective
    best, step = (
        BestEpoch(targets, schedule, progress),
        Adam(model, schedule.lr, schedule.weight_decay, collective),
    )
    if collective.size > 1 and (schedule.group_lasso or schedule.input_dropout):
        instead = "take another regularizer, or leave --workers out"
        raise InputError(f"a lasso on weights, and dropout of reports, are not learned in parts: {instead}")
    penalty = group_lasso(model, inputs, topology, targets, schedule.group_lasso)
    weights: dict[str, Tensor] = {}
    begin = 0
    if kept is not None:
        begin, state = kept.latest()
        if state is not None:
            with kept.resuming():
                weights = _like(state["weights"], model.state_dict()) if state["weights"] else {}
                best.resume(state["best"], topology.graph.node_count)
                model.load_state_dict(state["model"])
                step.resume(state["optimizer"])
    for epoch in range(begin, schedule.epochs):
        if kept is not None and epoch > begin and kept.due(epoch):
            learned = {"model": model.state_dict(), "optimizer": step.state, "weights": weights}
            kept.save(epoch, {**learned, "best": best.state})
        hidden = model.first(inputs, topology)
        model.train()
        seen = hidden
        if schedule.input_dropout:
            seen = model.first(thinned(inputs, schedule.input_dropout), topology)
        loss = targets.train_loss(model.second(seen, topology))
        if penalty is not None:
            loss = loss + penalty()
        with torch.no_grad():
            model.eval()
            scores = model.second(hidden, topology)
        best.train_losses.append(float(add_up(loss.detach(), collective)))
        better = best.keep(epoch, scores, hidden if model.has_first_layer else None)
        if better and keep_weights:
            weights = {name: tensor.detach().cpu().clone() for name, tensor in model.state_dict().items()}
        if best.enough(epoch):
            break
        step(loss)
        # Else they would be held until the next epoch has its own.
        del hidden, seen, loss, scores
        yield best.losses
    fitted = replace(best.fitted(), weights=weights) if keep_weights else best.fitted()
    if kept is not None:
        kept.finish(vars(fitted))
    return fitted


def apply(model: Backbone, weights: dict[str, Tensor], inputs: Input, topology: Topology) -> Fitted:
    """Return the scores (n x c) of a model with weights that were trained before.

    Nothing validates it, so its loss is not a number.

    Parameters
    ----------
    weights
        The trained weights, by name.
    inputs
        (n, d), dense or sparse.
    topology
        The graph to pass messages along.
    """
    try:
        model.load_state_dict(weights)
    except (RuntimeError, TypeError, AttributeError):
        raise InputError("the weights are of another model than the settings say: train it again") from None
    model.eval()
    with torch.no_grad():
        hidden = model.first(inputs, topology)
        scores = model.second(hidden, topology)
    return Fitted(scores, 0, math.nan, math.nan, hidden if model.has_first_layer else None)


@dataclass(frozen=True)
class LinkObjective:
    """The cost of weights w of reported pairs besides the model's loss: ``pull``·(w - reported)² + ``shrink``·w a pair.

    ``reported`` has a number for each of m pairs, and so have weights and gradients. The weights take a step of the length ``rate`` after
    every ``every`` epochs of the model.
    """

    reported: Tensor
    pull: float
    shrink: float
    rate: float = 0.0
    every: int = 1

    def rest(self) -> Tensor:
        """The best weights as far as nothing else matters: a soft threshold of what was reported."""
        if self.pull == 0:
            return self.reported
        return (self.reported - self.shrink / (2 * self.pull)).clamp(min=0.0)

    def step(self, weights: Tensor, gradient: Tensor) -> Tensor:
        """Take one proximal gradient step from (m,) weights: down the smooth part, soft threshold, back into [0, 1]."""
        smooth = weights - self.rate * (gradient + 2 * self.pull * (weights - self.reported))
        return (smooth - self.rate * self.shrink).clamp_(0.0, 1.0)


def fitting_with_links(
    model: Backbone,
    inputs: Callable[[Topology], Input],
    topology: WeightedTopology,
    targets: Targets | SeveralTargets,
    objective: LinkObjective,
    schedule: Schedule,
    progress: Progress | None = None,
) -> Steps:
    """Train a GCN and the weights of its links in turn, epoch by epoch; what comes in the end are the best scores and weights.

    The best are those of the epoch with the lowest validation loss: scores n x c, and a weight for each of m
    pairs.

    Parameters
    ----------
    inputs
        A function that makes the input (n x d) from a topology: denoising runs over the current weights too,
        but has no gradient for them.
    topology
        The pairs and the weights to start from.
    objective
        The objective of the weights, and when they take a step.
    progress
        A function that is called with each epoch's number, the most epochs and the loss.
    """
    best, step = BestEpoch(targets, schedule, progress), Adam(model, schedule.lr, schedule.weight_decay)
    pattern, weights = topology.pattern, topology.weights
    kept = weights
    features = inputs(topology)
    for epoch in range(schedule.epochs):
        if epoch and epoch % objective.every == 0 and objective.rate > 0:
            gradient = weight_gradient(model, features, pattern, weights, targets)
            weights = objective.step(weights, gradient)
            topology = WeightedTopology(pattern, weights)
            features = inputs(topology)
        hidden = model.first(features, topology)
        model.train()
        loss = targets.train_loss(model.second(hidden, topology))
        with torch.no_grad():
            model.eval()
            scores = model.second(hidden, topology)
        if best.keep(epoch, scores, hidden):
            kept = weights
        if best.enough(epoch):
            break
        step(loss)
        yield best.losses
    return replace(best.fitted(), link_weights=kept)


def weight_gradient(
    model: Backbone,
    inputs: Input,
    pattern: linear.PairPattern,
    weights: Tensor,
    targets: Targets | SeveralTargets,
) -> Tensor:
    """Return the gradient of the loss of all training users together, by each of m weights (m numbers).

    Together and not on average: a weight matters to the few users around it, however many others there are.

    Parameters
    ----------
    inputs
        (n, d), dense or sparse.
    pattern
        The places of the m pairs.
    weights
        The weight of each pair: (m,).
    """
    model.eval()
    asked = weights.detach().requires_grad_()
    topology = WeightedTopology(pattern, asked)
    loss = targets.train_loss(model(inputs, topology)) * int(targets.train.sum())
    return torch.autograd.grad(loss, asked)[0]
