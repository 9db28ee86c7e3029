"""veil as a whole: who answers what and how often, where its model comes from, what it falls back to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest

from graphveil.errors import BudgetError, InputError
from graphveil.graphs import Graph, Users, from_arrays, load
from graphveil.graphs.panel import Panel, with_panel
from graphveil.methods import METHODS, Job, veil
from graphveil.methods.check import UnaskedUsers
from graphveil.methods.job import public_part
from graphveil.methods.method import with_questions
from graphveil.methods.tasks import LINK, Outcome
from graphveil.methods.veil import teaching_users
from graphveil.privacy import Ledger, Nobody, Plan
from graphveil.privacy.answering import Recorder
from graphveil.privacy.record import privacy_record
from tests.refusals import not_refused

METHOD = METHODS.find("veil")
STRUCTURE = METHODS.find("structure")
QUICK = {"epochs": 3, "hidden": 8}
SMALL = {"labelled": 0.05, "validated": 0.25, "neighbourhood": 20, "degree": 8.0}
VOLUNTEERS = 40


@cache
def town(users=800, seed=0, features=16, **more):
    """A town of small neighbourhoods, of which many have nobody who is labelled, and with many who validate."""
    return load("town", seed, users=users, features=features, **SMALL, **more)


@cache
def empty_handed(users=800, seed=0):
    """The same, but nobody's interests tell anything."""
    return load("town", seed, users=users, features=16, often=0.1, rarely=0.1, **SMALL)


def job_of(graph, users, *, settings=None, seed=0, epsilon=4.0, blind=False, who=None, **options):
    """A short job, and its users' books with just the budget that veil says it needs."""
    public = public_part(
        graph,
        private_labels="label_epsilon" in options,
        private_links="link_epsilon" in options,
    )
    chosen = METHOD.settings.of({**QUICK, **(settings or {})})
    terms = {"epsilon": epsilon, "mechanism": METHOD.mechanism, **options}
    job = with_questions(METHOD, Job.of(public, Nobody(), chosen, seed, **terms))
    ledger = job.questions.open_ledger(users)
    return replace(job, users=users.answering(ledger, seed=seed, blind=blind, who=who)), ledger


def run(graph, users, **options):
    job, ledger = job_of(graph, users, **options)
    return METHOD.run(job), ledger


class Listening(Recorder):
    """Users who answer as usual while what they are asked is written down."""

    def __init__(self, users):
        super().__init__(users)
        self.plans = []

    def report(self, plan):
        self.plans.append(plan)
        return super().report(plan)


def plans_of(graph, users, **options):
    """What was asked, in this order."""
    job, _ = job_of(graph, users, **options)
    listener = Listening(job.users)
    METHOD.run(replace(job, users=listener))
    return listener.plans


@dataclass(frozen=True)
class Run:
    """A run that several tests look at, and where it was."""

    graph: Graph
    users: Users
    outcome: Outcome
    ledger: Ledger
    plans: list[Plan]


@cache
def run_in(place, volunteers=0, asked=None, **options):
    """A run with so many volunteers, in which so large a share is asked."""
    graph, users = place()
    if volunteers:
        graph = with_panel(graph, users, volunteers, seed=0)
    job, ledger = job_of(graph, users, settings={"asked": asked} if asked else None, **options)
    listener = Listening(job.users)
    return Run(graph, users, METHOD.run(replace(job, users=listener)), ledger, listener.plans)


@cache
def structure_score(seed=0):
    """How good the town's graph alone is."""
    graph, users = town(seed=seed)
    job = Job.of(graph, Nobody(), STRUCTURE.settings.of(QUICK), seed)
    return users.evaluate(STRUCTURE.run(job).scores, graph)


def with_volunteers(graph, users, who):
    return replace(graph, panel=Panel(np.sort(who), users.raw.features[np.sort(who)]))


# Everybody answers at most once


@pytest.mark.parametrize("epsilon", [1.0, 2.0, 4.0])
def test_everybody_answers_once_where_some_of_them_teach(epsilon):
    ledger = run_in(town, epsilon=epsilon).ledger
    assert ledger.spent.tolist() == [epsilon] * 800
    assert ledger.total("features").epsilon == epsilon


def test_nobody_is_asked_twice_for_anything_about_features():
    times = np.zeros(800, dtype=int)
    for plan in run_in(town, epsilon=4.0).plans:
        assert plan.subject == "features"
        times[list(plan.users)] += 1
    assert times.max() == 1


