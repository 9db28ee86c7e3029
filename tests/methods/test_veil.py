"""veil as a whole: who answers what and how often, where its model comes from, what it falls back to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest

from graphveil.errors import BudgetError
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


def plans_of(graph, users, **options):
    """What was asked, in this order."""
    job, _ = job_of(graph, users, **options)
    return heard(job)[1]


def heard(job):
    """The outcome, and what was asked."""
    recorder = Recorder(job.users)
    return METHOD.run(replace(job, users=recorder)), [plan for plan, _ in recorder.heard]


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
    outcome, plans = heard(job)
    return Run(graph, users, outcome, ledger, plans)


def structure(graph, seed=0):
    """What is told by the graph alone."""
    return STRUCTURE.run(Job.of(graph, Nobody(), STRUCTURE.settings.of(QUICK), seed)).scores


@cache
def structure_score(seed=0):
    """How good the town's graph alone is."""
    graph, users = town(seed=seed)
    return users.evaluate(structure(graph, seed), graph)


def with_volunteers(graph, users, who):
    return replace(graph, panel=Panel(np.sort(who), users.raw.features[np.sort(who)]))


# Everybody answers at most once


@pytest.mark.parametrize("epsilon", [1.0, 2.0, 4.0])
def test_everybody_answers_once_where_some_of_them_teach(epsilon):
    found = run_in(town, epsilon=epsilon)
    first, second = found.plans
    assert found.ledger.spent.tolist() == [epsilon] * 800
    assert found.ledger.total("features").epsilon == epsilon
    assert {plan.subject for plan in found.plans} == {"features"}
    assert (first.of, first.mechanism, second.of, second.mechanism) == ("values", "privunit", "class", "krr")
    assert not set(first.users) & set(second.users)
    assert (first.round, second.round) == (1, 2)
    # Of four classes all are left open.
    assert second.classes == 4


@pytest.mark.parametrize("unlabelled", [False, True], ids=["one of them", "one who has no label to report"])
def test_who_has_taught_and_is_asked_for_a_class_too_is_refused_by_the_books(unlabelled, monkeypatch):
    """There is no budget left for that, and one for labels pays for no second answer about features."""
    own = veil.asked_users

    def greedy(job, known, teachers, about):
        more = [user for user in teachers if not (unlabelled and job.graph.train[user])]
        return np.union1d(own(job, known, teachers, about), more[:1])

    monkeypatch.setattr(veil, "asked_users", greedy)
    with pytest.raises(BudgetError):
        run(*town(), **({"label_epsilon": 5.0} if unlabelled else {}))


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


def test_volunteers_are_never_asked_about_their_features_and_may_be_test_users():
    found = run_in(town, VOLUNTEERS)
    assert not found.ledger.spent[found.graph.panel.users].any()
    # Labels of training users are public: they are not asked either.
    assert found.ledger.spent.tolist() == np.where(found.graph.train, 0.0, 4.0).tolist()
    graph, users = town()
    graph = with_volunteers(graph, users, np.flatnonzero(graph.test)[:80])
    outcome, ledger = run(graph, users)
    assert np.isfinite(outcome.scores).all()
    assert not ledger.spent[graph.panel.users].any()


def test_a_share_is_asked_the_least_certain_first_and_others_spend_nothing():
    found = run_in(town, VOLUNTEERS, 0.5)
    graph, (plan,) = found.graph, found.plans
    asked = np.isin(np.arange(800), plan.users)
    assert asked[graph.validation].all()
    assert 0 < asked[graph.test].sum() < graph.test.sum()
    assert not asked[graph.train].any()
    assert np.array_equal(found.ledger.spent > 0, asked)


def test_where_nobody_may_be_asked_nobody_is_and_volunteers_who_are_tested_still_count():
    """Their own rows tell their class: with nobody's answers they do better than the graph alone."""
    graph, users = town(users=1000)
    who = np.flatnonzero(graph.test)[:200]
    for known in (with_panel(graph, users, VOLUNTEERS, seed=0), with_volunteers(graph, users, who)):
        job, _ = job_of(known, users, unasked=True)
        scores = METHOD.run(replace(job, users=UnaskedUsers())).scores
        assert np.isfinite(scores).all()
    right = users.raw.labels[who] == scores.argmax(axis=1)[who]
    alone = structure(known).argmax(axis=1)[who]
    assert right.mean() > (users.raw.labels[who] == alone).mean()


# Who teaches


UNSURE = np.full((800, 4), 0.25)


def others_of(prior, count, seed=0, **how):
    """Who teaches besides training users, where so many may."""
    graph, _ = town()
    found = teaching_users(graph, prior, (graph.train.sum() + count) / 800, seed, **how)
    return set(found) - set(np.flatnonzero(graph.train))


def test_training_users_teach_first_and_validation_users_never():
    graph, _ = town()
    found = teaching_users(graph, UNSURE, 0.5, 0)
    assert graph.train[found].sum() == graph.train.sum()
    assert not graph.validation[found].any()
    assert len(found) == 400
    # A smaller share leaves training users all the same.
    assert teaching_users(graph, UNSURE, 0.01, 0).tolist() == np.flatnonzero(graph.train).tolist()


