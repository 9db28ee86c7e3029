"""The registry: names, settings, and errors that say what was wrong, what was expected and what to do."""

import inspect
import pickle
from functools import partial

import numpy as np
import pytest

from graphveil.channels import Claim, onebit
from graphveil.errors import InputError, UnknownNameError
from graphveil.mechanisms import (
    FeatureMechanism,
    PublicRange,
    entry,
    feature_family,
    mechanism,
    names,
    register,
    unregister,
)
from graphveil.mechanisms.limits import sampled_count
from graphveil.mechanisms.registry import is_own, is_own_builder
from tests.fixtures import printed_by
from tests.mechanisms.support import EVERYTHING, FEATURES, SAMPLED, small
from tests.together import together

ROW = {"dims": 4, "range": (0, 1)}


def test_every_mechanism_of_the_design_is_registered_and_listed_by_subject():
    assert set(EVERYTHING) <= set(names())
    assert {*FEATURES, "item", "privunit"} <= set(names("features"))
    assert "krr" in names("label") and "krr" not in names("features")
    assert "esw" in names("level") and "esw" not in names("label")


@together("name", EVERYTHING)
def test_an_entry_says_what_it_is_for(name):
    found = entry(name)
    assert found.name == name
    assert found.summary
    assert small(name).subject == found.subject
    assert small(name).name == name


@together(
    ("name", "given", "expected"),
    [
        ("multibyte", ROW, r"no mechanism is named 'multibyte': choose one of onebit, .*privunit"),
        ("multibit", {"range": (0, 1)}, "multibit needs dims: the number of features of a row"),
        ("multibit", {"dims": 4}, r"needs range: the public range \(LOW, HIGH\).* never read off the data"),
        ("multibit", {"dims": 4, "range": None}, "multibit needs range"),
        ("item", {"dims": 4}, "item needs length: the public number of items"),
        ("krr", {}, "krr needs classes: the number of different labels"),
        ("esw", {}, "esw needs levels: the number of privacy levels"),
        (
            "multibit",
            {**ROW, "bins": 3},
            "no setting 'bins': besides the common ones it takes none of its own",
        ),
        ("piecewise", {**ROW, "bins": 3}, "no setting 'bins': besides the common ones it takes points"),
        ("featurerr", {**ROW, "sampled": 3}, "no setting 'sampled': it takes dims, range, shares, bins"),
        (
            "item",
            {"dims": 4, "length": 2, "radius": 1.0},
            "no setting 'radius': it takes dims, length, range",
        ),
        ("privunit", {**ROW, "length": 2}, "privunit has no setting 'length': it takes dims, range, radius"),
        ("krr", {"classes": 3, "dims": 3}, "krr has no setting 'dims': it takes classes"),
        *((name, {"dims": 4, "range": (1, 0)}, "range must be") for name in [*FEATURES, "privunit"]),
        *(
            (name, {**ROW, "sampled": sampled}, "sampled must be an integer from 1 to 4, the number of dim")
            for name in SAMPLED
            for sampled in (0, 5, 1.5, True, "2")
        ),
        *(
            ("analytic-gaussian", {**ROW, "delta": delta}, r"delta must be a number in \[0, 1\), got")
            for delta in (-0.1, 1, 2, float("nan"), "1e-5", True)
        ),
    ],
)
def test_what_is_missing_or_wrong_is_named_and_explained(name, given, expected):
    with pytest.raises(InputError, match=expected):
        mechanism(name, epsilon=1.0, **given)


@pytest.mark.parametrize("name", EVERYTHING)
@together("epsilon", [0, -1, float("nan"), float("inf"), "1", None, True, 1j])
def test_a_wrong_budget_is_refused(name, epsilon):
    with pytest.raises(InputError, match="epsilon must be a positive finite number, got"):
        small(name, epsilon=epsilon)


@together("name", [*FEATURES, "item", "privunit"])
def test_wrong_dims_are_refused(name):
    for dims in (0, -1, 1.5, "3", True):
        with pytest.raises(InputError, match="dims must be an integer of at least 1, got"):
            mechanism(
                name, epsilon=1.0, dims=dims, **({"length": 1} if name == "item" else {"range": (0, 1)})
            )