def test_who_teaches_is_asked_for_no_class():
    first, second = run_in(town, epsilon=4.0).plans
    assert (first.of, first.mechanism, second.of, second.mechanism) == ("values", "privunit", "class", "krr")
    assert not set(first.users) & set(second.users)
    assert (first.round, second.round) == (1, 2)


def test_groups_that_overlap_are_refused_by_the_books(monkeypatch):
    """One of those who have taught is asked for a class too: there is no budget left for that."""
    own = veil.asked_users

    def greedy(job, known, teachers, about):
        return np.union1d(own(job, known, teachers, about), teachers[:1])

    monkeypatch.setattr(veil, "asked_users", greedy)
    with pytest.raises(BudgetError):
        run(*town())


def test_a_budget_for_labels_pays_for_no_second_answer_about_features(monkeypatch):
    """Of those who teach, one who has no label to report is asked for a class too."""
    own = veil.asked_users

    def greedy(job, known, teachers, about):
        unlabelled = [user for user in teachers if not job.graph.train[user]]
        return np.union1d(own(job, known, teachers, about), unlabelled[:1])

    monkeypatch.setattr(veil, "asked_users", greedy)
    with pytest.raises(BudgetError):
        run(*town(), label_epsilon=5.0)


def test_a_teacher_who_is_asked_although_nobody_says_so_is_refused_by_the_books(monkeypatch):
    """The list of those who teach is one user shorter than the plan that they answered."""
    taught = veil._taught

    def forgetful(job, known):
        model, teachers = taught(job, known)
        last = [user for user in teachers if not job.graph.train[user]][-1]
        return model, teachers[teachers != last]

    monkeypatch.setattr(veil, "_taught", forgetful)
    with pytest.raises(BudgetError):
        run(*town(), settings={"teachers": 0.6})


def test_a_little_less_than_the_budget_does_not_do():
    graph, users = town()
    job, _ = job_of(graph, users)
    with pytest.raises(BudgetError):
        METHOD.run(replace(job, users=users.declare(3.999, seed=0)))


def test_volunteers_are_never_asked_about_their_features():
    found = run_in(town, VOLUNTEERS)
    assert not found.ledger.spent[found.graph.panel.users].any()
    # Labels of training users are public: they are not asked either.
    assert found.ledger.spent.tolist() == np.where(found.graph.train, 0.0, 4.0).tolist()


def test_volunteers_may_be_test_users():
    graph, users = town()
    graph = with_volunteers(graph, users, np.flatnonzero(graph.test)[:80])
    outcome, ledger = run(graph, users)
    assert np.isfinite(outcome.scores).all()
    assert not ledger.spent[graph.panel.users].any()


def test_a_share_is_asked_the_least_certain_first():
    graph, (plan,) = town()[0], run_in(town, VOLUNTEERS, 0.5).plans
    asked = np.isin(np.arange(800), plan.users)
    assert asked[graph.validation].all()
    assert 0 < asked[graph.test].sum() < graph.test.sum()
    assert not asked[graph.train].any()


def test_who_is_not_asked_spends_nothing():
    found = run_in(town, VOLUNTEERS, 0.5)
    (plan,) = found.plans
    assert np.flatnonzero(found.ledger.spent).tolist() == sorted(plan.users)


def test_where_nobody_may_be_asked_nobody_is():
    graph, users = town()
    graph = with_panel(graph, users, VOLUNTEERS, seed=0)
    job, _ = job_of(graph, users, unasked=True)
    assert np.isfinite(METHOD.run(replace(job, users=UnaskedUsers())).scores).all()


def test_where_nobody_may_be_asked_volunteers_who_are_tested_still_count():
    """Their own rows tell their class: with nobody's answers they do better than the graph alone."""
    graph, users = town(users=1000)
    who = np.flatnonzero(graph.test)[:200]
    graph = with_volunteers(graph, users, who)
    job, _ = job_of(graph, users, unasked=True)
    found = METHOD.run(replace(job, users=UnaskedUsers())).scores.argmax(axis=1)
    right = users.raw.labels[who] == found[who]
    alone = STRUCTURE.run(Job.of(graph, Nobody(), STRUCTURE.settings.of(QUICK), 0)).scores.argmax(axis=1)
    assert right.mean() > (users.raw.labels[who] == alone[who]).mean()


# Who teaches


