"""What a hostile reader tried on the seam itself: false plans, shared memory, tracebacks, late mechanisms, bombs."""

import json
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from torch_geometric.data import Data

import graphveil as gv
from graphveil.errors import BudgetError, InputError, PrivacyError
from graphveil.experiments.experiment import Experiment
from graphveil.experiments.unit import RunUnit, open_unit
from graphveil.graphs import Users, hold_out_links
from graphveil.mechanisms import register
from graphveil.mechanisms.registry import unregister
from graphveil.methods import METHODS
from tests.refusals import check_refused

ROWS = np.random.default_rng(0).random((20, 4))
ASK = {"mechanism": "multibit", "epsilon": 1.0, "dims": 4, "range": (0, 1)}


def people():
    return Users(ROWS, np.arange(20) % 2)


class Free:
    """Looks like a plan, claims nothing, and hands the rows out."""

    mechanism, subject, users, of, round, dims = "krr", "features", "all", "values", 1, 6
    holds, claim = True, gv.Claim(0.0)
    epsilon = 0.0

    def checked(self):
        return self

    def build(self):
        return self

    def count(self, rows):
        return len(rows)

    def randomize(self, rows, random_bits):
        return rows


def test_what_only_looks_like_a_plan_is_refused():
    asks = [
        people().declare(0.0).report,
        lambda plan: gv.answer(plan, ROWS, gv.Ledger(20, 0.0)),
        gv.Ledger(20, 0.0).charge,
    ]
    check_refused(lambda ask: ask(Free()), [(ask, "a plan must be a Plan, got Free") for ask in asks])


def test_a_plan_has_no_say_in_its_own_check():
    class Own(gv.Plan):
        @staticmethod
        def checked(plan):
            return Free()

    tampered = gv.Plan(**ASK)
    vars(tampered)["checked"] = lambda: Free()
    for plan in (Own(**ASK), tampered):
        with pytest.raises(BudgetError):
            people().declare(0.5).report(plan)
        assert people().declare(1.0).report(plan).users == 20


def test_known_links_bring_no_test_links_along_and_the_order_of_test_pairs_tells_nothing():
    graph, users = hold_out_links(*gv.load("town", seed=0, users=160), seed=0)
    for part in (graph.links.train, graph.links.validation):
        assert part.linked.base is None and part.unlinked.base is None
    seen = []

    def score(pairs):
        seen.append(pairs)
        return np.zeros(len(pairs))

    users.evaluate_links(score, graph)
    assert seen[0].tolist() == sorted(seen[0].tolist())


@pytest.mark.parametrize("name", METHODS.own())
def test_a_method_s_own_code_never_sees_private_labels_or_links(name, monkeypatch):
    method = METHODS.find(name)
    seen = []
    original = type(method).questions

    def watching(self, job):
        seen.append((bool((job.graph.labels >= 0).any()), job.graph.edge_count))
        return original(self, job)

    monkeypatch.setattr(type(method), "questions", watching)
    epsilon = 1.0 if method.can.asks else None
    options = {"label_epsilon": 1.0, "link_epsilon": 4.0, "data_options": {"users": 160}}
    open_unit(RunUnit(Experiment.of(name, "town", epsilon=epsilon, runs=1, **options)))
    assert seen
    assert not any(labels for labels, _ in seen)
    assert all(edges == 0 for _, edges in seen)


def test_a_table_cannot_be_written_to():
    channel = gv.Plan(**ASK).build().channels[0]
    for array in (channel.table, channel.inputs, channel.outputs):
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.setflags(write=True)


def test_a_mechanism_that_is_registered_later_is_not_answered():
    asked = people().declare(1.0, seed=0)

    def build(epsilon, dims, range):
        return gv.mechanism("multibit", epsilon=epsilon, dims=dims, range=range)

    register("late", summary="-")(build)
    try:
        plan = gv.Plan(**{**ASK, "mechanism": "late"})
        with pytest.raises(PrivacyError, match="register late first, before users declare"):
            asked.report(plan)
        assert people().declare(1.0, seed=0).report(plan).users == 20
    finally:
        unregister("late")


def test_a_refusal_does_not_carry_rows_in_its_traceback():
    try:
        people().declare(0.5).report(gv.Plan(**ASK))
    except BudgetError:
        trace = sys.exc_info()[2]
    held = []
    while trace is not None:
        held += list(trace.tb_frame.f_locals)
        trace = trace.tb_next
    assert "private" not in held


