"""How large an input should be: a few sizes are tried in training, and what validates chooses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from graphveil.learn.training import Fitted, NoFiniteLossError, Schedule

# What an input is multiplied by. One size does not serve all graphs: where a column has many reports, or many hops average them, an
# input can be far larger before a network learns it by heart. Looked at with base and lpgnn on validation users of seeds 100 to 104,
# not every factor on every graph: 1 had the lowest loss on cora, citeseer, the town and wikipedia, and for base on facebook; 16 to 128
# for lpgnn on pubmed and facebook, 16 for base on pubmed. The other methods at their defaults (ε = 1, seed 100, on citeseer 101 too): 1
# on citeseer and wikipedia, on facebook 16 for ldpge and heterorr, else 1. Powers of two, so that a row times a factor is what a larger
# share would have made, to the bit.
FACTORS = (1.0, 16.0, 64.0)
# A size that is too large is at its best after a dozen epochs, so that to try it costs a tenth of a training.
PATIENCE = 40


def best_scale(
    train: Callable[[float, Schedule], Fitted], schedule: Schedule, factors: Sequence[float] = FACTORS
) -> tuple[Fitted, float]:
    """The training whose input has the best size, and the factor of that input.

    ``train`` takes a factor and a schedule. The first factor has all epochs, the others stop when they get no better. One that has
    a lower validation loss than the first takes its place, the one with the highest validation score if there are several, and
    then has all epochs too. In fewer epochs than a trial may wait nothing can be chosen, and the first factor is taken.
    """
    first = train(factors[0], schedule)
    if schedule.epochs < PATIENCE:
        return first, factors[0]
    patience = PATIENCE if schedule.patience is None else min(PATIENCE, schedule.patience)
    better: dict[float, Fitted] = {}
    for factor in factors[1:]:
        try:
            fitted = train(factor, replace(schedule, patience=patience))
        except NoFiniteLossError:
            continue
        if fitted.validation_loss < first.validation_loss:
            better[factor] = fitted
    if not better:
        return first, factors[0]
    factor = max(better, key=lambda each: (better[each].validation_score, -better[each].validation_loss))
    if patience == schedule.patience:
        return better[factor], factor
    return train(factor, schedule), factor
