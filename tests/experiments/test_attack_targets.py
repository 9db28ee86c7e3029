"""Targets: what an attack is played on, by name."""

import pytest

from graphveil.attacks import MechanismTarget
from graphveil.errors import InputError
from graphveil.experiments.attack_study import MethodTarget
from graphveil.experiments.experiment import Experiment

TOWN = {"users": 400, "features": 8, "neighbourhood": 25, "labelled": 0.4, "validated": 0.2}


def test_an_attack_has_a_mechanism_of_its_own():
    assert MechanismTarget.of("level", "town").against == "ppm"


@pytest.mark.parametrize(
    ("attack", "mechanism", "words"),
    [
        ("level", "multibit", "multibit asks nobody for a privacy level"),
        ("label", "multibit", "multibit reports features, and the attack label is about labels"),
        ("link", "krr", "krr reports labels, and the attack link is about links"),
        ("membership", "krr", "no attack on reports is named 'membership'"),
        ("labels", "krr", "no attack on reports is named 'labels'"),
    ],
)
def test_what_does_not_fit_is_refused(attack, mechanism, words):
    with pytest.raises(InputError, match=words):
        MechanismTarget.of(attack, "town", mechanism)


def test_reports_without_a_budget_are_refused():
    with pytest.raises(InputError, match="needs their budget"):
        MechanismTarget.of("label", "town").check(None)


def test_options_of_the_loader_that_it_does_not_have_are_refused():
    with pytest.raises(InputError, match="town has no option 'frogs'"):
        MechanismTarget.of("label", "town", data_options={"frogs": 3}).play(1.0, 0)


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


def test_what_is_seen_must_be_there():
    with pytest.raises(InputError, match="seen takes scores or embedding, got 'thoughts'"):
        MethodTarget.of("membership", Experiment.of("base", "town", epsilon=4.0), "thoughts")
