"""Every attack on everything that is sound: nothing is above its bound. Levels as printed are always guessed.

All tests of this file together raise a false alarm in at most one of a million cases (`family.RATE`), and their seeds are fixed.
"""

import pytest

from reproduce.attack_family import EPSILONS, RATE, broken, reports_case, sound_cases

CASES = list(sound_cases())
POINTS = len(CASES) * len(EPSILONS)


@pytest.mark.statistical  # RATE / POINTS each: one in a million for all of them
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_no_attack_is_above_its_bound(case, shows):
    points = case.campaign().points
    found = broken(points, RATE, POINTS)
    shows(f"{len(points)} budgets, {len(found)} above their bound")
    assert found == []


def test_printed_levels_are_always_guessed():
    campaign = reports_case("level", "ppm-printed").campaign()
    assert [point.found.mean for point in campaign.points] == [1.0] * len(EPSILONS)
    assert not campaign.holds
    # At ε = 8 levels are claimed to be randomized at 6.4, which allows 99.5%.
    assert [point.holds for point in campaign.points] == [False, False, False]
    assert broken(campaign.points, RATE, POINTS) == list(campaign.points)
