import re
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from scipy.sparse import csr_array

from graphveil import BudgetError, InputError, Ledger, Plan, SeededBits
from graphveil.errors import PrivacyError
from graphveil.graphs import SimulatedUsers, Users, from_arrays
from graphveil.graphs.links import LinkPairs
from tests.refusals import check_refused

FEATURES = np.array([[0, 1, 1], [1, 0, 0], [0, 0, 0], [1, 1, 1]], dtype=np.uint8)
LABELS = np.array([0, 1, 0, 1])
ASK_FEATURES = Plan(mechanism="onebit", epsilon=1.0, dims=3, range=(0, 1))
ASK_LABELS = Plan(mechanism="krr", epsilon=0.5, classes=2)
ASK_LINKS = Plan(mechanism="link-rr", epsilon=0.5, dims=4)
ASK_LEVELS = Plan(mechanism="esw", epsilon=0.5, levels=3)
ASK_NORMS = Plan(mechanism="piecewise", epsilon=1.0, dims=1, range=(0, 2), of="norm", users=(3, 0))
ASK_CLASS = Plan(
    mechanism="krr",
    of="class",
    epsilon=1.0,
    classes=2,
    dims=3,
    range=(0, 1),
    users=(3, 0, 2),
    model={"kind": "linear", "weights": [[3, -1, 0], [0, 2, 1], [-2, 0, 4]], "bias": [1, 0, -1]},
    lists=[[2, 0], [1, 2], [0, 1]],
)
PERSONAL = Plan(mechanism="ppm", epsilon=1.0, dims=3, range=(0, 1), levels=3)
BUDGETS = (1.0, 2.0, 4.0)
PATH = (np.array([0, 1, 3, 5, 6]), np.array([1, 0, 2, 1, 3, 2], dtype=np.int32))
PAIR = np.array([[0, 2]])


class CountedBits(SeededBits):
    """Counts what is drawn."""

    drawn = 0

    def take(self, count):
        self.drawn += count
        return super().take(count)


class KeptWords(SeededBits):
    """Counts how often somebody draws while somebody else is drawing."""

    inside = overlapping = 0

    def take(self, count):
        self.overlapping += self.inside > 0
        self.inside += 1
        time.sleep(1e-4)
        taken = super().take(count)
        self.inside -= 1
        return taken


def people(features=FEATURES, labels=LABELS, **more):
    return Users(features, labels, **more)


def booked(users, epsilon=0.0, *, by_level=None, **how):
    """Users who answer, and their books."""
    ledger = users.open_ledger(epsilon, by_level=by_level)
    return users.answering(ledger, **how), ledger


def test_raw_is_the_only_door_to_what_users_hold_and_cannot_be_exchanged_or_printed():
    users = people(levels=[1, 2, 1, 1], neighbours=PATH, test_links=LinkPairs(PAIR, PAIR))
    held = ["features", "labels", "levels", "neighbours", "test_links"]
    assert [name for name in held if getattr(users.raw, name) is None or hasattr(users, name)] == []
    assert users.raw.rows() is FEATURES
    with pytest.raises(FrozenInstanceError):
        people().raw.labels = 1 - LABELS
    assert "array" not in repr(people().raw) and repr(people()) == "Users(4)"


