import numpy as np
import pytest
import torch

from graphveil.errors import InputError
from graphveil.learn import Schedule, Targets, Topology, build_backbone, fit
from graphveil.learn.inputs import raw_input
from graphveil.learn.training import BestEpoch
from tests.learn.graphs import small_graph, targets_of


def train(schedule, seed=0, progress=None, **graph_options):
    graph, rows, _ = small_graph(**graph_options)
    torch.manual_seed(seed)
    model = build_backbone("gcn", graph.feature_count, 8, graph.class_count)
    return fit(model, raw_input(rows), Topology(graph), targets_of(graph), schedule, progress), graph


def test_the_best_epoch_has_the_lowest_validation_loss_and_its_scores_are_kept():
    losses = []
    fitted, graph = train(Schedule(epochs=40), progress=lambda done, most, loss: losses.append(loss))
    assert fitted.validation_loss == min(losses)
    assert fitted.epoch == int(np.argmin(losses))
    held_out = fitted.scores[torch.tensor(graph.validation)]
    labels = torch.tensor(graph.labels[graph.validation])
    assert float(torch.nn.functional.cross_entropy(held_out, labels)) == pytest.approx(fitted.validation_loss)
    assert float((held_out.argmax(1) == labels).float().mean()) == pytest.approx(fitted.validation_score)
    # Labels of test users are not there to be used.
    assert (graph.labels[graph.test] == -1).all()


def test_patience_stops_early():
    counts = []
    fitted, _ = train(Schedule(epochs=400, patience=5), progress=lambda done, most, loss: counts.append(done))
    assert counts[-1] == fitted.epoch + 6 < 400


def test_the_same_seed_gives_the_same_scores_to_the_bit():
    first, _ = train(Schedule(epochs=15), seed=3)
    second, _ = train(Schedule(epochs=15), seed=3)
    assert torch.equal(first.scores, second.scores)
    other, _ = train(Schedule(epochs=15), seed=4)
    assert not torch.equal(first.scores, other.scores)


def test_training_learns_what_features_tell():
    graph, _, labels = small_graph(users=200, edges=1)
    rows = np.eye(graph.class_count, dtype=np.float32)[labels]
    torch.manual_seed(0)
    model = build_backbone("sage", graph.class_count, 8, graph.class_count)
    fitted = fit(model, raw_input(rows), Topology(graph), targets_of(graph), Schedule(epochs=100))
    assert (fitted.scores.argmax(1).numpy() == labels)[graph.test].mean() > 0.95


@pytest.fixture
def best():
    targets = Targets(torch.tensor([0, 1]), torch.tensor([True, False]), torch.tensor([False, True]))
    return BestEpoch(targets, Schedule(epochs=3, patience=1))


def test_a_loss_that_is_not_a_number_is_refused(best):
    assert best.keep(0, torch.full((2, 2), torch.nan))
    assert not best.keep(1, torch.full((2, 2), torch.nan))
    with pytest.raises(InputError, match="not a finite number"):
        best.fitted()


def test_a_later_epoch_is_kept_only_if_it_is_better(best):
    right, unsure = torch.tensor([[0.0, 0.0], [0.0, 3.0]]), torch.zeros(2, 2)
    assert best.keep(0, unsure) and not best.enough(0)
    assert best.keep(1, right) and not best.enough(1)
    assert not best.keep(2, right) and best.enough(2)
    assert best.fitted().epoch == 1
