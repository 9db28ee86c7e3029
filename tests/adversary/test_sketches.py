"""What a hostile server tries with plans that ask for a sketch: values that are seen, seeds of one's own, bombs."""

import json
import math

import numpy as np
import pytest
from scipy.sparse import csr_array

import graphveil as gv
from graphveil.channels.sampling import RandomBits, SeededBits
from graphveil.errors import BudgetError, InputError
from graphveil.graphs import Users
from graphveil.mechanisms.limits import MAX_DIMS
from tests.adversary.test_limits import peak_of
from tests.together import each as each_of

INPUTS, DIMS = 6, 2
ASK = {
    "mechanism": "privunit",
    "epsilon": 1.0,
    "dims": DIMS,
    "range": (0, 1),
    "options": {"inputs": INPUTS, "hash_seed": 3, "centre": 0.5},
}
ODD = [0.0, 1.0, 0.5, -0.0, -3.0, 7.0, 1e-320, -1e308, 1e308, 1.7e308, math.nan, math.inf, -math.inf]
# Ranges that a server may send: usual, huge, tiny, far from 0.
RANGES = [(0.0, 1.0), (-8e307, 8e307), (0.0, 1.7e308), (0.0, 1e-300), (1e15, 1e15 + 2)]


class Counting(RandomBits):
    """Seeded words that are counted."""

    def __init__(self, seed=1):
        self.source, self.taken = SeededBits(seed), []

    def take(self, count):
        self.taken.append(count)
        return self.source.take(count)


def asking(**more):
    return gv.Plan(**{**ASK, **more})


def ranged(ends, dims=DIMS, centre=None):
    options = {"inputs": INPUTS, "hash_seed": 3} | ({} if centre is None else {"centre": centre})
    return asking(range=ends, dims=dims, options=options)


def rows_of(value):
    """Rows that are full of a value, that hold it once, and that hold it with both signs."""
    yield np.full((1, INPUTS), value)
    yield np.where(np.eye(1, INPUTS), value, 0.0)
    yield np.where(np.arange(INPUTS) % 2, value, -value)[None, :]


# Whether a client answers, and how


@pytest.mark.parametrize("dims", [1, DIMS, INPUTS])
@pytest.mark.parametrize("ends", RANGES, ids=str)
def test_every_row_is_answered_in_silence_with_the_same_words_and_charged_alike(ends, dims):
    """Warnings are errors here."""
    plan, seen = ranged(ends, dims), set()
    for value in ODD:
        for row in rows_of(value):
            for kind in (np.asarray, csr_array, lambda rows: rows.astype(object)):
                random_bits, ledger = Counting(), gv.Ledger(users=1, epsilon=9.0)
                reports = gv.answer(plan, kind(row), ledger, random_bits)
                seen.add((tuple(random_bits.taken), len(reports.to_bytes()), tuple(ledger.spent)))
    assert len(seen) == 1


def test_explicit_zeros_of_a_sparse_row_are_not_seen():
    row = np.array([[0, 1, 0, 0, 0.5, 0]])
    explicit = csr_array((row.ravel(), np.arange(INPUTS), [0, INPUTS]), shape=row.shape)
    answered = [
        gv.answer(asking(), each, gv.Ledger(1, 1.0), SeededBits(2)).to_bytes()
        for each in (row, csr_array(row), explicit)
    ]
    assert len(set(answered)) == 1


@pytest.mark.parametrize("value", [None, "seven", "1", 10**400, b"x", [1]], ids=repr)
def test_what_is_no_number_is_answered_too(value):
    row = np.empty((1, INPUTS), dtype=object)
    row[:] = 1
    row[0, 2] = value
    random_bits = Counting()
    assert gv.answer(asking(), row, gv.Ledger(users=1, epsilon=1.0), random_bits).users == 1
    usual = Counting()
    gv.answer(asking(), np.zeros((1, INPUTS)), gv.Ledger(users=1, epsilon=1.0), usual)
    assert random_bits.taken == usual.taken


def test_no_report_of_an_odd_row_is_out_of_the_ordinary():
    """Infinities and huge values are drawn like all others: their codes lie around the middle as everybody's do."""
    plan = ranged((0.0, 1.7e308), dims=1, centre=0.0)
    rows = np.repeat(np.full((1, INPUTS), math.inf), 500, axis=0)
    codes = gv.answer(plan, rows, gv.Ledger(500, 1.0), SeededBits(1)).codes.astype(int)
    # Ten standard deviations of 2^10 codes each, around 2^15.
    assert np.abs(codes - 2**15).max() < 10 * 2**10
    assert len(np.unique(codes)) > 400


# What a seed for each user allows


def test_another_seed_is_no_second_answer_and_a_seed_for_each_user_costs_epsilon_once():
    users = Users(np.random.default_rng(0).random((4, INPUTS)), np.arange(4) % 2).declare(1.0)
    users.report(asking())
    for seed in (4, 5):
        with pytest.raises(BudgetError):
            users.report(asking(round=2, options={"inputs": INPUTS, "hash_seed": seed, "centre": 0.5}))
    ledger = gv.Ledger(4, 1.0)
    people = Users(np.random.default_rng(0).random((4, INPUTS)), np.arange(4) % 2).answering(ledger)
    for user in range(4):
        people.report(asking(users=(user,), options={"inputs": INPUTS, "hash_seed": 100 + user}))
    assert ledger.spent.tolist() == [1.0] * 4
    assert ledger.total("features").epsilon == 1.0


