import pytest
import torch

from graphveil.learn.training import PATIENCE, Fitted, NoFiniteLossError, Schedule, best_scale

SCHEDULE = Schedule(epochs=300)


def trainer(found, calls):
    """Trainings that end in the loss and the score that are given for a factor."""

    def train(factor, schedule):
        calls.append((factor, schedule.patience))
        if found[factor] is None:
            raise NoFiniteLossError("no number")
        loss, score = found[factor]
        return Fitted(torch.zeros(1), 0, loss, score)

    return train


def test_the_first_size_stays_where_no_other_has_a_lower_loss():
    calls = []
    found = {1.0: (0.5, 0.8), 16.0: (0.6, 0.9), 64.0: (0.5, 0.95)}
    fitted, factor = best_scale(trainer(found, calls), SCHEDULE)
    assert (fitted.validation_loss, factor) == (0.5, 1.0)
    assert calls == [(1.0, None), (16.0, PATIENCE), (64.0, PATIENCE)]


def test_of_those_with_a_lower_loss_the_highest_score_is_taken_and_trained_in_full():
    calls = []
    found = {1.0: (0.5, 0.8), 16.0: (0.40, 0.85), 64.0: (0.41, 0.86)}
    fitted, factor = best_scale(trainer(found, calls), SCHEDULE)
    assert (fitted.validation_score, factor) == (0.86, 64.0)
    assert calls[-1] == (64.0, None)


def test_of_equal_scores_the_lower_loss_is_taken():
    found = {1.0: (0.5, 0.8), 16.0: (0.42, 0.86), 64.0: (0.41, 0.86)}
    assert best_scale(trainer(found, []), SCHEDULE)[1] == 64.0


def test_what_has_no_patience_anyway_is_trained_once():
    calls = []
    found = {1.0: (0.5, 0.8), 16.0: (0.4, 0.85), 64.0: (0.6, 0.8)}
    best_scale(trainer(found, calls), Schedule(epochs=300, patience=5))
    assert calls == [(1.0, 5), (16.0, 5), (64.0, 5)]


def test_in_too_few_epochs_nothing_is_tried():
    calls = []
    found = {1.0: (0.5, 0.8), 16.0: (0.4, 0.85), 64.0: (0.3, 0.9)}
    assert best_scale(trainer(found, calls), Schedule(epochs=PATIENCE - 1))[1] == 1.0
    assert calls == [(1.0, None)]


def test_a_size_without_a_finite_loss_is_passed_over():
    found = {1.0: (0.5, 0.8), 16.0: None, 64.0: (0.4, 0.9)}
    assert best_scale(trainer(found, []), SCHEDULE)[1] == 64.0


def test_a_first_size_without_a_finite_loss_is_an_error():
    with pytest.raises(NoFiniteLossError):
        best_scale(trainer({1.0: None}, []), SCHEDULE)
