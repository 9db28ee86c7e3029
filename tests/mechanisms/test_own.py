import inspect
import pickle
from functools import partial

import pytest

from graphveil.channels import Claim, onebit
from graphveil.mechanisms import FeatureMechanism, PublicRange, entry, mechanism, names
from graphveil.mechanisms.registry import is_own, is_own_builder


def _made(kind=FeatureMechanism, public=None):
    channel = onebit(1.0)
    return kind("mine", Claim(2.0), public or PublicRange(0, 1), 2, 2, (channel,), 1.0)


def test_everything_that_is_registered_with_the_package_is_its_own():
    assert all(is_own_builder(entry(name).build) for name in names())
    for name in ("multibit", "latent", "ppm", "krr", "dprr", "lapgraph"):
        accepted = {"dims": 4, "range": (0, 1), "classes": 3}
        settings = {key: value for key, value in accepted.items() if key in _parameters(name)}
        built = mechanism(name, epsilon=1.0, **settings)
        assert is_own(built) and is_own(built.blind())


def _parameters(name):
    return inspect.signature(entry(name).build).parameters


def test_what_stores_results_and_is_pickled_stays_the_packages_own():
    built = _made()
    assert built.fingerprint and built.shape.alphabet == 2
    assert is_own(built) and is_own(pickle.loads(pickle.dumps(built)))


@pytest.mark.parametrize("module", ["graphveil.mechanisms.features", "builtins", "abc"])
def test_a_name_makes_no_class_the_packages_own(module):
    borrowed = type("FeatureMechanism", (FeatureMechanism,), {"__module__": module})
    assert not is_own(_made(borrowed))


def test_a_method_that_was_replaced_is_not(monkeypatch):
    built = _made()
    monkeypatch.setattr(FeatureMechanism, "randomize", lambda self, private, words=None: None)
    assert not is_own(built)


def test_code_that_was_replaced_is_not(monkeypatch):
    monkeypatch.setattr(
        FeatureMechanism.encode, "__code__", (lambda self, values, channel, words: 0).__code__
    )
    assert not is_own(_made())


def test_a_member_that_was_added_is_not(monkeypatch):
    monkeypatch.setattr(FeatureMechanism, "__getattribute__", object.__getattribute__, raising=False)
    assert not is_own(_made())


def test_an_attribute_before_a_method_is_not():
    built = _made()
    object.__setattr__(built, "randomize", lambda private, words=None: None)
    assert not is_own(built)


def test_parts_from_outside_are_not():
    class Elsewhere(PublicRange):
        pass

    assert not is_own(_made(public=Elsewhere(0, 1)))


def test_builders_are_told_by_identity():
    build = entry("multibit").build
    assert not is_own_builder(partial(build))
    assert not is_own_builder(_made)
    assert not is_own_builder([])
