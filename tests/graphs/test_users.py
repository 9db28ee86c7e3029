import numpy as np
import pytest
from scipy.sparse import csr_array

from graphveil import BudgetError, InputError, Plan, SeededWords
from graphveil.errors import PrivacyError
from graphveil.graphs import Users, evaluation, from_arrays

FEATURES = np.array([[0, 1, 1], [1, 0, 0], [0, 0, 0], [1, 1, 1]], dtype=np.uint8)
LABELS = np.array([0, 1, 0, 1])
ASK_FEATURES = Plan(mechanism="onebit", epsilon=1.0, dims=3, range=(0, 1))
ASK_LABELS = Plan(mechanism="krr", epsilon=0.5, classes=2)
ASK_LINKS = Plan(mechanism="link-rr", epsilon=0.5, dims=4)
ASK_LEVELS = Plan(mechanism="esw", epsilon=0.5, levels=3)


class CountedWords(SeededWords):
    """Counts what is drawn."""

    drawn = 0

    def take(self, count):
        self.drawn += count
        return super().take(count)


def people(features=FEATURES, labels=LABELS, **more):
    return Users(features, labels, **more)


@pytest.mark.parametrize("what", ["features", "labels", "levels", "neighbours"])
def test_nothing_raw_can_be_read_outside_of_evaluation(what):
    users = people(levels=[1, 2, 1, 1], neighbours=(np.zeros(5, dtype=np.int64), np.zeros(0, dtype=np.int32)))
    with pytest.raises(PrivacyError, match="stay with the users"):
        getattr(users, what)
    with evaluation():
        assert getattr(users, what) is not None
    with pytest.raises(PrivacyError, match="stay with the users"):
        getattr(users, what)


def test_evaluation_ends_when_an_error_leaves_it():
    with pytest.raises(ZeroDivisionError), evaluation():
        raise ZeroDivisionError
    with pytest.raises(PrivacyError):
        _ = people().features


def test_reports_are_the_mechanism_s_answers_with_the_users_words():
    users = people().declare(1.0, seed=5)
    assert users.report(ASK_FEATURES) == ASK_FEATURES.build().randomize(FEATURES, SeededWords(5))


def test_sparse_and_dense_features_are_reported_alike():
    dense, sparse = (people(kind(FEATURES)).declare(1.0, seed=5) for kind in (np.asarray, csr_array))
    assert dense.report(ASK_FEATURES) == sparse.report(ASK_FEATURES)


def test_some_users_can_be_asked():
    plan = Plan(mechanism="krr", epsilon=9.0, classes=2, users=(3, 0))
    users = people().declare(9.0, seed=0)
    assert users.report(plan).codes.tolist() == [1, 0]
    assert users.ledger.spent.tolist() == [9.0, 0.0, 0.0, 9.0]


def test_what_is_asked_is_charged_before_anything_is_drawn():
    words = CountedWords(0)
    users = people().declare(1.0)
    users._words = words
    users.report(ASK_FEATURES)
    drawn = words.drawn
    with pytest.raises(BudgetError):
        users.report(ASK_LABELS)
    assert words.drawn == drawn > 0
    assert users.ledger.spent.tolist() == [1.0] * 4


def test_users_that_declared_nothing_answer_nothing():
    with pytest.raises(BudgetError):
        people().report(ASK_LABELS)


def test_declaring_again_opens_fresh_books():
    users = people().declare(1.0, seed=0)
    users.report(ASK_FEATURES)
    users.declare(1.0, seed=0).report(ASK_FEATURES)
    assert users.ledger.spent.tolist() == [1.0] * 4


def test_each_user_may_have_a_budget_of_their_own():
    users = people().declare([1.0, 2.0, 3.0, 4.0])
    assert users.ledger.budget.tolist() == [1.0, 2.0, 3.0, 4.0]


def test_blind_users_report_the_same_whatever_they_hold():
    blind = people().declare(1.0, seed=3, blind=True).report(ASK_FEATURES)
    other = people(1 - FEATURES).declare(1.0, seed=3, blind=True).report(ASK_FEATURES)
    assert blind == other
    assert blind.mechanism.epsilon == 0.0
    assert (blind.codes != people().declare(1.0, seed=3).report(ASK_FEATURES).codes).any()


def test_blind_users_answer_everything_else_as_usual():
    for plan in (ASK_LABELS, ASK_LEVELS):
        seeing, blind = (
            people(levels=[1, 2, 3, 1]).declare(0.5, seed=3, blind=blind).report(plan)
            for blind in (False, True)
        )
        assert seeing == blind
        assert blind.mechanism.epsilon > 0.4