def test_what_users_do_not_hold_or_a_plan_cannot_ask_is_refused():
    several = Users(FEATURES, np.stack([LABELS, 1 - LABELS], axis=1))
    leveled = people().with_levels([1, 4, 2, 1])
    krr_of_nobody = Plan(mechanism="krr", epsilon=0.5, classes=2, users=(4,))
    graph, holders = from_arrays([[0, 1]], None, np.arange(40) % 2, users=40)
    levels = "levels must be 4 integers of at least 1"
    check_refused(
        lambda ask: ask(),
        [
            (lambda: people(None).raw.rows(), "these users hold no features"),
            (lambda: people().answering(Ledger(3, 1.0)), "the ledger has 3 users, these are 4"),
            (
                lambda: people().declare(1.0).report(krr_of_nobody),
                "users must lie in 0..3, the plan asks user 4",
            ),
            (lambda: people().declare(1.0).report(ASK_LEVELS), "users.with_levels"),
            (lambda: people().with_levels([1, 2]), levels),
            (lambda: people().with_levels([0, 1, 1, 1]), levels),
            (lambda: people().with_levels([1.5, 1, 1, 1]), levels),
            (lambda: people().declare(9.0).report(PERSONAL), "chosen no privacy levels"),
            (lambda: people().declare(by_level=BUDGETS), "chosen no privacy levels"),
            (lambda: leveled.open_ledger(by_level=BUDGETS), "levels must lie in 1..3"),
            (lambda: people(FEATURES[:2]), "one row a user (4), got 2"),
            (lambda: people().evaluate(np.zeros(40, dtype=int), graph), "the graph has 40 users, not 4"),
            (lambda: holders.evaluate_norms(np.zeros(40), graph), "these users hold no features"),
            (
                lambda: several.declare(1.0).report(ASK_LABELS),
                "have several labels each, a plan asks for one",
            ),
        ],
    )


def test_users_who_answer_offer_reports_and_nothing_else():
    asked = people(levels=[1, 2, 1, 1], neighbours=PATH).declare(1.0, seed=0)
    assert [name for name in dir(asked) if not name.startswith("_")] == ["report"]
    assert repr(asked) == "SimulatedUsers()"
    with pytest.raises(AttributeError):
        people().declare(1.0).features = FEATURES


def test_two_who_answer_on_one_ledger_share_its_budget():
    users = people()
    ledger = users.open_ledger(1.0)
    one, other = (users.answering(ledger, seed=seed) for seed in (0, 1))
    one.report(ASK_FEATURES)
    with pytest.raises(BudgetError):
        other.report(ASK_FEATURES)


def test_eight_threads_of_one_simulation_draw_no_word_twice():
    """They draw one after the other: nobody is drawing while somebody else does."""
    random_bits = KeptWords(0)
    asked = SimulatedUsers(people().raw, Ledger(4, 100.0), random_bits)
    plan = Plan(mechanism="krr", epsilon=1.0, classes=2)
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda _: asked.report(plan), range(100)))
    assert random_bits.overlapping == 0


def test_reports_are_the_mechanism_s_answers_with_the_users_words_however_rows_are_kept():
    users = people().declare(1.0, seed=5)
    assert users.report(ASK_FEATURES) == ASK_FEATURES.build().randomize(FEATURES, SeededBits(5))
    dense, sparse = (people(kind(FEATURES)).declare(1.0, seed=5) for kind in (np.asarray, csr_array))
    assert dense.report(ASK_FEATURES) == sparse.report(ASK_FEATURES)


def test_some_users_can_be_asked_and_who_lacks_a_label_is_charged_like_everybody():
    plan = Plan(mechanism="krr", epsilon=9.0, classes=2, users=(3, 0))
    users, ledger = booked(people(), 9.0, seed=0)
    assert users.report(plan).codes.tolist() == [1, 0]
    assert ledger.spent.tolist() == [9.0, 0.0, 0.0, 9.0]
    users, ledger = booked(people(labels=np.array([0, -1, 0, 1])), 0.5)
    assert users.report(ASK_LABELS).users == 4
    assert ledger.spent.tolist() == [0.5] * 4


def test_what_is_asked_is_charged_before_anything_is_drawn_or_not_answered():
    random_bits, ledger = CountedBits(0), Ledger(4, 1.0)
    users = SimulatedUsers(people().raw, ledger, random_bits)
    users.report(ASK_FEATURES)
    drawn = random_bits.drawn
    with pytest.raises(BudgetError):
        users.report(ASK_LABELS)
    assert random_bits.drawn == drawn > 0
    assert ledger.spent.tolist() == [1.0] * 4
    with pytest.raises(BudgetError):
        people().declare().report(ASK_LABELS)
    assert not hasattr(people(), "report")


