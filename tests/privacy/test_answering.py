"""What users do with a plan: what fits is charged, then drawn; what does not fit costs nobody anything."""

import re
import warnings

import numpy as np
import pytest

from graphveil import BudgetError, InputError, Ledger, Plan, SeededBits, answer, load
from graphveil.audit.reports import CountedBits
from graphveil.channels.sampling import SystemBits
from graphveil.errors import ClaimError, ClippedWarning, PrivacyError
from graphveil.mechanisms import NeighbourLists
from graphveil.privacy import Nobody
from graphveil.privacy.answering import Recorder, look_over
from tests import people
from tests.together import together

FEATURES = Plan(mechanism="onebit", epsilon=1.0, dims=3, range=(0, 1))
LABELS = Plan(mechanism="krr", epsilon=1.0, classes=3)
LINKS = Plan(mechanism="link-rr", epsilon=1.0, dims=4, users=(2, 0))
CURATED = Plan(mechanism="lapgraph", epsilon=1.0, dims=4)
NORMS = Plan(mechanism="piecewise", epsilon=1.0, dims=1, range=(0, 5), of="norm")
PRINTED = Plan(mechanism="ppm-printed", epsilon=1.0, dims=3, range=(0, 1), levels=2)
TWO_LEVELS = [1, 2], np.zeros((2, 3))
CLASS = Plan(**people.CLASS)
HELD = np.random.default_rng(0).random((3, 3))
LISTS = NeighbourLists(np.arange(4), np.array([0, 1, 3, 5, 6]), np.array([1, 0, 2, 1, 3, 2], dtype=np.int32))


class WatchfulWords(SeededBits):
    """Remembers how many plans were booked when words were drawn."""

    def __init__(self, ledger):
        super().__init__(0)
        self.ledger, self.booked = ledger, []

    def take(self, count):
        self.booked.append(len(self.ledger.charges))
        return super().take(count)


def test_answers_are_the_mechanism_s_reports_and_norms_are_computed_before():
    rows = np.eye(3)
    reports = answer(FEATURES, rows, Ledger(3, 1.0), SeededBits(1))
    assert reports == FEATURES.build().randomize(rows, SeededBits(1))
    ledger = Ledger(2, 1.0)
    reports = answer(NORMS, [[3.0, 4.0], [0.0, 1.0]], ledger, SeededBits(1))
    assert reports == NORMS.build().randomize([[5.0], [1.0]], SeededBits(1))
    assert [charge.of for charge in ledger.charges] == ["norm"]
    assert ledger.total("features").epsilon == 1.0
    seeing, blind = (answer(LABELS, [0, 1], Ledger(2, 1.0), SeededBits(0), blind=b) for b in (False, True))
    assert seeing == blind


def test_a_plan_is_booked_before_the_first_word_is_drawn_and_none_is_for_an_overdraft():
    ledger = Ledger(2, 1.5)
    random_bits = WatchfulWords(ledger)
    answer(LABELS, [0, 1], ledger, random_bits)
    assert random_bits.booked and set(random_bits.booked) == {1}
    random_bits = WatchfulWords(ledger)
    with pytest.raises(BudgetError):
        answer(LABELS, [0, 1], ledger, random_bits)
    assert random_bits.booked == [] and len(ledger.charges) == 1


AS_MANY = r"the plan asks \d users, and \d rows were given"
IN_THREE = CLASS.model_copy(update={"users": (2, 0, 1)})


@together(
    ("plan", "rows", "words"),
    [
        (FEATURES, np.zeros((2, 3)), AS_MANY),
        (FEATURES, np.zeros((4, 3)), AS_MANY),
        (FEATURES, np.zeros((3, 2)), None),
        (LABELS, [0, 1], AS_MANY),
        (LABELS.model_copy(update={"users": (0, 2)}), [0, 1, 2], AS_MANY),
        (LABELS.model_copy(update={"users": (0, 3)}), [0, 1], r"users must lie in 0\.\.2, .* asks user 3"),
        (NORMS, np.zeros((2, 3)), AS_MANY),
        *((IN_THREE, rows, None) for rows in map(np.zeros, [(2, 3), (4, 3), (3, 2), 3])),
    ],
)
def test_as_many_rows_as_users_are_asked_or_nobody_is_charged(plan, rows, words):
    ledger = Ledger(3, 1.0)
    with pytest.raises(InputError, match=words):
        answer(plan, rows, ledger, SeededBits(0))
    assert ledger.spent.tolist() == [0.0] * 3 and ledger.charges == ()


