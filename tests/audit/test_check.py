"""Every registered mechanism passes the suite; a mechanism with a flaw does not."""

from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest

from graphveil.audit import audit
from graphveil.audit.check import check_mechanism, mechanism_checks
from graphveil.channels import Claim, SeededBits, SystemBits, onebit, three_output
from graphveil.mechanisms import FeatureMechanism, PublicRange, entry, mechanism, names, register, unregister
from graphveil.suites import run_checks

EPSILONS = (0.1, 1.0, 4.0)
# An audit takes seconds: every mechanism is audited at one budget here, and at the others in tests/slow.
AUDIT, AUDITED = "the audit finds no leak", 1.0
# Nothing in these depends on the budget: they run at one.
ANY_BUDGET = (
    "its control keeps the format",
    "its control sees no values",
    "its control sends reports alike",
    "senseless budgets are refused",
    "senseless dims are refused",
    "senseless numbers sampled are refused",
    "wrong shapes are refused",
    "users are counted by shape",
    "any value is answered in silence",
    "its owner hears of outliers",
    "messages give reports back",
    "damaged messages are refused",
)
SOUND = [name for name in names() if entry(name).sound]
# It is EDGERR where all links are private, and an audit of either takes a third of a minute: tests/slow runs this one.
SLOW = "privhrg"


# What the checks of one budget share is large: it goes when the next budget's turn comes.
@lru_cache(maxsize=1)
def suite(what, epsilon):
    """The checks of a mechanism at one budget, by name."""
    ending = f" at epsilon {epsilon:g}"
    return {check.name.removesuffix(ending): check for check in mechanism_checks(what, epsilons=[epsilon])}


@pytest.mark.statistical  # a false alarm in a million for each check that draws
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("name", SOUND)
def test_registered_mechanism_passes(name, epsilon):
    left_out = (AUDIT,) if epsilon == AUDITED else (AUDIT, *ANY_BUDGET)
    checks = [check for title, check in suite(name, epsilon).items() if title not in left_out]
    run_checks(f"{name} at epsilon {epsilon:g}", checks)


@pytest.mark.statistical  # a false alarm in a million
@pytest.mark.parametrize("name", [name for name in SOUND if name != SLOW])
def test_registered_mechanism_passes_its_audit(name):
    suite(name, AUDITED)[AUDIT].run()


def test_every_default_budget_is_accepted():
    told = {
        name: {check.name.split(" at epsilon ")[-1] for check in mechanism_checks(name)} for name in SOUND
    }
    usual = {f"{epsilon:g}" for epsilon in EPSILONS}
    assert {name: taken for name, taken in told.items() if taken != usual} == {}


def test_what_runs_at_one_budget_are_checks():
    assert {*ANY_BUDGET, AUDIT} <= {title for name in SOUND for title in suite(name, AUDITED)}


def test_what_is_registered_as_unsound_is_this():
    assert [name for name in names() if not entry(name).sound] == ["ppm-printed"]


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_ppm_as_printed_claims_too_little(epsilon):
    with pytest.raises(AssertionError, match="its exact epsilon is inf"):
        suite("ppm-printed", epsilon)["its claim holds"].run()


def test_ppm_as_printed_fails_about_the_level_alone():
    found = audit("ppm-printed", epsilon=AUDITED, quick=True, random_bits=SeededBits(3))
    assert not found.holds
    assert all(leak.startswith("the level is not protected") for leak in found.leaks)
    assert any("the report (" in leak and "epsilon is infinite" in leak for leak in found.leaks)
    rows = [sentence for sentence in found.protects if sentence.startswith("A whole row of a user of level")]
    assert len(rows) == 4


def _flawed(kind=FeatureMechanism, share=1.0, scale=1.0, **options):
    def build(epsilon, dims, range, sampled=1):
        channel = onebit(share * epsilon / sampled)
        return kind(
            "flawed",
            Claim(epsilon),
            PublicRange.of(range),
            dims,
            sampled,
            (channel,),
            scale * dims / sampled,
            **options,
        )

    return build


class _Seeing(FeatureMechanism):
    """Its control still answers truly."""

    def blind(self):
        return replace(self, claim=Claim(0.0))


class _Shrinking(FeatureMechanism):
    """Its control has another scale."""

    def blind(self):
        return replace(super().blind(), scale=self.scale / 2)


class _Strict(FeatureMechanism):
    """It refuses gaps instead of answering them."""

    def randomize(self, private, random_bits=None):
        if np.isnan(np.asarray(private, dtype=float)).any():
            raise ValueError("a gap")
        return super().randomize(private, random_bits)


class _Shapeless(FeatureMechanism):
    """It answers rows of any length."""

    def randomize(self, private, random_bits=None):
        return super().randomize(np.resize(np.asarray(private), (len(private), self.size)), random_bits)