def test_every_declaration_opens_fresh_books_with_the_budgets_of_users():
    users = people()
    answers = [users.declare(1.0, seed=0).report(ASK_FEATURES) for _ in range(2)]
    assert answers[0] == answers[1]
    assert people().open_ledger([1.0, 2.0, 3.0, 4.0]).budget.tolist() == [1.0, 2.0, 3.0, 4.0]


@pytest.mark.parametrize("plan", [ASK_FEATURES, ASK_NORMS, ASK_CLASS], ids=["features", "norms", "a class"])
def test_blind_users_report_the_same_whatever_they_hold(plan):
    blind, other = (
        people(rows).declare(1.0, seed=3, blind=True).report(plan) for rows in (FEATURES, 1 - FEATURES)
    )
    assert blind == other
    assert plan.of == "class" or blind.mechanism.epsilon == 0.0
    assert plan is not ASK_FEATURES or (blind.codes != people().declare(1.0, seed=3).report(plan).codes).any()


@pytest.mark.parametrize("plan", [ASK_LABELS, ASK_LEVELS, ASK_LINKS], ids=["labels", "levels", "links"])
def test_blind_users_answer_everything_else_as_usual(plan):
    users = people(levels=[1, 2, 3, 1], neighbours=PATH)
    seeing, blind = (users.declare(0.5, seed=3, blind=blind).report(plan) for blind in (False, True))
    assert seeing == blind
    assert blind.mechanism.epsilon > 0.4


@pytest.mark.statistical
def test_a_user_without_a_label_answers_at_random():
    """6,000 answers at a budget that hides nothing: each of three classes within six standard deviations, 10^-8."""
    plan = Plan(mechanism="krr", epsilon=15.0, classes=3)
    codes = people(None, np.full(6000, -1)).declare(15.0, seed=0).report(plan).codes
    counts = np.bincount(codes, minlength=3)
    assert np.abs(counts - 2000).max() < 6 * np.sqrt(6000 * 2 / 9)


def test_the_test_users_are_evaluated_and_nobody_else():
    graph, users = from_arrays([[0, 1]], None, np.arange(40) % 2, users=40)
    right = users.raw.labels
    wrong_elsewhere = np.where(graph.test, right, 1 - right)
    assert users.evaluate(wrong_elsewhere, graph) == 1.0
    assert users.evaluate(1 - wrong_elsewhere, graph) == 0.0


def test_links_are_charged_and_answered_by_the_user_with_the_larger_number():
    users, ledger = booked(people(neighbours=PATH), 40.0, seed=0)
    reports = users.report(Plan(mechanism="link-rr", epsilon=20.0, dims=4))
    assert [reports.row(user).codes.tolist() for user in range(4)] == [[], [0], [1], [2]]
    assert ledger.total("links").epsilon == 20.0
    some = users.report(Plan(mechanism="link-rr", epsilon=20.0, dims=4, users=(3, 1)))
    assert [some.row(place).codes.tolist() for place in range(2)] == [[2], [0]]


def test_a_plan_alone_makes_nobody_a_curator():
    """Simulated users stand for the one who is said to be trusted."""
    everybody, plan = people(neighbours=PATH), Plan(mechanism="lapgraph", epsilon=22.0, dims=4)
    users, ledger = booked(everybody, 22.0, seed=0)
    with pytest.raises(PrivacyError, match="lapgraph is a curator's mechanism"):
        users.report(plan)
    assert not ledger.charges
    reports = everybody.answering(ledger, seed=0, curator=True).report(plan)
    assert [reports.row(user).codes.tolist() for user in range(4)] == [[], [0], [1], [2]]
    assert ledger.total("links").epsilon == 22.0 and ledger.charges[0].users == 4