@pytest.mark.parametrize("even", [False, True])
def test_the_most_certain_others_teach_where_few_are_likely_enough(even):
    prior, sure = UNSURE.copy(), np.flatnonzero(town()[0].test)[-5:]
    prior[sure] = [1, 0, 0, 0]
    assert others_of(prior, 5, even=even) == set(sure)


def test_of_many_who_are_nearly_certain_a_seed_draws_who_teaches():
    prior, sure = UNSURE.copy(), np.flatnonzero(town()[0].test)[:200]
    prior[sure] = [0.9, 0.1, 0, 0]
    found = [others_of(prior, 50, seed) for seed in (0, 0, 1)]
    assert all(drawn <= set(sure) and len(drawn) == 50 for drawn in found)
    assert found[0] == found[1] != found[2]


def test_at_small_budgets_as_many_teach_of_each_class():
    """Of a rare class all who are likely enough teach, and of the others as many of each; who they are is drawn."""
    free, likely, prior = np.flatnonzero(town()[0].test), np.full(800, -1), UNSURE.copy()
    likely[free[:300]], likely[free[300:400]], likely[free[400:410]] = 0, 1, 2
    for label in range(3):
        prior[likely == label] = [0.85 if each == label else 0.05 for each in range(4)]
    found = [others_of(prior, 130, seed, even=True) for seed in (0, 0, 1)]
    for drawn in found:
        assert [int((likely[list(drawn)] == label).sum()) for label in (-1, 0, 1, 2)] == [0, 60, 60, 10]
    assert found[0] == found[1] != found[2]


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


# What it learns


def test_in_a_town_it_beats_the_graph_with_or_without_volunteers():
    found = run_in(town, epsilon=4.0)
    assert found.outcome.also["answers_used"] == 1
    assert found.users.evaluate(found.outcome.scores, found.graph) > structure_score() + 0.03
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


def test_where_answers_do_not_help_or_nobody_answers_scores_are_those_of_structure():
    graph, users = empty_handed()
    outcome, _ = run(graph, users, epsilon=1.0)
    assert outcome.also["answers_used"] == 0
    assert np.array_equal(outcome.scores, structure(graph))
    assert outcome.detail.endswith("answers were not clearly better")
    graph, users = town()
    outcome, _ = run(graph, users, who=np.zeros(800, dtype=bool))
    assert np.array_equal(outcome.scores, structure(graph))


def test_the_same_seed_gives_the_same_and_another_hashes_otherwise():
    first, second = run_in(town, epsilon=4.0).outcome, run(*town())[0]
    assert np.array_equal(first.scores, second.scores)
    assert first.also == second.also
    first, second = run_in(town, epsilon=4.0).plans[0], plans_of(*town(), seed=1)[0]
    assert first.options["hash_seed"] != second.options["hash_seed"]
    # Coins do not follow from what users hold.
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


def test_a_sketch_has_as_many_numbers_as_there_are_features_unless_fewer_are_asked_for():
    assert run_in(town, epsilon=4.0).plans[0].dims == 16
    assert plans_of(*town(), settings={"sketch": 5})[0].dims == 5
    assert plans_of(*town(), settings={"open": 2})[1].classes == 2


@pytest.mark.parametrize(("epsilon", "count", "offsets"), [(1.0, 2, False), (2.0, 3, False), (4.0, 5, True)])
def test_how_many_classes_are_left_open_follows_from_the_budget(epsilon, count, offsets):
    plan = plans_of(*town(kinds=6), epsilon=epsilon)[1]
    assert (plan.classes, plan.offsets is not None) == (count, offsets)


# Users who are silent, labels and links that are private


def test_nothing_of_silent_users_is_known_and_they_are_charged():
    graph, users = town()
    who = np.arange(800) % 3 != 0
    outcome, ledger = run(graph, users, who=who)
    assert np.isfinite(outcome.scores).all()
    assert ledger.spent.tolist() == [4.0] * 800


def test_private_labels_and_links_are_paid_for_besides():
    graph, users = town()
    outcome, ledger = run(graph, users, label_epsilon=2.0)
    labelled = graph.train | graph.validation
    assert ledger.spent.tolist() == np.where(labelled, 6.0, 4.0).tolist()
    assert users.evaluate(outcome.scores, graph) > 0.4
    outcome, ledger = run(*town(400), link_epsilon=6.0)
    assert np.isfinite(outcome.scores).all()
    assert ledger.total("links").epsilon == 6.0
    assert ledger.total("features").epsilon == 4.0


def test_training_users_with_private_labels_are_asked_for_a_class_where_they_do_not_teach():
    graph, users = town()
    known = with_panel(graph, users, VOLUNTEERS, seed=0)
    _, ledger = run(known, users, label_epsilon=2.0)
    others = graph.train.copy()
    others[known.panel.users] = False
    assert (ledger.spent[others] == 6.0).all()


# What rows tell of neighbours