def test_users_without_features_say_so_and_are_not_charged():
    users = people(None).declare(1.0)
    with pytest.raises(InputError, match="these users hold no features"):
        users.report(ASK_FEATURES)
    with pytest.raises(InputError, match="these users hold no features"):
        _ = users.features
    assert users.ledger.spent.tolist() == [0.0] * 4


def test_users_without_levels_say_so():
    with pytest.raises(InputError, match=r"users\.with_levels"):
        people().declare(1.0).report(ASK_LEVELS)


def test_a_user_without_a_label_cannot_report_it_and_is_not_charged():
    users = people(labels=np.array([0, -1, 0, 1])).declare(1.0)
    with pytest.raises(InputError, match="1 of the users asked have no label"):
        users.report(ASK_LABELS)
    assert users.ledger.spent.tolist() == [0.0] * 4
    users.report(Plan(mechanism="krr", epsilon=0.5, classes=2, users=(0, 2, 3)))


def test_a_user_who_does_not_exist_cannot_be_asked():
    with pytest.raises(InputError, match=r"users must lie in 0\.\.3, the plan asks user 4"):
        people().declare(1.0).report(Plan(mechanism="krr", epsilon=0.5, classes=2, users=(4,)))


@pytest.mark.parametrize("levels", [[1, 2], [0, 1, 1, 1], [1.5, 1, 1, 1]])
def test_bad_levels_are_refused(levels):
    with pytest.raises(InputError, match="levels must be 4 integers of at least 1"):
        people().with_levels(levels)


def test_levels_survive_a_declaration_but_cannot_follow_it():
    users = people().with_levels([1, 2, 3, 1]).declare(1.0)
    with evaluation():
        assert users.levels.tolist() == [1, 2, 3, 1]
    with pytest.raises(InputError, match="before a budget is declared"):
        users.with_levels([1, 1, 1, 1])


def test_features_need_a_row_for_everybody():
    with pytest.raises(InputError, match=r"one row a user \(4\), got 2"):
        people(FEATURES[:2])


def test_the_test_users_are_evaluated_and_nobody_else():
    graph, users = from_arrays([[0, 1]], None, np.arange(40) % 2, users=40)
    with evaluation():
        right = users.labels
    wrong_elsewhere = np.where(graph.test, right, 1 - right)
    assert users.evaluate(wrong_elsewhere, graph) == 1.0
    assert users.evaluate(1 - wrong_elsewhere, graph) == 0.0


def test_users_in_a_collection_do_not_tell_how_well_it_goes():
    graph, users = from_arrays([[0, 1]], None, np.arange(40) % 2, users=40)
    asked = users.declare(1.0)
    with pytest.raises(PrivacyError, match="answer reports only"):
        asked.evaluate(np.zeros(40, dtype=int), graph)
    with evaluation():
        assert asked.evaluate(np.zeros(40, dtype=int), graph) == users.evaluate(
            np.zeros(40, dtype=int), graph
        )


def test_users_of_another_graph_are_refused():
    graph, _ = from_arrays([[0, 1]], None, np.arange(40) % 2, users=40)
    with pytest.raises(InputError, match="the graph has 40 users, these are 4"):
        people().evaluate(np.zeros(40, dtype=int), graph)


def test_the_repr_shows_nothing_private():
    assert repr(people().declare(1.0, blind=True)) == "Users(4, blind, Ledger(4 users, 0 plans answered))"


PATH = (np.array([0, 1, 3, 5, 6]), np.array([1, 0, 2, 1, 3, 2], dtype=np.int32))


def test_links_are_charged_and_answered_by_the_user_with_the_larger_number():
    users = people(neighbours=PATH).declare(40.0, seed=0)
    reports = users.report(Plan(mechanism="link-rr", epsilon=20.0, dims=4))
    assert [reports.row(user).codes.tolist() for user in range(4)] == [[], [0], [1], [2]]
    assert users.ledger.total("links").epsilon == 20.0
    some = users.report(Plan(mechanism="link-rr", epsilon=20.0, dims=4, users=(3, 1)))
    assert [some.row(place).codes.tolist() for place in range(2)] == [[2], [0]]


def test_the_control_reports_links_as_they_are():
    answers = [
        people(neighbours=PATH).declare(0.5, seed=5, blind=blind).report(ASK_LINKS) for blind in (0, 1)
    ]
    assert answers[0] == answers[1]


def test_links_are_refused_where_there_are_none_or_users_are_miscounted():
    with pytest.raises(InputError, match="these users hold no lists of neighbours: load them"):
        people().declare(9.0).report(ASK_LINKS)
    users = people(neighbours=PATH).declare(9.0)
    with pytest.raises(InputError, match="must say how many users there are, 4, got 5"):
        users.report(Plan(mechanism="link-rr", epsilon=0.5, dims=5))
    with pytest.raises(InputError, match=r"users must lie in 0..3, the plan asks user 4"):
        users.report(Plan(mechanism="link-rr", epsilon=0.5, dims=4, users=(4,)))
    assert not users.ledger.charges