def test_links_are_refused_where_there_are_none_or_users_are_miscounted():
    with pytest.raises(InputError, match="these users hold no lists of neighbours: load them"):
        people().declare(9.0).report(ASK_LINKS)
    users, ledger = booked(people(neighbours=PATH), 9.0)
    with pytest.raises(InputError, match="must say how many users there are, 4, got 5"):
        users.report(Plan(mechanism="link-rr", epsilon=0.5, dims=5))
    with pytest.raises(InputError, match=r"users must lie in 0..3, the plan asks user 4"):
        users.report(Plan(mechanism="link-rr", epsilon=0.5, dims=4, users=(4,)))
    assert not ledger.charges


def test_every_user_is_charged_the_budget_of_the_own_level():
    users, ledger = booked(people().with_levels([1, 3, 2, 1]), 0.5, by_level=BUDGETS, seed=2)
    reports = users.report(PERSONAL)
    assert ledger.budget.tolist() == [1.5, 4.5, 2.5, 1.5]
    assert ledger.spent.tolist() == [1.0, 4.0, 2.0, 1.0]
    assert ledger.total("features").epsilon == ledger.charges[0].claim.epsilon == 4.0
    assert reports == PERSONAL.build().randomize(([1, 3, 2, 1], FEATURES), SeededBits(2))
    # Without budgets by level everybody needs the largest.
    held = people().with_levels([1, 1, 1, 1])
    with pytest.raises(BudgetError):
        held.declare(3.9).report(PERSONAL)
    users, ledger = booked(held, 4.0)
    users.report(PERSONAL)
    assert ledger.spent.tolist() == [1.0] * 4


@pytest.mark.parametrize("levels", [[1, 1, 1, 1], [3, 3, 3, 3], [1, 3, 2, 1]])
def test_a_level_that_nobody_chose_can_refuse_for_all_before_anything_is_drawn(levels):
    random_bits, held = CountedBits(0), people().with_levels(levels)
    ledger = held.open_ledger(by_level=(1.0, 2.0, 3.9))
    with pytest.raises(BudgetError, match="a user of some declared level") as told:
        SimulatedUsers(held.raw, ledger, random_bits).report(PERSONAL)
    assert "3.9" not in str(told.value)
    assert random_bits.drawn == 0
    assert ledger.spent.tolist() == [0.0] * 4
    assert ledger.charges == ()


def test_some_users_with_levels_can_be_asked_and_blind_ones_answer_blindly():
    plan = PERSONAL.model_copy(update={"users": (2, 0)})
    held = people(csr_array(FEATURES)).with_levels([1, 3, 2, 1])
    users, ledger = booked(held, by_level=BUDGETS, seed=3)
    assert users.report(plan).users == 2
    assert ledger.spent.tolist() == [1.0, 0.0, 2.0, 0.0]
    blind = people().with_levels([1, 3, 2, 1]).declare(4.0, seed=3, blind=True)
    assert blind.report(PERSONAL).mechanism.name == "blind ppm"


def test_with_levels_keeps_everything_else():
    users = people(neighbours=PATH, test_links=LinkPairs(PAIR, PAIR))
    leveled = users.with_levels([1, 2, 3, 1])
    assert leveled.have_levels and not users.have_levels
    for what in ("features", "labels", "neighbours", "test_links"):
        assert getattr(leveled.raw, what) is getattr(users.raw, what)


NORMS = np.sqrt([[2.0], [1.0], [0.0], [3.0]])


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_norms_are_computed_on_the_users_side_and_charged_as_features(kind):
    users, ledger = booked(people(kind(FEATURES)), 1.0, seed=5)
    assert users.report(ASK_NORMS) == ASK_NORMS.build().randomize(NORMS[[3, 0]], SeededBits(5))
    assert ledger.spent.tolist() == [1.0, 0.0, 0.0, 1.0]
    assert ledger.total("features").epsilon == 1.0