@cache
def minefield(side=30, seed=0):
    """A grid of 8 neighbours each: a fifth are mines, at random; a row says how many of the neighbours are, for four of five."""
    random = np.random.default_rng(seed)
    count = side * side
    mines = (random.random(count) < 0.2).astype(np.int64)
    numbers = np.arange(count).reshape(side, side)
    sides = [
        (numbers[:, :-1], numbers[:, 1:]),
        (numbers[:-1, :], numbers[1:, :]),
        (numbers[:-1, :-1], numbers[1:, 1:]),
        (numbers[:-1, 1:], numbers[1:, :-1]),
    ]
    pairs = np.concatenate([np.stack([one.ravel(), other.ravel()], axis=1) for one, other in sides])
    near = np.bincount(pairs.ravel(), mines[pairs[:, ::-1]].ravel(), minlength=count).astype(int)
    rows = np.eye(10)[np.where(random.random(count) < 0.2, 9, near)]
    more = {"range": (0, 1), "binary": True, "metric": "roc_auc", "name": "minefield", "seed": seed}
    return from_arrays(pairs, rows, mines, **more)


def test_rows_that_tell_of_neighbours_are_found_out_and_asked_about():
    found = run_in(minefield, 200)
    graph, (plan,) = found.graph, found.plans
    assert found.users.evaluate(found.outcome.scores, graph) > 0.65
    assert found.ledger.total("features").epsilon == 4.0
    # Training users are asked too.
    others = np.setdiff1d(np.arange(graph.node_count), graph.panel.users)
    assert sorted(plan.users) == others.tolist()
    # A rare class is not everybody's answer: some know of more mines than the graph expects, and some of fewer.
    asked = np.array(plan.users)
    rows = found.users.raw.features[asked]
    said = plan.lists.array[np.arange(len(asked)), plan.build().places_of(rows)]
    assert 0.2 < said.mean() < 0.8


@pytest.mark.parametrize(
    ("options", "most"),
    [({"settings": {"about": "self"}}, 0.65), ({"blind": True}, 0.62)],
    ids=["one's own class", "the control"],
)
def test_asking_for_one_s_own_class_or_hearing_blind_answers_tells_nothing_there(options, most):
    graph, users = minefield()
    outcome, _ = run(with_panel(graph, users, 200, seed=0), users, **options)
    assert users.evaluate(outcome.scores, graph) < most


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
    outcome, plans = heard(job)
    assert [plan.of for plan in plans] == ["class"]
    assert ledger.spent.tolist() == np.where(graph.train, 0.0, 4.0).tolist()
    assert users.evaluate(outcome.scores, graph) > structure_score() + 0.03


# What is refused


def test_what_it_cannot_do_is_refused_before_anybody_is_asked(tmp_path):
    bare = from_arrays([[0, 1], [1, 2], [2, 3]], labels=[0, 1, 0, 1], users=4)[0]
    links, several = LINK.divide(*town(), seed=0)[0], load("town-labels", users=400)[0]

    def ask(graph=None, settings=None, **options):
        chosen = METHOD.settings.of({**QUICK, **(settings or {})})
        terms = {"epsilon": 4.0, "mechanism": METHOD.mechanism, **options}
        METHOD.run(Job.of(graph or town()[0], UnaskedUsers(), chosen, 0, **terms))

    public, elsewhere = {"teach": "public"}, {"weights": taught_elsewhere(tmp_path)}
    item = {"mechanism": "item", "mechanism_options": {"length": 16}}
    wrong = [
        ({"settings": {"teach": "panel"}}, "teach=panel needs volunteers: give panel N"),
        ({"settings": public}, "teach=public needs a file of weights"),
        ({"settings": elsewhere}, "give both, or neither"),
        ({"settings": public | {"weights": "nowhere.npz"}}, "there is no file nowhere.npz"),
        ({"mechanism": "featurerr"}, "featurerr gives no unbiased reports .* take privunit"),
        ({"mechanism": "hds"}, "hds gives no unbiased reports .* take privunit"),
        (item, "item gives no unbiased reports"),
        ({"graph": links}, "veil predicts .*, not .*: take another task, or base"),
        ({"graph": several}, "veil learns one class a user"),
        ({"graph": bare, "epsilon": 1.0}, "has no features"),
    ]
    failed = not_refused(lambda options: ask(**options), wrong)
    assert not failed, failed


def test_bad_settings_are_refused_by_name_and_files_that_are_read_are_named():
    wrong = [("teach", "nobody"), ("teachers", 0.0), ("teachers", 1.0), ("asked", 0.0), ("asked", 1.1)]
    wrong += [("open", 1), ("sketch", 0), ("about", "others")]
    cases = [((name, value), f"setting {name}") for name, value in wrong]
    failed = not_refused(lambda given: METHOD.settings.of(dict([given])), cases)
    assert not failed, failed
    assert METHOD.settings.of({}).files == ()
    given = METHOD.settings.of({"teach": "public", "weights": "here.npz"})
    assert [str(each) for each in given.files] == ["here.npz"]
    ways = {"auto": True, "panel": True, "private": False}
    assert {way: METHOD.can_with(METHOD.settings.of({"teach": way})).panel for way in ways} == ways


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