def test_how_many_are_sampled_and_numpy_numbers_are_numbers():
    cases = [(10, 2 / 5, 4), (0.1, 1.0, 1), (99, 1.0, 30), (15.26, 1 / 2.18, 7), (5, None, 30)]
    for epsilon, rate, expected in cases:
        assert sampled_count(epsilon, 30, rate) == expected
    found = mechanism(
        "multibit", epsilon=np.float32(1), dims=np.int64(4), range=np.array([0, 1]), sampled=np.int8(2)
    )
    assert found.fingerprint == mechanism("multibit", epsilon=1.0, sampled=2, **ROW).fingerprint


@pytest.fixture
def forget():
    """Names to unregister after the test."""
    added = []
    yield added.append
    for name in added:
        unregister(name)


def test_a_name_is_registered_once_and_a_family_by_one_line(forget):
    forget("coin")
    register("coin")(lambda epsilon: small("krr", epsilon))
    with pytest.raises(InputError, match="named 'coin' is registered already: take another name"):
        register("coin")(lambda epsilon: None)
    with pytest.raises(InputError, match="named 'multibit' is registered already"):
        feature_family("multibit", onebit, "again")
    forget("halves")
    feature_family("halves", onebit, "one bit of half the budget's values", rate=0.5, grid=False)
    found = mechanism("halves", epsilon=6.0, dims=9, range=(-1, 1))
    assert isinstance(found, FeatureMechanism)
    assert (found.sampled, found.scale, found.unbiased) == (3, 3.0, True)
    assert found.channels == (onebit(2.0),)


def test_a_registered_builder_can_be_built_and_forgotten():
    @register("coin", subject="label")
    def build_coin(epsilon, sides=2):
        """A coin.

        More about it.
        """
        return mechanism("krr", epsilon=epsilon, classes=sides)

    assert entry("coin").summary == "A coin."
    assert names("label")[-1] == "coin"
    assert mechanism("coin", epsilon=1.0, sides=3).shape.alphabet == 3
    unregister("coin")
    for attempt in (entry, unregister):
        with pytest.raises(UnknownNameError, match="no mechanism is named 'coin'"):
            attempt("coin")


# Each is imported first in a process that has nothing of graphveil.
IMPORTS = """
import os, numpy, scipy.sparse
for module in ("catalogue", "personal_builders", "registry"):
    if not os.fork():
        __import__(f"graphveil.mechanisms.{module}")
        from graphveil.mechanisms import names
        print(*names(), flush=True)
        os._exit(0)
    os.wait()
"""


def test_mechanisms_are_listed_in_one_order_whatever_is_imported_first():
    order = (
        "onebit laplace gaussian analytic-gaussian multibit piecewise square-wave hds duchi hybrid "
        "three-output pm-sub condensed latent ome featurerr item privunit ppm ppm-printed krr esw link-rr "
        "blink dprr lapgraph privhrg edgerr"
    )
    assert printed_by(IMPORTS).splitlines() == [order] * 3


# What is the package's own


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


@together(
    ("owner", "name", "value"),
    [
        (FeatureMechanism, "randomize", lambda self, private, words=None: None),
        (FeatureMechanism.encode, "__code__", (lambda self, values, channel, words: 0).__code__),
        (FeatureMechanism, "__getattribute__", object.__getattribute__),
    ],
)
def test_what_was_replaced_or_added_is_not(owner, name, value):
    built = _made()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, name, value, raising=False)
        assert not is_own(built)
        assert not is_own(_made())


def test_an_attribute_before_a_method_and_parts_from_outside_are_not():
    built = _made()
    object.__setattr__(built, "randomize", lambda private, words=None: None)
    assert not is_own(built)

    class Elsewhere(PublicRange):
        pass

    assert not is_own(_made(public=Elsewhere(0, 1)))
    build = entry("multibit").build
    assert not is_own_builder(partial(build))
    assert not is_own_builder(_made)
    assert not is_own_builder([])
