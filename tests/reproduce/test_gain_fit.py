"""The curve of gains: it finds a curve that is there, keeps its direction, and its intervals hold."""

import itertools
import math
from dataclasses import asdict, replace

import numpy as np
import pytest

from graphveil.methods.veil_advice import PublicNumbers, Situation, features, gain_models
from reproduce.advice.fit import TAIL, fit_gain_model, package_models
from reproduce.advice.gains import MeasuredGain, measured_gains


def situation(random, panel=0):
    users = int(np.exp(random.uniform(7, 10)))
    numbers = PublicNumbers(
        users,
        int(random.integers(16, 512)),
        4,
        users // 2,
        users // 4,
        random.uniform(2, 20),
        random.uniform(0.3, 0.9),
        random.uniform(0.4, 0.95),
        random.uniform(0.1, 1.2),
        random.uniform(0.1, 0.6),
    )
    return Situation(
        numbers,
        float(random.choice([1, 2, 4, 8])),
        random.uniform(0.01, 0.3),
        panel,
        random.uniform(0, 1) if panel else 0,
    )


def true_gain(at):
    """A share of what there is to gain: more of it with more users and more ε, or with rows that tell more."""
    left = 100 * at.numbers.left
    if at.panel:
        return left / (1 + math.exp(-2 * math.log(at.nats + 0.01)))
    noise = {1: 6.33, 2: 1.62, 4: 0.435, 8: 0.133}[at.epsilon]
    score = math.log(at.numbers.users / 2 / 8 / noise) - 6
    return math.sqrt(left * 100 * at.reach) / (1 + math.exp(-score))


def lines(count, noise=0.0, panel=0, seed=0):
    random = np.random.default_rng(seed)
    found = []
    for place in range(count):
        at = situation(random, panel)
        gain = true_gain(at) + noise * random.normal()
        found.append(MeasuredGain(f"town-{place}", 0, at, 1000, 50.0, gain))
    return found


def test_a_curve_that_is_there_is_found():
    model = fit_gain_model("private", lines(200))
    errors = [model.predict(line.situation).gain - line.gain for line in lines(50, seed=1)]
    assert np.abs(errors).mean() < 1.0


@pytest.mark.parametrize("kind", ["panel", "planned"])
def test_volunteers_have_a_curve_of_their_own(kind):
    private, taught = lines(60), lines(150, panel=300)
    model = fit_gain_model(kind, private + taught)
    assert model.weights == fit_gain_model(kind, taught).weights
    at = taught[0].situation
    more = replace(at, panel=1000, nats=at.nats + 0.5)
    assert model.predict(more).gain >= model.predict(at).gain


def test_more_users_and_more_budget_never_lower_what_is_foretold():
    random = np.random.default_rng(3)
    noise = [replace(line, gain=random.uniform(0, 20)) for line in lines(60)]
    model = fit_gain_model("private", noise)
    at = noise[0].situation
    for name, values in (("users", (100, 1000, 10_000)), ("epsilon", (0.5, 2, 8))):
        foretold = []
        for value in values:
            if name == "users":
                # The share of labels stays.
                numbers = replace(at.numbers, users=value, trained=value // 2)
                foretold.append(model.predict(replace(at, numbers=numbers)).gain)
            else:
                foretold.append(model.predict(replace(at, epsilon=value)).gain)
        assert all(low <= high + 1e-9 for low, high in itertools.pairwise(foretold))


@pytest.mark.statistical
def test_intervals_hold_as_often_as_they_say():
    """200 new lines, each inside with 1 - 2·TAIL = 0.9: fewer than 0.75 of them have a chance below 1e-8; errors of the fit, which new
    lines share, are small beside the noise. The seed is fixed."""
    model = fit_gain_model("private", lines(300, noise=3.0))
    new = lines(200, noise=3.0, seed=5)
    said = [model.predict(line.situation) for line in new]
    held = np.mean([each.low <= line.gain <= each.high for each, line in zip(said, new, strict=True)])
    assert TAIL == 0.05
    assert held > 0.75


def test_nothing_is_foretold_beyond_what_structure_lacks():
    model = fit_gain_model("private", lines(60))
    at = lines(1, seed=9)[0].situation
    said = model.predict(replace(at, epsilon=1e6, numbers=replace(at.numbers, users=10**9)))
    assert said.low <= said.gain <= said.high <= 100 * at.numbers.left + 1e-9


def test_a_graph_of_no_edges_and_no_reach_has_finite_features():
    at = lines(1)[0].situation
    bare = replace(at, reach=0.0, numbers=replace(at.numbers, degree=0.0, validated=0))
    assert np.isfinite(features(bare, "private")).all()


def test_lines_of_a_graph_that_is_left_out_change_nothing():
    gains = lines(30)
    own = [replace(line, graph="cora few", gain=50.0) for line in gains[:5]]
    left_out = fit_gain_model("private", [*gains, *own], without="cora")
    assert left_out == replace(fit_gain_model("private", gains), without="cora")
    assert left_out != replace(fit_gain_model("private", [*gains, *own]), without="cora")


def test_the_package_has_the_curves_of_a_fresh_fit():
    fresh, kept = list(package_models(measured_gains())), gain_models()
    assert len(fresh) == len(kept)
    for new, old in zip(fresh, kept, strict=True):
        # Another processor, another last digit.
        numbers = {
            name: pytest.approx(value, rel=1e-3, abs=1e-6)
            for name, value in asdict(old).items()
            if isinstance(value, (float, tuple))
        }
        assert asdict(new) == asdict(old) | numbers
