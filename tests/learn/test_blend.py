import numpy as np
import pytest

from graphveil.learn.blend import choose_blend, mix


def accuracy_on(labels):
    return lambda rows: float((rows.argmax(1) == labels).mean())


def test_one_round_takes_the_best_alone():
    labels = np.array([0, 1, 1])
    candidates = {"zero": np.array([[1.0, 0.0]] * 3), "one": np.array([[0.0, 1.0]] * 3)}
    assert choose_blend(candidates, accuracy_on(labels), 1) == {"one": 1.0}


def test_two_that_err_on_different_users_are_averaged():
    labels = np.array([0, 0, 0])
    candidates = {
        "left": np.array([[0.9, 0.1], [0.9, 0.1], [0.4, 0.6]]),
        "right": np.array([[0.4, 0.6]] * 2 + [[0.9, 0.1]]),
    }
    weights = choose_blend(candidates, accuracy_on(labels), 4)
    assert weights == {"left": 0.5, "right": 0.5}
    assert accuracy_on(labels)(mix(candidates, weights)) == 1


def test_of_equals_the_first_is_taken_and_nothing_is_added_for_nothing():
    rows = np.array([[1.0, 0.0]])
    assert choose_blend({"first": rows, "second": rows}, accuracy_on(np.array([0])), 4) == {"first": 1.0}


@pytest.mark.parametrize("seed", range(5))
def test_more_rounds_are_never_worse_than_the_best_alone(seed):
    random = np.random.default_rng(seed)
    labels = random.integers(0, 3, 50)
    candidates = {str(each): random.dirichlet(np.ones(3), 50) for each in range(5)}
    quality = accuracy_on(labels)
    weights = choose_blend(candidates, quality, 6)
    assert sum(weights.values()) == pytest.approx(1)
    assert quality(mix(candidates, weights)) >= max(quality(rows) for rows in candidates.values())
