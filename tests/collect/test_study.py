"""Learning from a collection: the same numbers as in one process, beside control and structure, by public books."""

import re
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from graphveil.collect.card import card_page, prediction_columns, result_card
from graphveil.collect.learning import RoundOpenError, StudyTerms, charge_round
from graphveil.collect.study import _open_books, check_collected, learn_collection, learned_alone
from graphveil.errors import BudgetError, InputError
from graphveil.experiments.experiment import Experiment
from graphveil.experiments.model import load_model, save
from graphveil.privacy.record import Cost
from tests.collect.small import PLAN, enrolled, later
from tests.collect.stand_in import StandIn
from tests.refusals import check_refused

TOGL = Experiment.of("togl", "town", epsilon=2.0, settings={"epochs": 3, "hidden": 4})
VEIL = Experiment.of("veil", "town", epsilon=2.0)
SOLITUDE = Experiment.of(
    "solitude", "town", epsilon=2.0, link_epsilon=4.0, settings={"epochs": 4, "hidden": 4, "alternate": 2}
)
LABELS = Experiment.of("base", "town", epsilon=2.0, label_epsilon=1.0, settings={"epochs": 2})


def terms(**more):
    return StudyTerms("own", int(time.time()) + 1000, **more)


def collected(town, spec, **more):
    """What is learned once all rounds are answered, and how often people were waited for."""
    waits = 0
    while True:
        try:
            return learn_collection(town, spec, terms(**more)), waits
        except RoundOpenError:
            waits += 1
            town.everybody_answers()


def learned_from(spec, **options):
    """A fixture: a town, what is learned from it, and how often people were waited for."""

    @pytest.fixture(scope="module")
    def learned():
        town = StandIn(users=120, **options)
        return (town, *collected(town, spec))

    return learned


togl, labels = learned_from(TOGL), learned_from(LABELS)
veil, solitude = learned_from(VEIL, volunteers=30), learned_from(SOLITUDE, private_links=True)


@pytest.fixture(scope="module", params=["link-rr", "dprr", "blink"])
def linked(request):
    town = StandIn(users=120, private_links=True)
    options = {"link_mechanism": request.param, "settings": {"epochs": 2, "hidden": 4}}
    return (town, *collected(town, Experiment.of("base", "town", epsilon=2.0, link_epsilon=4.0, **options)))


@pytest.mark.parametrize("which", ["togl", "veil", "solitude"])
def test_the_result_is_that_of_one_process_with_the_same_reports(which, request):
    same_alone(*request.getfixturevalue(which))


def test_the_result_is_that_of_one_process_with_the_same_reports_of_links(linked):
    same_alone(*linked)


# What the others do with links is what base and solitude do with them above.
@pytest.mark.parametrize("method", ["heterorr", "ldpge", "togl"])
def test_every_method_learns_from_links_that_devices_report(method):
    town = StandIn(users=80, private_links=True)
    told = {"link_epsilon": 4.0, "link_mechanism": "dprr", "settings": {"epochs": 2}}
    learned, _ = collected(town, Experiment.of(method, "town", epsilon=2.0, **told))
    alone = learned_alone(town, learned)
    assert alone.scores.tobytes() == learned.outcome.scores.tobytes()
    assert "links" in {each.plan.subject for each in learned.replayed}


def same_alone(town, learned, _waits):
    alone = learned_alone(town, learned)
    assert alone.scores.tobytes() == learned.outcome.scores.tobytes()
    assert alone.embedding.tobytes() == learned.outcome.embedding.tobytes()


def again(town, learned, file):
    """What a file of the model predicts, and what was written as predictions."""
    save(learned.model, file)
    return load_model(file).predict(town.graph()), prediction_columns(learned, town.ids)[0]


@pytest.mark.parametrize("which", ["togl", "labels"])
def test_a_file_of_the_model_predicts_the_same_of_the_same_reports(which, request, tmp_path):
    town, learned, _ = request.getfixturevalue(which)
    found, written = again(town, learned, tmp_path / "model.pt")
    assert found.classes.tobytes() == written["class"].tobytes()
    assert found.probability.tobytes() == written["probability"].tobytes()


def test_a_model_says_who_answered_and_that_no_seed_undoes_it(togl, tmp_path):
    town, learned, _ = togl
    found, _ = again(town, learned, tmp_path / "model.pt")
    assert [each.users for each in found.privacy.rounds] == [len(learned.answered)] * 2
    assert len(learned.answered) < 120
    assert found.privacy.total == Cost(epsilon=2.0) and found.privacy.partial
    assert "simulated" not in found.statement


def test_every_round_is_waited_for_once_with_control_and_structure_beside(togl, veil):
    assert togl[2] == 2 and veil[2] == 1
    assert list(togl[1].scores) == ["method", "control", "structure"]
    assert list(veil[1].scores) == ["method", "control", "structure", "unasked"]


def test_a_control_is_drawn_by_the_server_and_the_books_charge_those_who_were_asked(togl):
    town, learned, _ = togl
    assert len(town.rounds()) == 2
    control, method = learned.parts["control"], learned.outcome
    assert control.scores.tobytes() != method.scores.tobytes()
    asked = town.rounds()[0].asked
    assert learned.ledger.spent[asked].tolist() == [2.0] * len(asked)
    assert learned.ledger.spent.sum() == 2.0 * len(asked)
    said = learned.privacy().sentence
    assert said.startswith("Users were asked to report features at ε = 2 in 2 rounds (1, 1)")


