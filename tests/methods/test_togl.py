"""togl: two charged rounds, the second about what the first has found, and nothing that it should not know."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from graphveil.experiments import Experiment
from graphveil.experiments.unit import RunUnit, run_unit
from graphveil.graphs import load
from graphveil.learn import Topology
from graphveil.mechanisms import mechanism
from graphveil.mechanisms.personal import level_loss
from graphveil.methods import METHODS
from graphveil.methods.method import BACKBONE_NAMES
from graphveil.methods.scoring import NULL_ROUNDS, NULL_SCORES, attribute_scores, null_scores
from graphveil.methods.togl import FirstRound, ToglSettings, split_of
from graphveil.privacy.answering import Replay
from graphveil.privacy.record import Cost
from tests.methods.listening import SMALL, asked_nobody, check_settings_refused, heard, opened
from tests.methods.suite import chosen_trials, run_trial
from tests.refusals import check_refused

TOGL = METHODS.find("togl")
AUTO = {"pool": "auto", "rho": "auto"}
PRINTED = {"pool": "top", "learn_from": "second", "columns": "unbiased", "hops": 0}


def made_ready(part="method", given=None, **options):
    options["settings"] = {"pool": 4, "rho": 0.7, **options.get("settings", {})}
    return opened("togl", given, part, **options)


def rounds(ready):
    """The two plans about features, as they were asked."""
    return [plan for plan in heard(ready)[1].plans if plan.subject == "features" and plan.of == "values"]


def scores(ready):
    return TOGL.run(ready.job).scores


# Rounds and budgets


@pytest.mark.parametrize("split", [0.5, 0.3, "auto"])
def test_both_rounds_are_charged_and_add_up_to_the_budget(split):
    ready = made_ready(settings={"split": split})
    TOGL.run(ready.job)
    ledger = ready.ledger
    assert [charge.round for charge in ledger.charges] == [1, 2]
    first, second = (charge.claim.epsilon for charge in ledger.charges)
    assert first == pytest.approx(8 * split_of(ready.job)) and first + second == pytest.approx(8.0, rel=1e-12)
    if split != "auto":
        assert split_of(ready.job) == split
    np.testing.assert_allclose(ledger.spent, 8.0)
    assert TOGL.questions(ready.job).claims["features"].epsilon == pytest.approx(8.0, rel=1e-12)


def test_round_1_asks_evenly_and_round_2_names_the_pool():
    ready = made_ready(settings={"pool": 4, "rho": 0.75})
    planned, (first, second) = TOGL.questions(ready.job).features, rounds(ready)
    assert (first.round, second.round) == (1, 2)
    assert "pool" not in first.options
    count = second.build().asking.count
    assert len(second.options["pool"]) == 4 and second.options["from_pool"] == pytest.approx(0.75 * count)
    # It costs nothing that the first one told: its claim is that of the plan without a pool.
    assert [plan.claim for plan in planned] == [first.claim, second.claim]


@pytest.mark.parametrize(
    ("settings", "counts"),
    [
        ({"m_from": "round"}, [1, 1]),
        ({"m_from": "total"}, [3, 3]),
        ({"mechanism.sampled": 5, "m_from": "total"}, [5, 5]),
    ],
)
def test_the_number_of_values_follows_from_a_round_or_the_whole_or_is_given(settings, counts):
    assert [plan.build().asking.count for plan in rounds(made_ready(settings=settings))] == counts


@pytest.mark.parametrize(("rho", "size"), [(0.0, 0), (0.5, 2), (1.0, 4)])
def test_as_printed_everybody_answers_the_best(rho, size):
    """TD (ρ = 0) draws all values, TC (ρ = 1) none."""
    settings = {**PRINTED, "rho": rho, "mechanism.sampled": 4}
    _, listener = heard(made_ready(settings=settings))
    pool = listener.plans[1].options.get("pool", [])
    assert len(pool) == size
    dims = listener.answers[1].dims.reshape(-1, 4)
    assert (np.isin(dims, pool).sum(axis=1) == size).all()
    drawn = np.unique(dims[~np.isin(dims, pool)])
    assert set(drawn) == (set(range(16)) - set(pool) if rho < 1 else set())


def test_no_share_for_the_best_asks_them_like_all_others():
    for settings in ({"rho": 0, "pool": "auto"}, {"rho": 0, "pool": 4}):
        assert "pool" not in rounds(made_ready(settings=settings))[1].options


def test_a_pool_has_the_best_attributes_by_the_analysis():
    ready = made_ready(settings={"pool": 5, "rho": 0.7})
    _, listener = heard(ready)
    found = attribute_scores(
        ready.job, Topology(ready.job.graph, ready.job.device), listener.answers[0].estimate()
    )
    assert set(listener.plans[1].options["pool"]) == set(np.argsort(-found, kind="stable")[:5].tolist())


def test_learning_from_the_second_round_ignores_the_first_but_for_the_target():
    ready = made_ready(settings={"learn_from": "second"})
    outcome, listener = heard(ready)
    # Other reports of round 1; what is asked in round 2 is replayed.
    other = made_ready(seed=1).job.users.report(listener.plans[0])
    for settings, same in (
        (ready.job.settings, True),
        (ready.job.settings.model_copy(update={"learn_from": "both"}), False),
    ):
        again = TOGL.run(replace(ready.job, settings=settings, users=Replay([other, listener.answers[1]])))
        assert np.array_equal(outcome.scores, again.scores) == same


def test_what_round_1_told_counts_where_the_second_is_chosen():
    town = {"users": 800, "features": 32, "telling": 8, "neighbourhood": 20, "degree": 10.0, "labelled": 0.3}
    second, both = (
        made_ready(data_options=town, settings={"pool": 8, "rho": "auto", "learn_from": learn_from})
        for learn_from in ("second", "both")
    )
    assert rounds(second)[1].options["from_pool"] < rounds(both)[1].options["from_pool"]


def test_a_delta_is_shared_like_the_budget():
    settings = {"split": 0.3, "mechanism.sampled": 2}
    ready = made_ready(mechanism="analytic-gaussian", delta=1e-5, settings=settings)
    TOGL.run(ready.job)
    assert [charge.claim.delta for charge in ready.ledger.charges] == pytest.approx([0.3e-5, 0.7e-5])


# Mechanisms


@pytest.mark.parametrize("name", ["multibit", "square-wave", "condensed", "duchi", "ppm"])
def test_other_mechanisms_can_target(name):
    options = {"epsilon": 1.0, "levels": 3} if name == "ppm" else {}
    first, second = rounds(made_ready(mechanism=name, **options))
    assert first.mechanism == second.mechanism == name and len(second.options["pool"]) == 4


def test_what_it_cannot_ask_is_refused_before_anybody_is_asked():
    everything = "togl needs a mechanism that asks for some of the values"
    pool = "pool must be an integer from 1 to 16, the number of attributes, got 17"
    levels = {"mechanism": "ppm", "epsilon": 1.0, "levels": 3, "settings": {"m_from": "total"}}

    check_refused(
        lambda options: asked_nobody(made_ready(**options)),
        [
            ({"mechanism": "onebit"}, everything),
            ({"mechanism": "laplace"}, everything),
            ({"mechanism": "item", "settings": {"mechanism.length": 16}}, everything),
            (levels, "m_from must be round with ppm"),
            ({"settings": {"pool": 17, "rho": "auto"}}, pool),
            ({"settings": {"pool": 17, "rho": 0.5}}, pool),
        ],
    )


@pytest.mark.parametrize("split", [0.5, "auto"])
def test_only_rounds_must_leave_some_values_out(split):
    """Three values are all asked at the whole budget, and one or two of them at a part of it."""
    few = {**SMALL, "features": 3, "telling": 2}
    plans = rounds(made_ready(data_options=few, settings={**AUTO, "split": split}))
    assert not plans[0].model_copy(update={"epsilon": 8.0}).build().shape.names_dimensions
    assert all(plan.build().asking.count < 3 for plan in plans)


@pytest.mark.parametrize("split", [0.5, 0.3, "auto"])
def test_every_level_spends_its_budget_over_both_rounds(split):
    budgets = (1.0, 2.5, 7.0)
    ready = made_ready(mechanism="ppm", epsilon=1.0, budgets=budgets, settings={"split": split})
    TOGL.run(ready.job)
    levels = ready.users.raw.levels
    np.testing.assert_allclose(ready.ledger.spent, np.array(budgets)[levels - 1], rtol=1e-9)
    np.testing.assert_allclose(ready.ledger.remaining, 0, atol=1e-9)
    privacy = ready.privacy().to_dict()
    assert privacy["features"]["per_level"] == pytest.approx(budgets)
    assert privacy["level"]["epsilon"] == pytest.approx(level_loss(ready.mechanisms).epsilon)


def test_what_two_rounds_reveal_of_the_level_is_the_largest_ratio_of_all_their_reports():
    """By brute force: every pair of whole reports of two tiny rounds, rows and levels."""
    tiny = {"dims": 2, "range": (0, 1), "sampled": 1, "levels": 2}
    both = [
        mechanism("ppm", epsilon=0.6, **tiny),
        mechanism("ppm", epsilon=1.4, **tiny, pool=[1], from_pool=0.7),
    ]
    worst = 0.0
    for row in product((0.0, 1.0), repeat=2):
        for one, other in ((1.0, 2.0), (2.0, 1.0)):
            ratios = []
            for each in both:
                (often, _), (rarely, _) = (each.joint_counts([*row, level]) for level in (one, other))
                ratios.append(often.astype(float) / rarely.astype(float))
            worst = max(worst, float(np.log(np.multiply.outer(*ratios).max())))
    assert level_loss(both).epsilon == pytest.approx(worst, rel=1e-9)
    assert level_loss(both).epsilon < sum(each.level_loss.epsilon for each in both) * (1 + 1e-9)


# What may matter


def test_test_labels_never_matter():
    graph, users = load("town", **SMALL)
    ready = made_ready(given=(graph, users))
    assert (ready.job.graph.labels[ready.graph.test] == -1).all()
    expected = scores(ready)
    again, raw = made_ready(given=(graph, users)), users.raw
    flipped = np.where(again.graph.test, 1 - raw.labels, raw.labels)
    others = type(users)(raw.features, flipped, neighbours=raw.neighbours).answering(again.ledger, seed=0)
    np.testing.assert_array_equal(expected, TOGL.run(replace(again.job, users=others)).scores)


def test_validation_labels_do_not_enter_the_analysis():
    ready = made_ready()
    job, graph = ready.job, ready.job.graph
    topology = Topology(job.graph, job.device)
    first = job.users.report(TOGL.questions(job).features[0])
    turned = graph.with_labels(np.where(graph.validation, 1 - graph.labels, graph.labels))
    other = replace(job, graph=turned)
    np.testing.assert_array_equal(
        attribute_scores(job, topology, first.estimate()), attribute_scores(other, topology, first.estimate())
    )
    np.testing.assert_array_equal(null_scores(job, topology, first), null_scores(other, topology, first))
    trained = graph.with_labels(np.where(graph.train, np.roll(graph.labels, 7) % 2, graph.labels))
    different = attribute_scores(replace(job, graph=trained), topology, first.estimate())
    assert not np.allclose(attribute_scores(job, topology, first.estimate()), different)


def test_the_control_chooses_its_pool_from_blind_reports():
    """Its plans do not depend on features at all, and say what the mechanism's own plans say."""
    graph, users = load("town", **SMALL)
    swapped = type(users)(1 - users.raw.features, users.raw.labels, neighbours=users.raw.neighbours)
    plans = [rounds(made_ready("control", given=(graph, who))) for who in (users, swapped)]
    assert plans[0] == plans[1]
    assert len(plans[0][1].options["pool"]) == 4