def test_norms_of_test_users_are_evaluated_and_nobody_else_s():
    rows = np.random.default_rng(0).random((40, 3))
    graph, users = from_arrays([[0, 1]], rows, np.arange(40) % 2, range=(0, 1))
    true = np.linalg.norm(rows, axis=1)
    assert users.evaluate_norms(np.where(graph.test, true, 99.0), graph) == pytest.approx(0.0)
    assert users.evaluate_norms(np.where(graph.test, true + 0.5, true), graph) == pytest.approx(0.5)
    wrong = [np.zeros(39), np.zeros((40, 1)), np.full(40, np.nan), np.array(["1"] * 40)]
    words = re.compile("norms must be (40 numbers|finite)")
    check_refused(lambda norms: users.evaluate_norms(norms, graph), [(norms, words) for norms in wrong])


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_users_answer_for_a_class_of_their_own_rows_in_the_plan_s_order(kind):
    users, ledger = booked(people(kind(FEATURES)), 1.0, seed=3)
    reports = users.report(ASK_CLASS)
    assert reports == ASK_CLASS.build().randomize(FEATURES[[3, 0, 2]], SeededBits(3))
    assert ledger.spent.tolist() == [1.0, 0.0, 1.0, 1.0]
    assert ledger.total("features").epsilon == 1.0 and ledger.total("label").epsilon == 0.0


def test_a_class_needs_features_and_no_labels_which_users_without_features_say():
    with pytest.raises(InputError, match="these users hold no features"):
        people(features=None).declare(1.0).report(ASK_CLASS)
    several = np.zeros((4, 2), dtype=np.int64)
    assert people(labels=several).declare(1.0).report(ASK_CLASS).users == 3
    users, ledger = booked(people(None), 1.0)
    with pytest.raises(InputError, match="these users hold no features"):
        users.report(ASK_FEATURES)
    assert ledger.spent.tolist() == [0.0] * 4


def test_groups_of_different_users_are_all_answered_on_one_budget_and_others_are_not():
    users, ledger = booked(people(), 1.0)
    users.report(ASK_CLASS.part([3, 2]))
    with pytest.raises(BudgetError):
        users.report(ASK_CLASS)
    users.report(ASK_CLASS.part([0]))
    assert ledger.total().epsilon == 1.0 and [charge.users for charge in ledger.charges] == [2, 1]


def test_some_who_are_asked_for_a_class_are_silent_and_charged():
    answering, ledger = booked(people(), 1.0, seed=0, who=np.array([True, True, False, True]))
    reports = answering.report(ASK_CLASS)
    assert (reports.users, reports.answered.tolist()) == (2, [True, True, False])
    assert ledger.spent.tolist() == [1.0, 0.0, 1.0, 1.0]


def test_confusion_counts_test_users_alone():
    labels = np.array([0, 0, 1, 1, 1, 0, 1, 0, 0, 1])
    graph, users = from_arrays([[0, 1]], None, labels, users=10, seed=1)
    predicted = np.zeros(10, dtype=np.int64)
    tested = labels[graph.test]
    expected = [[int((tested == 0).sum()), 0], [int((tested == 1).sum()), 0]]
    assert users.confusion(predicted, graph).tolist() == expected
    first, second = users.per_class(predicted, graph)
    assert (first.have, first.predicted, first.right) == (expected[0][0], len(tested), expected[0][0])
    assert (second.have, second.predicted, second.f1) == (expected[1][0], 0, 0.0)
    wrong = [np.zeros(9, dtype=np.int64), np.zeros(10), np.full(10, 2)]
    check_refused(lambda given: users.confusion(given, graph), [(given, "predict") for given in wrong])


def test_several_labels_are_not_confused_but_counted_each():
    rows = np.array([[1, 0], [1, 1], [0, 1], [1, 0], [0, 1], [1, 1], [0, 0], [1, 0]])
    graph, users = from_arrays([[0, 1]], None, rows)
    with pytest.raises(InputError, match="several labels each"):
        users.confusion(rows, graph)
    assert [each.f1 for each in users.per_class(rows, graph)] == [1.0, 1.0]