def test_lists_of_neighbours_must_be_those_of_the_users_asked():
    ledger = Ledger(4, 1.0)
    for wrong in ([0, 2], [2, 1]):
        with pytest.raises(InputError, match="those of the users asked, in the plan's order"):
            answer(LINKS, LISTS.of(np.array(wrong)), ledger, SeededBits(0))
    assert ledger.charges == ()
    answer(LINKS, LISTS.of(np.array([2, 0])), ledger, SeededBits(0))
    assert ledger.spent.tolist() == [1.0, 0.0, 1.0, 0.0]


@pytest.mark.parametrize("value", [-7.0, 9.0, np.nan, np.inf])
def test_any_value_is_answered_in_silence_and_charged(value):
    ledger = Ledger(2, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        reports = answer(FEATURES, np.full((2, 3), value), ledger, SeededBits(0))
    assert reports.users == 2
    assert ledger.spent.tolist() == [1.0, 1.0]


@together(
    ("words", "unsound"),
    [(None, False), (None, True), (SystemBits(), False), (SystemBits(), True), (SeededBits(0), False)],
)
def test_a_mechanism_that_does_not_keep_its_claim_is_refused_without_a_seed(words, unsound):
    ledger = Ledger(2, 9.0)
    with pytest.raises(ClaimError, match="ppm-printed does not keep the privacy that it claims") as error:
        answer(PRINTED, TWO_LEVELS, ledger, words, unsound=unsound)
    assert ledger.charges == ()
    assert not isinstance(words, SeededBits) or "unsound=True" in str(error.value)


def test_a_simulation_that_asks_for_it_may_study_it():
    ledger = Ledger(2, 9.0)
    assert answer(PRINTED, TWO_LEVELS, ledger, SeededBits(0), unsound=True).users == 2
    assert len(ledger.charges) == 1


@pytest.mark.parametrize(("plan", "users"), [(FEATURES, 3), (CLASS, 4)])
def test_the_control_is_charged_alike_and_knows_no_feature(plan, users):
    ledgers = Ledger(users, 1.0), Ledger(users, 1.0)
    one, other = (
        answer(plan, rows, ledger, SeededBits(0), blind=True)
        for rows, ledger in zip((HELD, 1 - HELD), ledgers, strict=True)
    )
    assert one == other
    assert ledgers[0].charges == ledgers[1].charges
    assert ledgers[0].spent.sum() == 3.0 and ledgers[0].total("features").epsilon == 1.0


@together(
    ("plan", "rows", "count"),
    [
        (FEATURES, [[0.0, 1.0, 2.0], [0.0, 0.0, 1.0], [-1.0, 5.0, 0.0]], 2),
        (FEATURES, np.eye(3), 0),
        (LABELS, [0, -1, 2, 3], 2),
        (NORMS, [[3.0, 4.0], [6.0, 8.0]], 1),
        (CLASS, [HELD[0], [0.5, 4.0, 0.5], HELD[2]], 1),
    ],
)
def test_the_owner_is_told_how_many_do_not_fit(plan, rows, count):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert look_over(plan, np.array(rows)) == count
    assert [one.category for one in told] == [ClippedWarning] * (count > 0)
    for one in told:
        assert re.search(f"^{count} rows do not fit.*tell nobody", str(one.message))


# A curator's mechanism


def test_no_user_answers_a_curator_s_mechanism_and_a_curator_s_charges_everybody():
    ledger = Ledger(4, 1.0)
    with pytest.raises(PrivacyError, match="lapgraph is a curator's mechanism"):
        answer(CURATED, LISTS, ledger)
    assert ledger.charges == ()
    with pytest.raises(InputError, match="lapgraph is a curator's mechanism: ask 'all' users"):
        Plan(mechanism="lapgraph", epsilon=1.0, dims=4, users=(0, 1, 2, 3))
    with pytest.raises(PrivacyError, match="nobody has declared a budget, so nobody answers"):
        Nobody().report(LABELS)
    ledger = Ledger(4, 1.5)
    reports = answer(CURATED, LISTS, ledger, SeededBits(1), curator=True)
    assert reports == CURATED.build().randomize(LISTS, SeededBits(1))
    assert ledger.remaining.tolist() == [0.5] * 4 and ledger.charges[0].users == 4
    # A second graph is an overdraft.
    with pytest.raises(BudgetError):
        answer(CURATED, LISTS, ledger, curator=True)


# The class that a public model gives

HOSTILE = {
    "zeros": np.zeros((3, 3)),
    "NaN": np.full((3, 3), np.nan),
    "out of range": np.full((3, 3), -1e300),
    "infinite": np.full((3, 3), np.inf),
    "words": np.array([["a", "b", None]] * 3, dtype=object),
    "bools": np.eye(3, dtype=bool),
    "single precision": HELD.astype(np.float32),
}


def test_a_class_is_computed_from_the_rows_and_answered_by_the_channel():
    ledger = Ledger(4, 1.0)
    reports = answer(CLASS, HELD, ledger, SeededBits(1))
    # By hand: scores of (2, 0), (1, 2) and (0, 1), in the users' own order.
    grid = np.floor(HELD * 255 + 0.5).astype(int)
    scores = grid @ np.array([[3, -1, 0], [0, 2, 1], [-2, 0, 4]]).T + [1, 0, -1]
    own = np.take_along_axis(scores, np.array([[2, 0], [1, 2], [0, 1]]), axis=1) + [[0, 1], [0, -4], [9, 0]]
    krr = Plan(mechanism="krr", epsilon=1.0, classes=2).build()
    assert reports.codes.tolist() == krr.randomize(own.argmax(axis=1), SeededBits(1)).codes.tolist()
    assert ledger.spent.tolist() == [1.0, 0.0, 1.0, 1.0]
    assert [(charge.of, charge.subject) for charge in ledger.charges] == [("class", "features")]
    # A second class is an overdraft.
    with pytest.raises(BudgetError):
        answer(CLASS.part([3]), HELD[:1], ledger)


@pytest.mark.parametrize("rows", HOSTILE.values(), ids=HOSTILE)
def test_any_row_answers_like_any_other_with_as_many_words(rows):
    random_bits, ledger = CountedBits(0), Ledger(4, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        reports = answer(CLASS, rows, ledger, random_bits)
    assert (random_bits.taken, reports.users, reports.codes.dtype) == (3, 3, np.dtype(np.uint8))
    assert len(reports.to_bytes()) == len(answer(CLASS, HELD, Ledger(4, 1.0), SeededBits(0)).to_bytes())
    assert ledger.spent.tolist() == [1.0, 0.0, 1.0, 1.0]


def test_forty_thousand_users_answer_in_seconds():
    users, chance = 40_000, np.random.default_rng(0)
    more = {"users": tuple(range(users)), "classes": 5, "dims": 200, "offsets": None}
    more["lists"] = np.argsort(chance.random((users, 9)), axis=1)[:, :5]
    more["model"] = {"kind": "linear", "weights": chance.integers(-99, 99, (9, 200)), "bias": [0] * 9}
    plan, rows = CLASS.model_copy(update=more), chance.random((users, 200), dtype=np.float32)
    assert answer(plan, rows, Ledger(users, 1.0), SeededBits(0)).users == users


# Users who are overheard answer as they would anyway


def test_listening_changes_no_answer_and_no_budget():
    _, users = load("town", seed=0)
    asked = Plan(mechanism="multibit", epsilon=1.0, dims=64, range=(0, 1))
    plain, listening = users.declare(3.0, seed=3), Recorder(users.declare(3.0, seed=3))
    assert listening.report(asked) == plain.report(asked)
    listening.report(Plan(mechanism="krr", epsilon=1.0, classes=4))
    listening.report(NORMS)
    assert [plan.subject for plan, _ in listening.heard] == ["features", "label", "features"]
    assert listening.answers == [reports for _, reports in listening.heard]
    with pytest.raises(BudgetError):
        listening.report(asked)
    assert len(listening.heard) == 3