def test_training_users_teach_first_and_validation_users_never():
    graph, _ = town()
    prior = np.full((800, 4), 0.25)
    found = teaching_users(graph, prior, 0.5, 0)
    assert graph.train[found].sum() == graph.train.sum()
    assert not graph.validation[found].any()
    assert len(found) == 400


def test_the_most_certain_others_teach():
    graph, _ = town()
    prior = np.full((800, 4), 0.25)
    sure = np.flatnonzero(graph.test)[-5:]
    prior[sure] = [1, 0, 0, 0]
    found = teaching_users(graph, prior, (graph.train.sum() + 5) / 800, 0)
    assert set(found) - set(np.flatnonzero(graph.train)) == set(sure)


def test_of_many_who_are_nearly_certain_a_seed_draws_who_teaches():
    graph, _ = town()
    prior = np.full((800, 4), 0.25)
    sure = np.flatnonzero(graph.test)[:200]
    prior[sure] = [0.9, 0.1, 0, 0]
    share = (graph.train.sum() + 50) / 800
    found = [
        set(teaching_users(graph, prior, share, seed)) - set(np.flatnonzero(graph.train))
        for seed in (0, 0, 1)
    ]
    assert all(drawn <= set(sure) and len(drawn) == 50 for drawn in found)
    assert found[0] == found[1] != found[2]


def test_at_small_budgets_as_many_teach_of_each_class():
    """Of a rare class all who are likely enough teach, and of the others as many of each; who they are is drawn."""
    graph, _ = town()
    free = np.flatnonzero(graph.test)
    likely = np.full(800, -1)
    likely[free[:300]], likely[free[300:400]], likely[free[400:410]] = 0, 1, 2
    prior = np.full((800, 4), 0.25)
    for label in range(3):
        prior[likely == label] = [0.85 if each == label else 0.05 for each in range(4)]
    share = (graph.train.sum() + 130) / 800
    found = [
        set(teaching_users(graph, prior, share, seed, even=True)) - set(np.flatnonzero(graph.train))
        for seed in (0, 0, 1)
    ]
    for drawn in found:
        assert [int((likely[list(drawn)] == label).sum()) for label in (-1, 0, 1, 2)] == [0, 60, 60, 10]
    assert found[0] == found[1] != found[2]


def test_where_few_are_likely_enough_the_most_certain_teach_at_small_budgets_too():
    graph, _ = town()
    prior = np.full((800, 4), 0.25)
    sure = np.flatnonzero(graph.test)[-5:]
    prior[sure] = [1, 0, 0, 0]
    found = teaching_users(graph, prior, (graph.train.sum() + 5) / 800, 0, even=True)
    assert set(found) - set(np.flatnonzero(graph.train)) == set(sure)


@pytest.mark.parametrize(
    ("epsilon", "mechanism", "even", "drawn"),
    [
        (2.0, "privunit", True, True),
        (2.5, "privunit", False, True),
        (2.0, "multibit", True, False),
        (2.5, "multibit", False, True),
    ],
)
def test_who_teaches_depends_on_the_budget_and_the_mechanism(epsilon, mechanism, even, drawn, monkeypatch):
    seen = []

    def teaching(*given, **more):
        seen.append((more["even"], given[3] is not None))
        return teaching_users(*given, **more)

    monkeypatch.setattr(veil, "teaching_users", teaching)
    graph, users = town()
    _, ledger = run(graph, users, epsilon=epsilon, mechanism=mechanism)
    assert seen == [(even, drawn)]
    assert ledger.spent.tolist() == [epsilon] * 800
    assert ledger.total("features").epsilon == epsilon


def test_a_smaller_share_leaves_training_users_all_the_same():
    graph, _ = town()
    assert (
        teaching_users(graph, np.full((800, 4), 0.25), 0.01, 0).tolist()
        == np.flatnonzero(graph.train).tolist()
    )


# What it learns


def test_in_a_town_it_beats_the_graph():
    found = run_in(town, epsilon=4.0)
    assert found.outcome.also["answers_used"] == 1
    assert found.users.evaluate(found.outcome.scores, found.graph) > structure_score() + 0.03


def test_with_volunteers_it_beats_the_graph():
    graph, users = town()
    outcome, _ = run(with_volunteers(graph, users, np.arange(0, 800, 5)), users)
    assert users.evaluate(outcome.scores, graph) > structure_score() + 0.03