def test_null_scores_are_those_of_attributes_that_say_nothing():
    """The control's own scores come from the same distribution: their mean lies within six standard errors."""
    ready = made_ready("control")
    topology = Topology(ready.job.graph, ready.job.device)
    first = ready.job.users.report(TOGL.questions(ready.job).features[0])
    null = null_scores(ready.job, topology, first)
    assert len(null) == NULL_ROUNDS * 16 < NULL_SCORES
    found = attribute_scores(ready.job, topology, first.estimate())
    assert abs(found.mean() - null.mean()) < 6 * null.std() / np.sqrt(len(found))


def test_the_same_seed_gives_the_same_scores():
    first, again = (scores(made_ready(settings=AUTO)) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(scores(made_ready()), scores(made_ready(seed=1)))


# Tasks and other private things


@pytest.mark.parametrize("label_loss", ["drop", "forward"])
def test_private_labels_are_charged_and_clean_the_analysis(label_loss):
    ready = made_ready(label_epsilon=2.0, settings={"label_loss": label_loss, **AUTO})
    outcome = TOGL.run(ready.job)
    assert np.isfinite(outcome.scores).all()
    assert ready.ledger.total("label").epsilon == 2.0
    assert ready.ledger.total("features").epsilon == pytest.approx(8.0)


def test_private_links_are_asked_first_and_known_from_reports_alone():
    ready = made_ready(link_epsilon=6.0)
    assert ready.job.graph.edge_count == 0
    outcome, listener = heard(ready)
    assert [plan.subject for plan in listener.plans] == ["links", "features", "features"]
    again = TOGL.run(replace(ready.job, users=Replay(listener.answers)))
    np.testing.assert_array_equal(outcome.scores, again.scores)


def test_links_can_be_predicted():
    outcome, listener = heard(made_ready(task="link"))
    assert len(listener.plans[1].options["pool"]) == 4
    assert outcome.pair_scores is not None and 0 <= outcome.validation_score <= 1


@pytest.mark.parametrize("importance", [0.0, 0.5, 1.0])
def test_norms_are_learned_too_and_weigh_in_the_analysis(importance):
    ready = made_ready(norm_epsilon=3.0, settings={"norm_importance": importance})
    outcome = TOGL.run(ready.job)
    assert np.isfinite(outcome.norms).all()
    assert ready.ledger.total("features").epsilon == pytest.approx(11.0)


@pytest.mark.parametrize(
    "options",
    [
        *(
            {"settings": {"analysis": name}}
            for name in ("fda", "sma", "mutual-information", "chi-square", "pca")
        ),
        *({"backbone": name} for name in BACKBONE_NAMES),
    ],
    ids=str,
)
def test_all_analyses_and_backbones_find_a_pool(options):
    outcome, listener = heard(made_ready(**options))
    assert np.isfinite(outcome.scores).all() and len(listener.plans[1].options["pool"]) == 4


def test_a_small_town_is_asked_for_what_tells_its_kinds():
    """8 of 32 attributes tell. Chance finds 2 of them on average."""
    town = {"users": 800, "features": 32, "telling": 8, "neighbourhood": 20, "degree": 10.0}
    town |= {"labelled": 0.3, "validated": 0.1}
    graph, users = load("town", **town)
    rates = np.array([users.raw.features[users.raw.labels == kind].mean(axis=0) for kind in range(4)])
    telling = set(np.flatnonzero(np.ptp(rates, axis=0) > 0.5).tolist())
    assert len(telling) == 8
    found, blind, terms = [], [], {"data_options": town, "settings": {"pool": 8, "rho": "auto"}}
    for seed in range(3):
        for part, told in (("method", found), ("control", blind)):
            second = rounds(made_ready(part, (graph, users), seed=seed, **terms))[1]
            told.append(len(telling & set(second.options.get("pool", []))))
            assert part == "control" or second.options["from_pool"] > 0.4 * second.build().asking.count
    assert np.mean(found) >= 5 and np.mean(blind) <= 4


@pytest.mark.parametrize(("name", "settings", "trial"), chosen_trials("togl"))
def test_other_settings_pass_the_suite(name, settings, trial):
    run_trial(name, settings, trial)


def test_privacy_of_a_run_counts_both_rounds():
    settings = {"epochs": 2, "hidden": 8, "pool": 4, "rho": 0.7}
    spec = Experiment.of("togl", "town", epsilon=3.0, data_options=SMALL, settings=settings)
    assert run_unit(RunUnit(spec)).privacy.features == Cost(epsilon=3.0)


# Settings


def test_numbers_and_words_are_accepted():
    given = {"split": (0.3, "auto"), "rho": (0, 1.0, "auto"), "pool": (3, "top")}
    for name, values in given.items():
        assert tuple(getattr(ToglSettings.of({name: value}), name) for value in values) == values


def test_other_numbers_and_words_are_refused_in_a_sentence(capsys):
    small = ("--set", "data.users=300", "--set", "epochs=1")
    wrong = [
        ("split=0", "setting split: Input should be greater than 0, or 'auto', got 0"),
        ("split=1.5", "setting split: Input should be less than 1, or 'auto', got 1.5"),
        ("split=x", "setting split: Input should be a valid number, or 'auto', got 'x'"),
        ("rho=2", "setting rho: Input should be less than or equal to 1, or 'auto', got 2"),
        ("rho=x", "setting rho: Input should be a valid number, or 'auto', got 'x'"),
        ("pool=0", "setting pool: Input should be greater than or equal to 1, or 'top' or 'auto', got 0"),
        ("pool=1.5", "setting pool: Input should be a valid integer, or 'top' or 'auto', got 1.5"),
        ("pool=x", "setting pool: Input should be a valid integer, or 'top' or 'auto', got 'x'"),
        ("pool=65", "pool must be an integer from 1 to 64, the number of attributes, got 65"),
    ]
    command = ["run", "togl", "--data", "town", "--epsilon", "4", *small]
    check_settings_refused(command, [(setting, f"Error: {words}") for setting, words in wrong], capsys)


@pytest.mark.parametrize(("whole", "epsilon"), [(False, 2.0), (True, 8.0)])
def test_the_first_round_alone_asks_once_with_its_share_or_the_whole_budget(whole, epsilon):
    plans = FirstRound(whole).questions(made_ready(settings={"split": 0.25}).job).features
    assert [plan.epsilon for plan in plans] == [epsilon]