class _Noisier(FeatureMechanism):
    """It never answers the middle: its estimates have the right mean and the wrong variance."""

    def randomize(self, private, random_bits=None):
        source = SystemBits() if random_bits is None else random_bits
        reports = super().randomize(private, source)
        ends = (2 * source.below(2, reports.codes.size)).astype(reports.codes.dtype)
        return replace(reports, codes=np.where(reports.codes == 1, ends, reports.codes))


def _noisier(epsilon, dims, range):
    channel = three_output(epsilon)
    return _Noisier("noisier", Claim(epsilon), PublicRange.of(range), dims, 1, (channel,), float(dims))


def _dearer(epsilon, dims, range):
    """It claims another budget than the one that it was asked for."""
    return replace(_flawed()(epsilon, dims, range), claim=Claim(2 * epsilon))


class _Warner(FeatureMechanism):
    """It forgets to tell its owner of values outside the range."""

    def altered(self, private):
        return 0


class _Miscounting(FeatureMechanism):
    """It counts one user too many."""

    def count(self, private):
        return super().count(private) + 1


class _Drifting(FeatureMechanism):
    """Its drawn reports favour one end; its tables do not."""

    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        last = self.shape.alphabet - 1
        turned = np.where(np.arange(reports.codes.size) % 2 == 0, last, reports.codes)
        return replace(reports, codes=turned.astype(reports.codes.dtype))


class _Hasty(FeatureMechanism):
    """Everybody's answers are drawn with the same seed."""

    def randomize(self, private, random_bits=None):
        return super().randomize(private, SeededBits(1))


class _Lavish(FeatureMechanism):
    """Its control still asks for as much as it does itself, and answers other dimensions."""

    def blind(self):
        blinded = super().blind()
        return replace(blinded, sampled=self.size, scale=self.scale * self.sampled / self.size)


FLAWS = [
    (_dearer, "it claims what it was asked for", "it must claim what it was asked for"),
    (_flawed(share=2.0), "its claim holds", "its exact epsilon is"),
    (_flawed(share=0.9), "it wastes no budget", "it wastes budget"),
    (_flawed(scale=1.01), "its mean is exact", "is biased by"),
    (_noisier, "its variance is the tables'", "the variance of its estimate"),
    (_flawed(_Drifting), "drawn estimates have the right mean", "is off by"),
    (_flawed(_Seeing), "its control costs nothing", "its control must cost nothing"),
    (_flawed(_Seeing), "its control sees no values", "its control must see no values"),
    (_flawed(_Shrinking), "its control keeps the format", "its control must keep largest"),
    (_flawed(_Lavish), "its control sends reports alike", "its control sends reports of other lengths"),
    (_flawed(_Strict), "any value is answered in silence", "must be answered, in silence: rows of nan"),
    (_flawed(_Shapeless), "wrong shapes are refused", "must be refused with InputError, it was accepted"),
    (_flawed(_Miscounting), "users are counted by shape", "it must count the users"),
    (_flawed(_Warner), "its owner hears of outliers", "2 of 5 rows outside the range"),
    (_flawed(_Hasty), "the audit finds no leak", "the audit must find no leak: .* not independent"),
]


@pytest.mark.parametrize(
    ("build", "check", "words"), FLAWS, ids=[f"{check}: {words}" for _, check, words in FLAWS]
)
def test_flaw_is_said_in_a_sentence(build, check, words):
    with pytest.raises(AssertionError, match=words):
        suite(build, 1.0)[check].run()


def test_all_that_fails_is_named():
    with pytest.raises(AssertionError) as raised:
        check_mechanism(_flawed(_Warner, share=0.9), epsilons=[1.0])
    title, *failed = str(raised.value).splitlines()
    assert title == "build fails 2 of 19 checks:"
    assert [line.split(": ")[0] for line in failed] == [
        "it wastes no budget at epsilon 1",
        "its owner hears of outliers at epsilon 1",
    ]


def test_a_mechanism_without_a_flaw_passes():
    check_mechanism(_flawed(), epsilons=[1.0])


def test_what_checks_share_is_computed_once():
    built = []

    def build(epsilon, dims, range, sampled=1):
        built.append(dims)
        return _flawed()(epsilon, dims, range, sampled)

    checks = list(mechanism_checks(build, epsilons=[1.0]))
    cheap = [check for check in checks if check.name.startswith(("it claims", "its claim", "users are"))]
    cheap[-1].run()
    before = len(built)
    for check in cheap:
        check.run()
    assert len(cheap) == 3 and len(built) == before


def test_a_registered_mechanism_is_found_by_its_name():
    register("mine")(_flawed())
    try:
        check_mechanism("mine", epsilons=[1.0])
        assert mechanism("mine", epsilon=1.0, dims=3, range=(0, 1)).name == "flawed"
    finally:
        unregister("mine")


def test_a_mechanism_that_refuses_all_budgets_fails():
    with pytest.raises(AssertionError, match="at least one epsilon"):
        check_mechanism("gaussian", epsilons=[100.0])