@pytest.mark.parametrize("seed", range(3))
def test_the_control_gains_nothing(seed):
    """Blinded answers: at most a few test users more are right than by the graph alone."""
    graph, users = town(seed=seed)
    outcome, _ = run(graph, users, seed=seed, blind=True)
    # Four standard errors of a difference in which one in ten predictions differs.
    noise = 4 * np.sqrt(0.1 / graph.test.sum())
    assert users.evaluate(outcome.scores, graph) < structure_score(seed) + noise


def test_where_answers_do_not_help_scores_are_those_of_structure():
    graph, users = empty_handed()
    outcome, _ = run(graph, users, epsilon=1.0)
    assert outcome.also["answers_used"] == 0
    alone = STRUCTURE.run(Job.of(graph, Nobody(), STRUCTURE.settings.of(QUICK), 0))
    assert np.array_equal(outcome.scores, alone.scores)
    assert outcome.detail.endswith("answers were not clearly better")


def test_the_same_seed_gives_the_same():
    first, second = run_in(town, epsilon=4.0).outcome, run(*town())[0]
    assert np.array_equal(first.scores, second.scores)
    assert first.also == second.also


def test_another_seed_hashes_otherwise():
    first, second = run_in(town, epsilon=4.0).plans[0], plans_of(*town(), seed=1)[0]
    assert first.options["hash_seed"] != second.options["hash_seed"]


def test_the_coins_do_not_follow_from_what_users_hold():
    graph, users = town()
    other = type(users)(1 - users.raw.features, users.raw.labels, neighbours=users.raw.neighbours)
    assert run_in(town, epsilon=4.0).plans[0] == plans_of(graph, other)[0]


@pytest.mark.parametrize("mechanism", ["multibit", "piecewise"])
def test_finite_mechanisms_teach_too(mechanism):
    found = run_in(town, mechanism=mechanism)
    assert found.ledger.spent.tolist() == [4.0] * 800
    assert found.users.evaluate(found.outcome.scores, found.graph) >= structure_score()
    assert all(charge.built.finite for charge in found.ledger.charges)
    # Nothing of it is ideal.
    assert privacy_record(found.ledger).ideal == []


def test_a_sketch_may_have_fewer_numbers():
    assert plans_of(*town(), settings={"sketch": 5})[0].dims == 5


def test_a_sketch_has_no_more_numbers_than_there_are_features():
    assert run_in(town, epsilon=4.0).plans[0].dims == 16


@pytest.mark.parametrize(("epsilon", "count", "offsets"), [(1.0, 2, False), (2.0, 3, False), (4.0, 5, True)])
def test_how_many_classes_are_left_open_follows_from_the_budget(epsilon, count, offsets):
    plan = plans_of(*town(kinds=6), epsilon=epsilon)[1]
    assert (plan.classes, plan.offsets is not None) == (count, offsets)


@pytest.mark.parametrize("epsilon", [1.0, 2.0, 4.0])
def test_of_four_classes_all_are_left_open(epsilon):
    assert run_in(town, epsilon=epsilon).plans[1].classes == 4


def test_how_many_classes_are_left_open_can_be_said():
    assert plans_of(*town(), settings={"open": 2})[1].classes == 2


# Users who are silent, labels and links that are private


def test_nothing_of_silent_users_is_known_and_they_are_charged():
    graph, users = town()
    who = np.arange(800) % 3 != 0
    outcome, ledger = run(graph, users, who=who)
    assert np.isfinite(outcome.scores).all()
    assert ledger.spent.tolist() == [4.0] * 800


def test_where_nobody_answers_it_is_structure():
    graph, users = town()
    outcome, _ = run(graph, users, who=np.zeros(800, dtype=bool))
    alone = STRUCTURE.run(Job.of(graph, Nobody(), STRUCTURE.settings.of(QUICK), 0))
    assert np.array_equal(outcome.scores, alone.scores)


def test_private_labels_are_paid_for_besides():
    graph, users = town()
    outcome, ledger = run(graph, users, label_epsilon=2.0)
    labelled = graph.train | graph.validation
    assert ledger.spent.tolist() == np.where(labelled, 6.0, 4.0).tolist()
    assert users.evaluate(outcome.scores, graph) > 0.4


def test_training_users_with_private_labels_are_asked_for_a_class_where_they_do_not_teach():
    graph, users = town()
    _, ledger = run(with_panel(graph, users, VOLUNTEERS, seed=0), users, label_epsilon=2.0)
    others = graph.train.copy()
    others[with_panel(graph, users, VOLUNTEERS, seed=0).panel.users] = False
    assert (ledger.spent[others] == 6.0).all()


