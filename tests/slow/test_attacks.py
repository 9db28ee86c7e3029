"""Long campaigns: no attack is above its bound on any sound mechanism, and printed levels are always guessed."""

import pytest

from graphveil.experiments.campaigns.campaign import run_campaign
from graphveil.experiments.campaigns.grounds import MechanismGround, MethodGround
from graphveil.experiments.specs.spec import Spec
from graphveil.mechanisms import entry, names

EPSILONS = (0.5, 2.0, 8.0)
FALSE_ALARM = 1e-6
TOWN = {"users": 600, "features": 12, "neighbourhood": 25, "labelled": 0.4, "validated": 0.2}
ATTACKED = [
    *(("attribute", name) for name in names("features") if entry(name).sound),
    *(("level", name) for name in ("ppm", "esw")),
    *(("label", name) for name in names("label")),
    *(("link", name) for name in names("links")),
]
OPTIONS = {"item": {"length": 3}, "edgerr": {"private_edges": 0.3, "sweeps": 100}, "privhrg": {"sweeps": 100}}


@pytest.mark.statistical  # each fails by chance in at most one of a million; the seeds are fixed
@pytest.mark.parametrize(("attack", "name"), ATTACKED)
def test_no_attack_is_above_its_bound(attack, name):
    ground = MechanismGround.of(attack, "town", name, options=OPTIONS.get(name, {}), data_options=TOWN)
    campaign = run_campaign(ground, EPSILONS, runs=10, seed=100)
    assert [point.how_likely > FALSE_ALARM for point in campaign.points] == [True] * 3


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_printed_levels_are_always_guessed(epsilon):
    ground = MechanismGround.of("level", "town", "ppm-printed", data_options=TOWN)
    campaign = run_campaign(ground, [epsilon], runs=10, seed=100)
    assert campaign.points[0].found.mean == 1.0
    assert not campaign.holds


@pytest.mark.statistical  # each fails by chance in at most one of a million; the seeds are fixed
@pytest.mark.parametrize("seen", ["scores", "embedding"])
@pytest.mark.parametrize("method", ["base", "lpgnn", "structure"])
def test_no_model_of_private_labels_is_above_their_bound(method, seen):
    settings = {"epochs": 40, **{f"data.{key}": value for key, value in TOWN.items()}}
    budget = {} if method == "structure" else {"epsilon": 4.0}
    ground = MethodGround(Spec.of(method, "town", settings=settings, **budget), seen)
    campaign = run_campaign(ground, EPSILONS, runs=3, seed=100)
    assert [point.how_likely > FALSE_ALARM for point in campaign.points] == [True] * 3
