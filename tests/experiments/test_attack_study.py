"""Campaigns as tables, figures and pages, and attacks on what methods learn."""

from dataclasses import replace

import pytest

from graphveil.attacks import ATTACKS, AttackPoint, Campaign, MechanismTarget, Played, Stakes, Tally
from graphveil.errors import InputError
from graphveil.experiments.attack_study import CampaignReport, MethodTarget
from graphveil.experiments.experiment import Experiment
from tests.refusals import check_refused


def point(epsilon, right, bound_epsilon=None):
    """A hundred guesses at a budget, so many of them right."""
    stakes = Stakes(2, epsilon if bound_epsilon is None else bound_epsilon)
    return AttackPoint(epsilon, (Played(stakes, Tally(right, 100), Tally(50, 100)),))


CAMPAIGN = Campaign(
    ATTACKS.find("link"), "link-rr", "town", 0, (point(0.5, 55), point(2.0, 80), point(8.0, 90))
)


@pytest.mark.parametrize(
    ("points", "said"),
    [
        (
            CAMPAIGN.points,
            "no promise is broken at ε = 0.5, 2 and 8; the closest is ε = 0.5: 55.0% of guesses are right, not above the 62.2% that ε = 0.5 allows",
        ),
        (
            (point(0.5, 100), point(1.0, 100), point(2.0, 80)),
            "the promise is broken at ε = 0.5 and 1, most at ε = 0.5: 100.0% of guesses are right, above the 62.2% that ε = 0.5 allows",
        ),
        (
            (point(1.0, 60, float("inf")), point(2.0, 80, float("inf"))),
            "60.0% to 80.0% of guesses are right at ε = 1 and 2; no ε promises anything about it",
        ),
        ((point(2.0, 80),), "80.0% of guesses are right, not above the 88.1% that ε = 2 allows"),
    ],
    ids=["kept", "broken", "no promise", "one budget"],
)
def test_all_budgets_are_one_sentence(points, said):
    assert replace(CAMPAIGN, points=points).summary == said


def test_a_page_has_headline_figure_and_a_row_for_each_budget():
    page = CampaignReport(CAMPAIGN).page()
    assert "<title>link inference on link-rr, town</title>" in page
    assert '<p class="headline">No promise is broken at ε = 0.5, 2 and 8;' in page
    assert page.index("<svg ") < page.index("<table>") and page.count("<td>planted secrets</td>") == 3
    # A row says what was found beside control, chance and bound.
    report = CampaignReport(replace(CAMPAIGN, points=(point(2.0, 80),)))
    (row,) = report.sections[0].table.rows
    assert row == ("planted secrets", "2", "80.0", "70.8 to 87.3", "50.0", "50.0", "88.1")


def test_attack_control_chance_and_bound_are_named_and_drawn_the_same_again(tmp_path):
    for name in ("a.svg", "b.svg"):
        CampaignReport(CAMPAIGN).write(tmp_path / name)
    drawn = (tmp_path / "a.svg").read_text()
    for label in ("attack on link-rr", "the control", "the bound", "chance", "link inference on town"):
        assert f">{label}</text>" in drawn
    assert (tmp_path / "b.svg").read_text() == drawn


TOWN = {"users": 400, "features": 8, "neighbourhood": 25, "labelled": 0.4, "validated": 0.2}

UNFIT = [
    ("level", "multibit", "multibit asks nobody for a privacy level"),
    ("label", "multibit", "multibit reports features, and the attack label is about labels"),
    ("link", "krr", "krr reports labels, and the attack link is about links"),
    ("membership", "krr", "no attack on reports is named 'membership'"),
    ("labels", "krr", "no attack on reports is named 'labels'"),
]


def test_what_does_not_fit_is_refused():
    assert MechanismTarget.of("level", "town").against == "ppm"
    check_refused(lambda attack, name: MechanismTarget.of(attack, "town", name), UNFIT)
    with pytest.raises(InputError, match="needs their budget"):
        MechanismTarget.of("label", "town").check(None)
    with pytest.raises(InputError, match="town has no option 'frogs'"):
        MechanismTarget.of("label", "town", data_options={"frogs": 3}).play(1.0, 0)
    with pytest.raises(InputError, match="seen takes scores or embedding, got 'thoughts'"):
        MethodTarget.of("membership", Experiment.of("base", "town", epsilon=4.0), "thoughts")


def test_a_run_is_repeated_by_its_seed():
    target = MechanismTarget.of("label", "town", data_options=TOWN)
    assert target.play(1.0, 3) == target.play(1.0, 3)
    assert target.play(1.0, 3) != target.play(1.0, 4)


def test_a_method_is_attacked_by_what_it_learned_from_planted_labels():
    settings = {"epochs": 5, **{f"data.{key}": value for key, value in TOWN.items()}}
    target = MethodTarget.of("membership", Experiment.of("base", "town", epsilon=4.0, settings=settings))
    played = target.play(2.0, 1)
    assert played.stakes.epsilon == 2.0
    # A quarter of the 160 training users: half of those who threw a coin.
    assert played.planted.guesses == played.control.guesses == 40
    assert played.natural["training or test user"].control is not None
    assert target.play(2.0, 1) == played