def test_private_links_are_paid_for_besides():
    graph, users = town(400)
    outcome, ledger = run(graph, users, link_epsilon=6.0)
    assert np.isfinite(outcome.scores).all()
    assert ledger.total("links").epsilon == 6.0
    assert ledger.total("features").epsilon == 4.0


# What rows tell of neighbours


@cache
def minefield(side=30, seed=0):
    """A grid of 8 neighbours each: a fifth are mines, at random; a row says how many of the neighbours are, for four of five."""
    random = np.random.default_rng(seed)
    count = side * side
    mines = (random.random(count) < 0.2).astype(np.int64)
    numbers = np.arange(count).reshape(side, side)
    pairs = np.concatenate(
        [
            np.stack([one.ravel(), other.ravel()], axis=1)
            for one, other in (
                (numbers[:, :-1], numbers[:, 1:]),
                (numbers[:-1], numbers[1:]),
                (numbers[:-1, :-1], numbers[1:, 1:]),
                (numbers[:-1, 1:], numbers[1:, :-1]),
            )
        ]
    )
    near = np.bincount(pairs.ravel(), mines[pairs[:, ::-1]].ravel(), minlength=count).astype(int)
    rows = np.eye(10)[np.where(random.random(count) < 0.2, 9, near)]
    return from_arrays(
        pairs, rows, mines, range=(0, 1), binary=True, metric="roc_auc", name="minefield", seed=seed
    )


def test_rows_that_tell_of_neighbours_are_found_out_and_asked_about():
    found = run_in(minefield, 200)
    assert found.users.evaluate(found.outcome.scores, found.graph) > 0.65
    assert found.ledger.total("features").epsilon == 4.0


def test_training_users_are_asked_about_their_neighbours():
    found = run_in(minefield, 200)
    graph, (plan,) = found.graph, found.plans
    others = np.setdiff1d(np.arange(graph.node_count), graph.panel.users)
    assert sorted(plan.users) == others.tolist()


def test_a_rare_class_is_not_everybody_s_answer_where_neighbours_are_asked_about():
    """Some know of more mines than the graph expects, and some of fewer."""
    found = run_in(minefield, 200)
    (plan,) = found.plans
    asked = np.array(plan.users)
    rows = found.users.raw.features[asked]
    said = plan.lists.array[np.arange(len(asked)), plan.build().places_of(rows)]
    assert 0.2 < said.mean() < 0.8


def test_asking_for_one_s_own_class_tells_nothing_there():
    graph, users = minefield()
    outcome, _ = run(with_panel(graph, users, 200, seed=0), users, settings={"about": "self"})
    assert users.evaluate(outcome.scores, graph) < 0.65


def test_the_control_of_the_question_about_neighbours_gains_nothing():
    graph, users = minefield()
    outcome, _ = run(with_panel(graph, users, 200, seed=0), users, blind=True)
    assert users.evaluate(outcome.scores, graph) < 0.62


# A public model


def taught_elsewhere(tmp_path, seed=7):
    """A file of weights from another town of the same kind: naive Bayes on raw rows of people who are not asked here."""
    _, users = town()
    rows, labels = users.raw.features, users.raw.labels
    half = np.random.default_rng(seed).random(800) < 0.5
    rates = np.stack([(rows[half & (labels == each)].mean(axis=0) + 0.02) / 1.04 for each in range(4)])
    file = tmp_path / "weights.npz"
    np.savez(file, weights=np.log(rates / (1 - rates)), bias=np.log(1 - rates).sum(axis=1))
    return file


def test_a_public_model_needs_nobody_who_teaches(tmp_path):
    graph, users = town()
    settings = {"teach": "public", "weights": taught_elsewhere(tmp_path)}
    job, ledger = job_of(graph, users, settings=settings)
    listener = Listening(job.users)
    outcome = METHOD.run(replace(job, users=listener))
    assert [plan.of for plan in listener.plans] == ["class"]
    assert ledger.spent.tolist() == np.where(graph.train, 0.0, 4.0).tolist()
    assert users.evaluate(outcome.scores, graph) > structure_score() + 0.03


def test_files_that_are_read_are_named():
    assert METHOD.settings.of({}).files == ()
    given = METHOD.settings.of({"teach": "public", "weights": "here.npz"})
    assert [str(each) for each in given.files] == ["here.npz"]


# What is refused, before anybody is asked