def test_a_report_follows_from_the_sketch_alone_so_that_no_seed_can_raise_its_epsilon():
    """Rows with one sketch give one report, whatever else differs in them; and all sketches lie on one sphere, whose ε is the
    same for every seed. A server that chooses the seed chooses what it asks, and pays ε for it.
    """
    for seed in range(20):
        plan = asking(options={"inputs": INPUTS, "hash_seed": seed, "centre": 0.5})
        built = plan.build()
        row = np.random.default_rng(seed).random((1, INPUTS))
        # Moved towards the centre, sums shrink together, and their direction stays.
        nearer = 0.5 + (row - 0.5) / 4
        first, second = (built.randomize(each, SeededBits(seed)).codes for each in (row, nearer))
        assert first.tolist() == second.tolist()
        assert (
            built.epsilon
            == gv.Plan(mechanism="privunit", epsilon=1.0, dims=DIMS, options={"radius": 1.0}).build().epsilon
        )


def test_a_seed_that_makes_values_cancel_hides_them_and_tells_nothing_more():
    """A row whose sums are all 0 is answered like the centre, with as many words."""
    plan = asking(dims=1, options={"inputs": 2, "hash_seed": 0, "centre": 0.0})
    signs = plan.build().sketch.signs
    row = np.array([[0.5, 0.5 if signs[0] != signs[1] else 0.0]]) * (signs[0] != signs[1])
    random_bits, usual = Counting(), Counting()
    first = gv.answer(plan, row, gv.Ledger(1, 1.0), random_bits)
    second = gv.answer(plan, np.zeros((1, 2)), gv.Ledger(1, 1.0), usual)
    assert (first.codes.tolist(), random_bits.taken) == (second.codes.tolist(), usual.taken)


# What is refused


def test_a_false_plan_from_the_network_is_refused_in_one_line():
    wrong = {
        "inputs": [10**400, 10**9, MAX_DIMS + 1, -1, True, "6", [6], {"6": 6}, 6.5],
        "hash_seed": [2**53, -1, 10**400, "0", [0, 1]],
        "centre": [1e308, 10**400, [0.5] * 6, "0.5", True],
        "seed": [3],
        "radius": [1.0],
    }
    hostile = [{"inputs": 6, name: value} for name, values in wrong.items() for value in values]

    def check(options):
        with pytest.raises(InputError) as error:
            gv.Plan.from_json(json.dumps({**ASK, "options": options}))
        assert "\n" not in str(error.value) and len(str(error.value)) < 1000

    each_of([*hostile, {"hash_seed": 3}, {"centre": 0.5}], check)


def test_a_bomb_is_refused_before_anything_is_allocated_and_the_largest_sketch_is_served():
    def bomb():
        with pytest.raises(InputError):
            gv.Plan(**{**ASK, "options": {"inputs": 10**12}})

    plan = asking(options={"inputs": MAX_DIMS, "hash_seed": 1})
    row = csr_array(([1.0], ([0], [MAX_DIMS - 1])), shape=(1, MAX_DIMS))
    assert peak_of(bomb) < 10 << 20
    assert peak_of(lambda: gv.answer(plan, row, gv.Ledger(1, 1.0), SeededBits(0))) < 300 << 20


# What errors hold

SECRET = 0.123456789


def frames_of(error):
    trace = error.__traceback__
    while trace is not None:
        yield trace.tb_frame
        trace = trace.tb_next


def holds(value, depth=0):
    """Whether the secret row can be reached from a local variable without going through an object of the caller's."""
    if isinstance(value, np.ndarray):
        return value.dtype.kind == "f" and bool(np.isclose(value, SECRET).any())
    if hasattr(value, "tocsr"):
        return holds(value.data, depth)
    if isinstance(value, (list, tuple)) and depth < 3:
        return any(holds(each, depth + 1) for each in value)
    return isinstance(value, float) and math.isclose(value, SECRET)


@pytest.mark.parametrize("inputs", [INPUTS - 1, INPUTS + 1])
@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_a_plan_for_rows_of_another_length_is_refused_by_shapes_alone(kind, inputs):
    people = Users(kind(np.full((5, INPUTS), SECRET)), np.arange(5) % 2).declare(1.0)
    with pytest.raises(InputError) as error:
        people.report(asking(options={"inputs": inputs}))
    assert "0.123" not in str(error.value)
    inner = [frame for frame in frames_of(error.value) if "graphveil" in frame.f_globals.get("__name__", "")]
    assert not [
        (frame.f_code.co_name, name)
        for frame in inner
        for name, value in frame.f_locals.items()
        if holds(value)
    ]


def test_an_error_about_a_length_is_the_same_whatever_is_held_and_costs_nothing():
    said, ledger = set(), gv.Ledger(1, 1.0)
    for value in (0.0, SECRET, math.nan, 1e308):
        with pytest.raises(InputError) as error:
            gv.answer(asking(options={"inputs": 7}), np.full((1, INPUTS), value), ledger)
        said.add(str(error.value))
    assert len(said) == 1
    assert ledger.spent.tolist() == [0.0]
