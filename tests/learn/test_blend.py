import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphveil.learn.label_models import choose_blend, mix


def accuracy_on(labels):
    return lambda rows: float((rows.argmax(1) == labels).mean())


def test_one_round_takes_the_best_alone_and_of_equals_the_first():
    labels = np.array([0, 1, 1])
    candidates = {"zero": np.array([[1.0, 0.0]] * 3), "one": np.array([[0.0, 1.0]] * 3)}
    assert choose_blend(candidates, accuracy_on(labels), 1) == {"one": 1.0}
    rows = np.array([[1.0, 0.0]])
    assert choose_blend({"first": rows, "second": rows}, accuracy_on(np.array([0])), 4) == {"first": 1.0}


def test_two_that_err_on_different_users_are_averaged():
    labels = np.array([0, 0, 0])
    candidates = {
        "left": np.array([[0.9, 0.1], [0.9, 0.1], [0.4, 0.6]]),
        "right": np.array([[0.4, 0.6]] * 2 + [[0.9, 0.1]]),
    }
    weights = choose_blend(candidates, accuracy_on(labels), 4)
    assert weights == {"left": 0.5, "right": 0.5}
    assert accuracy_on(labels)(mix(candidates, weights)) == 1


@given(st.integers(0, 1000))
def test_more_rounds_are_never_worse_than_the_best_alone(seed):
    random = np.random.default_rng(seed)
    labels = random.integers(0, 3, 50)
    candidates = {str(each): random.dirichlet(np.ones(3), 50) for each in range(5)}
    quality = accuracy_on(labels)
    weights = choose_blend(candidates, quality, 6)
    assert sum(weights.values()) == pytest.approx(1)
    assert quality(mix(candidates, weights)) >= max(quality(rows) for rows in candidates.values())


def test_the_best_alone_stays_where_whatever_is_added_spoils_it():
    # The sure one is right about all but one user; averaged with any other it is right about fewer.
    labels = np.zeros(6, dtype=int)
    candidates = {
        "sure of the wrong": np.array([[0.0, 1.0]] * 4 + [[1.0, 0.0]] * 2),
        "best": np.array([[0.6, 0.4]] * 5 + [[0.4, 0.6]]),
    }
    quality = accuracy_on(labels)
    assert quality(mix(candidates, {"best": 0.5, "sure of the wrong": 0.5})) < 5 / 6
    weights = choose_blend(candidates, quality, 4)
    assert weights == {"best": 1.0}


@given(st.integers(0, 1000), st.integers(1, 4))
def test_no_blend_is_below_a_candidate_by_the_metric_whatever_the_loss(seed, rounds):
    # As structure judges: the metric first, then the likelihood, in single precision, many ties.
    random = np.random.default_rng(seed)
    labels = random.integers(0, 2, 12)
    rows = {str(each): random.dirichlet(np.ones(2) / 4, 12).astype(np.float32) for each in range(6)}

    def quality(values):
        right = values[np.arange(12), labels]
        return accuracy_on(labels)(values), float(np.log(np.maximum(right, 1e-9)).mean())

    chosen = mix(rows, choose_blend(rows, quality, rounds))
    assert quality(chosen)[0] >= max(quality(each)[0] for each in rows.values())
