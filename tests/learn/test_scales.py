"""The size of the input: all begin, those that are behind are given up, and the last one goes on as if it had been alone."""

import math

import pytest
import torch

from graphveil.learn.training import (
    RUNGS,
    Fitted,
    NoFiniteLossError,
    Schedule,
    best_scale,
    finish,
    seeded,
)

SCHEDULE = Schedule(epochs=300)
FIRST, SECOND = (epochs for epochs, _ in RUNGS)


def begun(curves, epochs, schedule=SCHEDULE):
    """Trainings that have these losses by epoch, for each factor, and count their epochs."""

    def train(factor):
        losses, drawn = [], []
        for epoch in range(schedule.epochs):
            drawn.append(float(torch.rand(())))
            losses.append(curves[factor](epoch))
            epochs[factor] = epoch + 1
            yield losses
        if not any(map(math.isfinite, losses)):
            raise NoFiniteLossError("no number")
        return Fitted(torch.tensor(drawn), 0, min(losses), 0.0, losses=tuple(losses))

    return train


def test_the_lowest_loss_at_each_rung_goes_on():
    # 1 is ahead at the second rung, 64 is last at the first; 16 would have been best in the end.
    curves = {
        1.0: lambda epoch: 1.0 if epoch < FIRST else 0.2,
        16.0: lambda epoch: 0.3 if epoch < SECOND else 0.1,
        64.0: lambda epoch: 1.1,
    }
    epochs = {}
    fitted, factor = best_scale(begun(curves, epochs), SCHEDULE, seed=1)
    assert (factor, fitted.validation_loss) == (1.0, 0.2)
    assert epochs == {1.0: SCHEDULE.epochs, 16.0: SECOND, 64.0: FIRST}


def test_three_sizes_cost_a_quarter_more_than_one_of_500_epochs():
    epochs, schedule = {}, Schedule()
    best_scale(
        begun({1.0: lambda _: 0.5, 16.0: lambda _: 0.6, 64.0: lambda _: 0.7}, epochs, schedule), schedule, 1
    )
    assert sum(epochs.values()) <= 1.25 * schedule.epochs


def test_of_equal_losses_the_first_size_is_taken():
    assert best_scale(begun(dict.fromkeys((1.0, 16.0, 64.0), lambda _: 0.5), {}), SCHEDULE, 1)[1] == 1.0


def test_each_draws_what_it_would_draw_alone():
    curves = {1.0: lambda _: 0.5, 16.0: lambda _: 0.4, 64.0: lambda _: 0.6}
    before = torch.random.get_rng_state()
    fitted, _ = best_scale(begun(curves, {}), SCHEDULE, seed=7)
    assert torch.equal(before, torch.random.get_rng_state())
    with seeded(7):
        alone = finish(begun(curves, {})(16.0))
    assert torch.equal(fitted.scores, alone.scores)


def test_in_too_few_epochs_nothing_is_tried():
    epochs, schedule = {}, Schedule(epochs=FIRST - 1)
    curves = {1.0: lambda _: 0.5, 16.0: lambda _: 0.4, 64.0: lambda _: 0.3}
    assert best_scale(begun(curves, epochs, schedule), schedule, 1)[1] == 1.0
    assert list(epochs) == [1.0]


def test_what_ends_early_counts_as_what_it_had():
    curves = {1.0: lambda _: 0.5, 16.0: lambda _: 0.4, 64.0: lambda _: 0.3}

    def train(factor):
        return begun(curves, {}, Schedule(epochs=9 if factor == 64.0 else 300))(factor)

    assert best_scale(train, SCHEDULE, 1)[1] == 64.0


def test_a_size_without_a_finite_loss_is_passed_over():
    curves = {1.0: lambda _: 0.5, 16.0: lambda _: math.nan, 64.0: lambda _: 0.4}
    assert best_scale(begun(curves, {}), SCHEDULE, 1)[1] == 64.0


def test_where_no_size_has_a_finite_loss_it_is_an_error():
    with pytest.raises(NoFiniteLossError):
        best_scale(begun(dict.fromkeys((1.0, 16.0, 64.0), lambda _: math.nan), {}), SCHEDULE, 1)
