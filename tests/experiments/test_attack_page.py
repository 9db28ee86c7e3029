"""Campaigns as pages, and what all budgets say in a sentence."""

from dataclasses import replace

import pytest

from graphveil.attacks import ATTACKS, AttackPoint, Campaign, Played, Stakes, Tally
from graphveil.experiments.attack_study import CampaignReport


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


def test_a_row_says_what_was_found_beside_control_chance_and_bound():
    report = CampaignReport(replace(CAMPAIGN, points=(point(2.0, 80),)))
    assert report.sections[0].table.rows == (
        ("planted secrets", "2", "80.0", "70.8 to 87.3", "50.0", "50.0", "88.1"),
    )