PERSONAL = Plan(mechanism="ppm", epsilon=1.0, dims=3, range=(0, 1), levels=3)


def test_every_user_is_charged_the_budget_of_the_own_level():
    users = people().with_levels([1, 3, 2, 1]).declare([1.0, 4.0, 2.5, 1.0], seed=2)
    reports = users.report(PERSONAL)
    assert users.ledger.spent.tolist() == [1.0, 4.0, 2.0, 1.0]
    assert users.ledger.total("features").epsilon == 4.0
    assert users.ledger.charges[0].claim.epsilon == 4.0
    assert reports == PERSONAL.build().randomize(([1, 3, 2, 1], FEATURES), SeededWords(2))


def test_one_user_s_overdraft_of_an_own_budget_stops_all_before_anything_is_drawn():
    words = CountedWords(0)
    users = people().with_levels([1, 3, 2, 1]).declare([1.0, 3.9, 2.0, 1.0])
    users._words = words
    with pytest.raises(BudgetError, match="the budget of the level that they chose") as told:
        users.report(PERSONAL)
    assert "3.9" not in str(told.value)
    assert words.drawn == 0
    assert users.ledger.spent.tolist() == [0.0] * 4
    assert users.ledger.charges == ()


def test_levels_are_needed_and_must_be_among_those_of_the_plan():
    with pytest.raises(InputError, match="chosen no privacy levels"):
        people().declare(9.0).report(PERSONAL)
    users = people().with_levels([1, 4, 2, 1]).declare(9.0)
    with pytest.raises(InputError, match=r"integers of 1\.\.3, got 1\.\.4"):
        users.report(PERSONAL)
    assert users.ledger.spent.tolist() == [0.0] * 4


def test_some_users_with_levels_can_be_asked_and_blind_ones_answer_blindly():
    plan = PERSONAL.model_copy(update={"users": (2, 0)})
    users = people(csr_array(FEATURES)).with_levels([1, 3, 2, 1]).declare(4.0, seed=3)
    assert users.report(plan).users == 2
    assert users.ledger.spent.tolist() == [1.0, 0.0, 2.0, 0.0]
    blind = people().with_levels([1, 3, 2, 1]).declare(4.0, seed=3, blind=True)
    assert blind.report(PERSONAL).mechanism.name == "blind ppm"


ASK_NORMS = Plan(mechanism="piecewise", epsilon=1.0, dims=1, range=(0, 2), of="norm", users=(3, 0))
NORMS = np.sqrt([[2.0], [1.0], [0.0], [3.0]])


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_norms_are_computed_on_the_users_side_and_charged_as_features(kind):
    users = people(kind(FEATURES)).declare(1.0, seed=5)
    assert users.report(ASK_NORMS) == ASK_NORMS.build().randomize(NORMS[[3, 0]], SeededWords(5))
    assert users.ledger.spent.tolist() == [1.0, 0.0, 0.0, 1.0]
    assert users.ledger.total("features").epsilon == 1.0


def test_blind_users_report_norms_that_say_nothing():
    one, other = (
        people(rows).declare(1.0, seed=3, blind=True).report(ASK_NORMS) for rows in (FEATURES, 1 - FEATURES)
    )
    assert one == other and one.mechanism.epsilon == 0.0


def norm_data():
    random = np.random.default_rng(0)
    return from_arrays([[0, 1]], random.random((40, 3)), np.arange(40) % 2, range=(0, 1))


def test_norms_of_test_users_are_evaluated_and_nobody_else_s():
    graph, users = norm_data()
    with evaluation():
        true = np.linalg.norm(users.features, axis=1)
    assert users.evaluate_norms(np.where(graph.test, true, 99.0), graph) == pytest.approx(0.0)
    assert users.evaluate_norms(np.where(graph.test, true + 0.5, true), graph) == pytest.approx(0.5)


def test_norms_of_test_users_stay_with_users_in_a_collection():
    graph, users = norm_data()
    with pytest.raises(PrivacyError, match="answer reports only"):
        users.declare(1.0).evaluate_norms(np.zeros(40), graph)


@pytest.mark.parametrize(
    "wrong", [np.zeros(39), np.zeros((40, 1)), np.full(40, np.nan), np.array(["1"] * 40)]
)
def test_predicted_norms_must_be_a_number_a_user(wrong):
    graph, users = norm_data()
    with pytest.raises(InputError, match="norms must be 40 finite numbers"):
        users.evaluate_norms(wrong, graph)


def test_norms_need_features():
    graph, users = from_arrays([[0, 1]], None, np.arange(40) % 2, users=40)
    with pytest.raises(InputError, match="these users hold no features"):
        users.evaluate_norms(np.zeros(40), graph)
