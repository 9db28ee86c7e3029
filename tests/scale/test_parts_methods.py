"""Every method that is learned in parts, and what may be asked besides, gives what one process gives."""

import numpy as np
import pytest

from benchmarks.parts_equality import by_workers
from graphveil.experiments.experiment import Experiment
from graphveil.graphs import load
from tests.scale.in_parts import by_role, in_one_process

TOWN = {"epochs": 4, "data.users": 400}
SHARED = {"candidates": "shared"}


def case(method, part="method", settings=None, data="town", epsilon=4.0, **options):
    given = {**TOWN, **(SHARED if method in ("structure", "veil") else {}), **(settings or {})}
    epsilon = None if method == "structure" else epsilon
    return Experiment.of(method, data, epsilon=epsilon, settings=given, **options), part


CASES = {
    "structure": case("structure"),
    "structure with private labels": case("structure", label_epsilon=2.0),
    "veil": case("veil"),
    "veil, control": case("veil", "control"),
    "veil at a small budget": case("veil", epsilon=1.0),
    "veil about neighbours": case("veil", settings={"about": "neighbours", "data.users": 800, "epochs": 6}),
    "veil that asks few": case("veil", settings={"asked": 0.5}),
    "veil by multibit": case("veil", mechanism="multibit"),
    "veil with private labels and silent users": case("veil", label_epsilon=2.0, participation=0.5),
    "upgnet": case("upgnet"),
    "ldpge": case("ldpge"),
    "ppgnn": case("ppgnn"),
    "ppgnn, control": case("ppgnn", "control"),
    "ppgnn by kprop, with silent users": case("ppgnn", settings={"aggregator": "kprop"}, participation=0.5),
    "lpgnn, control": case("lpgnn", "control"),
    "lpgnn with private labels": case("lpgnn", label_epsilon=2.0),
    "lpgnn with silent users": case("lpgnn", participation=0.5),
}


@pytest.fixture(scope="module")
def two_kinds(tmp_path_factory):
    """A town of two kinds in a file, which is measured by the area under the curve."""
    graph, users = load("town", users=400, kinds=2)
    file = tmp_path_factory.mktemp("data") / "pairs.npz"
    np.savez(
        file,
        edges=graph.pairs(),
        x=users.raw.features.toarray() if hasattr(users.raw.features, "toarray") else users.raw.features,
        y=users.raw.labels,
        range=np.array([0.0, 1.0]),
        metric=np.array("roc_auc"),
    )
    settings = {key: value for key, value in TOWN.items() if not key.startswith("data.")}
    return Experiment.of("veil", str(file), epsilon=4.0, settings={**settings, **SHARED}), "method"


@pytest.fixture(scope="module")
def cases(two_kinds):
    return {**CASES, "veil by the area under the curve": two_kinds}


@pytest.fixture(scope="module")
def alone(cases):
    return {name: in_one_process(*each) for name, each in cases.items()}


@pytest.fixture(scope="module")
def by_two(cases):
    return dict(zip(cases, by_workers(list(cases.values()), 2), strict=True))


def check_equal(alone, found):
    (ready, expected), (other, outcome) = alone, found
    difference = np.abs(outcome.scores - expected.scores).max() / np.abs(expected.scores).max()
    assert difference < 1e-5
    assert outcome.validation_loss == pytest.approx(expected.validation_loss, rel=1e-5)
    assert outcome.validation_score == pytest.approx(expected.validation_score)
    assert outcome.detail == expected.detail
    assert other.ledger.spent.tolist() == ready.ledger.spent.tolist()
    assert other.turnout == ready.turnout


@pytest.mark.parametrize("name", [*CASES, "veil by the area under the curve"])
def test_scores_and_books_are_those_of_one_process(alone, by_two, name):
    check_equal(alone[name], by_two[name])


@pytest.mark.parametrize("name", ["veil", "veil about neighbours"])
def test_answers_are_used_in_parts_too(by_two, name):
    assert by_two[name][1].also["answers_used"] == 1.0


# One worker has all who train, one all who validate, and one everybody else: each has nobody of some kind to learn from or to ask.
ROLES = ("veil about neighbours", "veil with private labels and silent users", "lpgnn with private labels")


@pytest.fixture(scope="module")
def by_roles(cases):
    return dict(zip(ROLES, by_workers([cases[name] for name in ROLES], 3, by_role), strict=True))


@pytest.mark.parametrize("name", ROLES)
def test_a_worker_may_have_nobody_who_trains_validates_or_is_asked(alone, by_roles, name):
    check_equal(alone[name], by_roles[name])
