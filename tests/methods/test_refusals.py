"""What all methods refuse alike."""

import numpy as np
import pytest
import torch

from graphveil.errors import InputError
from graphveil.graphs import from_arrays
from graphveil.learn.targets import Targets
from graphveil.learn.training import BestEpoch, Fitted, Schedule
from graphveil.methods import METHODS
from graphveil.methods.check import Trial, declared, run, small_data
from tests.refusals import not_refused


def test_a_graph_without_labels_is_refused_by_name():
    rows = (np.random.default_rng(0).random((20, 8)) < 0.5).astype(float)
    graph, users = from_arrays(np.array([[0, 1], [1, 2]]), rows, None, range=(0, 1), name="unlabelled")
    cases = [(name, f"^{name} needs train users with a label") for name in METHODS.own()]
    failed = not_refused(
        lambda name: run(METHODS.find(name), graph, users.declare(1.0), Trial(), users), cases
    )
    assert not failed, failed


def test_bad_settings_are_refused_before_anything_is_learned():
    wrong = {"activation": "tanh", "lr": float("inf"), "label_loss": "none"}
    cases = [((name, key), f"setting {key}: ") for name in METHODS.own() for key in wrong]
    failed = not_refused(lambda case: METHODS.find(case[0]).settings.of({case[1]: wrong[case[1]]}), cases)
    assert not failed, failed


@pytest.mark.parametrize("loss", [float("nan"), float("inf")])
def test_training_that_does_not_converge_is_refused(loss):
    best = BestEpoch(
        Targets(torch.zeros(1), torch.zeros(1, dtype=torch.bool), torch.zeros(1, dtype=torch.bool)),
        Schedule(),
    )
    best.found = Fitted(torch.zeros(1, 1), 0, loss, 0.0)
    with pytest.raises(
        InputError, match="the validation loss is not a finite number: give a smaller learning rate"
    ):
        best.fitted()


def test_structure_survives_labels_that_say_next_to_nothing():
    graph, users = small_data()
    trial = Trial(label_epsilon=1e-8)
    method = METHODS.find("structure")
    assert np.isfinite(run(method, graph, declared(method, graph, users, trial)[0], trial).scores).all()
