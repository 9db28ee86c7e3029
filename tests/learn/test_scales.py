import pytest
import torch

from graphveil.learn.training import PATIENCE, Fitted, NoFiniteLossError, Schedule, best_scale
from tests.together import together


def trainer(found, calls):
    """Trainings that end in the loss and the score that are given for a factor."""

    def train(factor, schedule):
        calls.append((factor, schedule.patience))
        if found[factor] is None:
            raise NoFiniteLossError("no number")
        loss, score = found[factor]
        return Fitted(torch.zeros(1), 0, loss, score)

    return train


FIRST, ONE, OTHER = (1.0, None), (16.0, PATIENCE), (64.0, PATIENCE)


@together(
    ("others", "epochs", "chosen", "expected"),
    [
        pytest.param(
            [(0.6, 0.9), (0.5, 0.95)], 300, 1.0, [FIRST, ONE, OTHER], id="no other has a lower loss"
        ),
        pytest.param(
            [(0.40, 0.85), (0.41, 0.86)],
            300,
            64.0,
            [FIRST, ONE, OTHER, (64.0, None)],
            id="the highest score of those with a lower loss, trained in full",
        ),
        pytest.param(
            [(0.42, 0.86), (0.41, 0.86)],
            300,
            64.0,
            [FIRST, ONE, OTHER, (64.0, None)],
            id="of equal scores the lower loss",
        ),
        pytest.param(
            [(0.4, 0.85), (0.3, 0.9)], PATIENCE - 1, 1.0, [FIRST], id="in too few epochs nothing is tried"
        ),
        pytest.param(
            [None, (0.4, 0.9)],
            300,
            64.0,
            [FIRST, ONE, OTHER, (64.0, None)],
            id="a size without a finite loss",
        ),
    ],
)
def test_the_best_size_is_found_among_a_few(others, epochs, chosen, expected):
    calls, found = [], dict(zip((1.0, 16.0, 64.0), [(0.5, 0.8), *others], strict=True))
    fitted, factor = best_scale(trainer(found, calls), Schedule(epochs=epochs))
    assert (factor, calls) == (chosen, expected)
    assert (fitted.validation_loss, fitted.validation_score) == found[chosen]


def test_what_has_no_patience_anyway_is_trained_once():
    calls = []
    found = {1.0: (0.5, 0.8), 16.0: (0.4, 0.85), 64.0: (0.6, 0.8)}
    best_scale(trainer(found, calls), Schedule(epochs=300, patience=5))
    assert calls == [(1.0, 5), (16.0, 5), (64.0, 5)]


def test_a_first_size_without_a_finite_loss_is_an_error():
    with pytest.raises(NoFiniteLossError):
        best_scale(trainer({1.0: None}, []), Schedule(epochs=300))