def test_a_matrix_of_links_is_no_list_of_anybody():
    plan = gv.Plan(mechanism="link-rr", epsilon=1.0, dims=4)
    ledger = gv.Ledger(4, 1.0)
    with pytest.raises(InputError, match="links are answered from NeighbourLists"):
        gv.answer(plan, np.eye(4)[::-1], ledger)
    assert not ledger.charges


def test_plans_to_nobody_leave_no_trace_in_the_books():
    ledger = gv.Ledger(4, 0.0)
    gv.answer(gv.Plan(**ASK, users=()), np.zeros((0, 4)), ledger)
    assert ledger.total().epsilon == 0.0 and not ledger.charges


def test_threads_get_one_answer_of_a_transform():
    data = Data(x=torch.rand(200, 4), edge_index=torch.zeros((2, 0), dtype=torch.long))
    transform = gv.pyg.Privatize("laplace", epsilon=1.0, range=(0, 1), scaled=False)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: transform(data).x, range(8)))
    assert all(torch.equal(answers[0], other) for other in answers)
    with pytest.raises(AttributeError):
        transform.graphs = 100


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16, torch.int32])
def test_a_transform_takes_every_kind_of_number(kind):
    data = Data(x=torch.ones(3, 4).to(kind), edge_index=torch.zeros((2, 0), dtype=torch.long))
    assert gv.pyg.Privatize("multibit", epsilon=1.0, range=(0, 1))(data).x.shape == (3, 4)
    with pytest.raises(InputError, match="nodes x features"):
        gv.pyg.Privatize("multibit", epsilon=1.0, range=(0, 1))(Data(x=torch.ones(3)))


ODD = [[2], (1,), np.array([2.0]), range(3), b"\xff", np.ma.masked, "w" * 10_000, {}, None, object()]


@pytest.mark.parametrize("value", ODD, ids=lambda value: type(value).__name__)
def test_what_stands_in_a_list_of_values_decides_nothing(value):
    row, ledger = [1, "word", value, 0], gv.Ledger(1, 3.0)
    assert gv.answer(gv.Plan(**ASK), [row], ledger).users == 1
    assert gv.answer(gv.Plan(mechanism="krr", epsilon=1.0, classes=2), [value], ledger).users == 1
    assert gv.answer(gv.Plan(mechanism="esw", epsilon=1.0, levels=2), [value], ledger).users == 1


def test_a_masked_value_is_answered_like_one_that_is_missing():
    hidden = np.ma.masked_array([[0.0, 1.0, 1.0, 0.0]], mask=[[0, 1, 0, 0]])
    missing = np.array([[0.0, np.nan, 1.0, 0.0]])
    mechanism = gv.mechanism("onebit", epsilon=1.0, dims=4, range=(0, 1))
    assert mechanism.randomize(hidden, gv.SeededBits(0)) == mechanism.randomize(missing, gv.SeededBits(0))


@pytest.mark.parametrize("name", ["multibit", "laplace", "privunit", "item"])
def test_columns_that_are_not_there_are_passed_over(name):
    sparse = csr_array(np.eye(2, 4))
    sparse.indices[1] = 9
    more = {"length": 2} if name == "item" else {}
    mechanism = gv.mechanism(name, epsilon=1.0, dims=4, range=(0, 1), **more)
    expected = mechanism.randomize(np.array([[1.0, 0, 0, 0], [0, 0, 0, 0]]), gv.SeededBits(0))
    assert mechanism.randomize(sparse, gv.SeededBits(0)) == expected


@pytest.mark.parametrize("pointers", [[0, 3], [1, 2], [0, 1, 2], [0, -1], [0]])
def test_lists_whose_pointers_lead_nowhere_cannot_be_made(pointers):
    with pytest.raises(InputError, match="row pointers must lead"):
        gv.mechanisms.NeighbourLists(np.array([1]), np.array(pointers), np.array([0, 1]))


BOMBS = {
    "users": {"users": [""] * 1_000_000},
    "keys": {f"k{number}": 1 for number in range(100_000)},
    "range": {"range": [0] * 1_000_000},
    "name": {"mechanism": "m" * 1_000_000},
    "pool": {"options": {"pool": [0] * 3_000_000}},
    "nested": {"options": {"pool": [[[[0]]]] * 500_000}},
    "options": {"options": {f"k{number}": 1 for number in range(100_000)}},
    "round": {"round": 10**300},
    "sampled": {"dims": 1 << 20, "sampled": 1 << 19},
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_plan_that_is_a_bomb_is_refused_in_few_words(name):
    text = json.dumps({**ASK, **BOMBS[name]})
    with pytest.raises(InputError) as refused:
        gv.Plan.from_json(text)
    assert len(str(refused.value)) < 1000
    assert str(refused.value).count("the plan cannot be served") == 1