def refused(words, graph=None, users=None, settings=None, **options):
    own = town()
    graph, users = graph or own[0], users or own[1]
    chosen = METHOD.settings.of({**QUICK, **(settings or {})})
    terms = {"epsilon": 4.0, "mechanism": METHOD.mechanism, **options}
    with pytest.raises(InputError, match=words):
        METHOD.run(Job.of(graph, UnaskedUsers(), chosen, 0, **terms))


def test_volunteers_who_are_not_there_cannot_teach():
    refused("teach=panel needs volunteers: give panel N", settings={"teach": "panel"})


def test_a_public_model_needs_its_file():
    refused("teach=public needs a file of weights", settings={"teach": "public"})


def test_a_file_that_nobody_asked_for_is_refused(tmp_path):
    refused("give both, or neither", settings={"weights": taught_elsewhere(tmp_path)})


def test_a_file_that_is_not_there_is_refused():
    refused("there is no file nowhere.npz", settings={"teach": "public", "weights": "nowhere.npz"})


@pytest.mark.parametrize("mechanism", ["featurerr", "hds"])
def test_biased_reports_cannot_teach(mechanism):
    refused(f"{mechanism} gives no unbiased reports .* take privunit", mechanism=mechanism)


def test_reports_of_single_items_cannot_teach():
    refused("item gives no unbiased reports", mechanism="item", mechanism_options={"length": 16})


def test_links_are_not_predicted():
    graph, users = LINK.divide(*town(), seed=0)
    refused("veil predicts .*, not .*: take another task, or base", graph, users)


def test_several_labels_a_user_are_refused():
    graph, users = load("town-labels", users=400)
    refused("veil learns one class a user", graph, users)


def test_a_graph_without_features_is_refused():
    pairs, labels = np.array([[0, 1], [1, 2], [2, 3]]), np.array([0, 1, 0, 1])
    graph, users = from_arrays(pairs, labels=labels, users=4)
    with pytest.raises(InputError, match="has no features"):
        METHOD.run(
            Job.of(graph, UnaskedUsers(), METHOD.settings.of(QUICK), 0, epsilon=1.0, mechanism="privunit")
        )
    assert len(users) == 4


def test_bad_settings_are_refused_by_name():
    wrong = [("teach", "nobody"), ("teachers", 0.0), ("teachers", 1.0), ("asked", 0.0), ("asked", 1.1)]
    wrong += [("open", 1), ("sketch", 0), ("about", "others")]
    cases = [((name, value), f"setting {name}") for name, value in wrong]
    failed = not_refused(lambda given: METHOD.settings.of(dict([given])), cases)
    assert not failed, failed


def test_volunteers_are_used_where_they_teach():
    used = {
        teach: METHOD.can_with(METHOD.settings.of({"teach": teach})).panel
        for teach in ("auto", "panel", "private")
    }
    assert used == {"auto": True, "panel": True, "private": False}


def test_the_books_of_a_run_say_what_was_asked_in_words():
    said = privacy_record(run_in(town, epsilon=4.0).ledger).sentence
    assert said == (
        "Users reported features or the class that a public model gives to the own row at ε = 4; the server needs no trust. "
        "ε of privunit is the bound of the ideal mechanism: its noise is made of floating-point numbers."
    )


@pytest.mark.parametrize(
    ("lowest", "even"), [(0.5, False), (0.8, False), (0.8, True)], ids=["the most certain", "drawn", "evenly"]
)
def test_a_last_digit_does_not_change_who_teaches_where_learning_may_be_shared(lowest, even):
    """Certainties that are equal, and then differ by rounding; all of them are as far from a rounded digit as can be."""
    graph, _ = town()
    random = np.random.default_rng(0)
    certainty = lowest + random.integers(0, 1500, 800) / 10_000 + 1e-5
    prior = np.column_stack([certainty, *[(1 - certainty) / 3] * 3])
    moved = prior + random.normal(size=prior.shape) * 1e-8
    share = (graph.train.sum() + 100) / 800
    first, second = (teaching_users(graph, each, share, 0, even=even, shared=True) for each in (prior, moved))
    assert first.tolist() == second.tolist()
    assert len(first) == graph.train.sum() + 100
    others = np.setdiff1d(np.flatnonzero(~graph.train & ~graph.validation), first)
    if lowest < veil.SURE:
        chosen = np.setdiff1d(first, np.flatnonzero(graph.train))
        assert certainty[chosen].min() >= certainty[others].max()