def test_volunteers_are_named_and_leave_no_model(veil):
    _, learned, _ = veil
    assert learned.privacy().panel.users == 30
    assert learned.privacy().sentence.startswith("30 volunteers gave their raw features; others were asked")
    assert set(learned.volunteers) <= set(learned.contributors)
    assert veil[1].model is None


def test_known_labels_are_divided_and_the_held_out_ones_score(togl):
    town, learned, _ = togl
    graph, known = learned.graph, town.labels >= 0
    assert ((graph.train | graph.validation | graph.test) == known).all()
    assert (graph.labels[graph.test] == -1).all()
    predicted = learned.outcome.scores.argmax(axis=1)
    right = (predicted == town.labels)[graph.test]
    assert learned.scores["method"] == pytest.approx(right.mean())


def test_links_and_the_first_question_are_waited_for_once_and_stand_beside_control_and_structure(
    solitude, linked
):
    for town, learned, waits in (solitude, linked):
        assert waits == 1
        assert sorted(each.plan.subject for each in town.rounds()) == ["features", "links"]
        assert {each.plan.subject for each in learned.replayed} == {"features", "links"}
    for _, learned, _ in (solitude, linked):
        assert list(learned.parts) == ["method", "control", "structure"]
        assert learned.parts["control"].scores.tobytes() != learned.outcome.scores.tobytes()


def test_a_private_graph_is_learned_from_answers_alone_and_its_card_says_what_it_costs(solitude):
    _, learned, _ = solitude
    assert learned.graph.edge_count == 0
    links = next(each.reports for each in learned.replayed if each.plan.subject == "links")
    assert links.users < links.asked == 120
    assert learned.privacy().to_dict()["links"]["epsilon"] == 4.0
    assert learned.ledger.total().epsilon == 6.0
    card = result_card(solitude[1], SimpleNamespace(id="00", purpose="to test"))
    assert card["privacy"]["links_at_most"]["epsilon"] == 8.0
    assert "at most ε = 8 if it lies about them" in card["statement"] and card["statement"] in card_page(card)


def test_links_are_asked_for_in_private_where_none_are_public():
    with pytest.raises(InputError, match="the graph of this collection is public.*--private-links"):
        learn_collection(StandIn(users=40), SOLITUDE, terms())


def test_private_labels_and_the_first_question_are_waited_for_once(labels):
    town, learned, waits = labels
    assert waits == 1
    assert [each.plan.subject for each in learned.replayed] == ["label", "features"]
    assert (town.labels[learned.graph.test] >= 0).all()
    assert not learned.graph.test[learned.graph.train].any()


def test_without_a_known_label_there_is_no_score():
    town = StandIn(users=120)
    town.labels = np.full(120, -1)
    learned, _ = collected(town, LABELS)
    assert set(learned.scores.values()) == {None}


def test_a_cap_that_is_renewed_holds_what_was_asked_and_one_for_life_is_not_overdrawn():
    town = StandIn(users=120, cap=1.0, renewal=7)
    learned, _ = collected(town, TOGL)
    assert learned.books.total().epsilon == 2.0
    with pytest.raises(BudgetError):
        collected(StandIn(users=120, cap=1.0), TOGL)


def test_a_forgotten_user_changes_the_second_question_which_stays_frozen(togl):
    town, learned = StandIn(users=120), togl[1]
    # Answers of its own, some of which go.
    town._rounds = [replace(asked, answers=dict(asked.answers)) for asked in togl[0].rounds()]
    gone = int(learned.answered[0])
    for node in learned.answered[:60].tolist():
        town.forget(node)
    with pytest.raises(InputError, match="round 2 of own is published and frozen"):
        collected(town, TOGL)
    again, waits = collected(town, TOGL, as_published=True)
    assert waits == 0 and len(town.rounds()) == 2
    assert again.model.plans[1].options == town.rounds()[1].plan.options
    assert gone not in again.contributors


def test_what_no_collection_can_give_is_refused():
    links = {"epsilon": 1.0, "link_epsilon": 1.0}
    curator = re.compile("lapgraph is a curator's mechanism.*no device gives them")
    cases = [
        ("nonprivate", {}, "reads raw features"),
        ("base", {**links, "link_mechanism": "lapgraph"}, curator),
        ("base", {**links, "link_mechanism": "privhrg"}, "privhrg is a curator's mechanism"),
        ("heterorr", links, "edgerr is a curator's mechanism"),
        ("base", {**links, "task": "link"}, "predicted where some are public"),
        ("ppgnn", {"epsilon": 1.0, "level_distribution": "uniform"}, "leave out level_distribution"),
        ("base", {"epsilon": 1.0, "participation": 0.5}, "people decide who answers"),
        ("veil", {"epsilon": 1.0, "panel": 3}, "people decide who answers"),
        ("base", {}, "needs a budget"),
    ]
    check_refused(lambda method, told: check_collected(Experiment.of(method, "town", **told)), cases)


def test_what_was_asked_of_somebody_who_was_forgotten_counts(local):
    enrolled(local)
    for users in ((0, 1), (0,)):
        local.publish(PLAN.model_copy(update={"users": users}), later())
    local.forget(0)
    books = _open_books(local.roster(), 12, local.rounds())
    for asked in local.rounds():
        charge_round(books, asked.plan, asked.asked)
    assert books.total().epsilon == 2.0


def test_what_links_cost_is_said_for_an_honest_server_and_for_one_that_lies(linked, togl):
    told = linked[1].privacy()
    assert (told.links.epsilon, told.links_at_most.epsilon) == (4.0, 8.0)
    assert "at most ε = 8 if it lies about them" in told.sentence
    assert told.sentence.endswith("; beyond that the server needs no trust.")
    assert togl[1].privacy().links_at_most is None
