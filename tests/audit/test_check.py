"""Every registered mechanism passes the suite; a mechanism with a flaw does not."""

from dataclasses import replace

import numpy as np
import pytest

from graphveil.audit import audit
from graphveil.audit.check import check_mechanism
from graphveil.channels import Claim, SeededWords, SystemWords, onebit, three_output
from graphveil.mechanisms import FeatureMechanism, PublicRange, entry, mechanism, names, register, unregister


@pytest.mark.statistical  # a false alarm in a million
@pytest.mark.parametrize("name", [name for name in names() if entry(name).sound])
def test_registered_mechanism_passes(name):
    check_mechanism(name)


def test_what_is_registered_as_unsound_is_this():
    assert [name for name in names() if not entry(name).sound] == ["ppm-printed"]


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_ppm_as_printed_fails_about_the_level_alone(epsilon):
    with pytest.raises(AssertionError, match="its exact epsilon is inf"):
        check_mechanism("ppm-printed", epsilons=[epsilon])
    found = audit("ppm-printed", epsilon=epsilon, quick=True, words=SeededWords(3))
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

    def randomize(self, private, words=None):
        if np.isnan(np.asarray(private, dtype=float)).any():
            raise ValueError("a gap")
        return super().randomize(private, words)


class _Shapeless(FeatureMechanism):
    """It answers rows of any length."""

    def randomize(self, private, words=None):
        return super().randomize(np.resize(np.asarray(private), (len(private), self.size)), words)


class _Noisier(FeatureMechanism):
    """It never answers the middle: its estimates have the right mean and the wrong variance."""

    def randomize(self, private, words=None):
        source = SystemWords() if words is None else words
        reports = super().randomize(private, source)
        ends = (2 * source.below(2, reports.codes.size)).astype(reports.codes.dtype)
        return replace(reports, codes=np.where(reports.codes == 1, ends, reports.codes))


def _noisier(epsilon, dims, range):
    channel = three_output(epsilon)
    return _Noisier("noisier", Claim(epsilon), PublicRange.of(range), dims, 1, (channel,), float(dims))


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (_flawed(share=2.0), "its exact epsilon is"),
        (_flawed(share=0.9), "it wastes budget"),
        (_flawed(scale=1.01), "is biased by"),
        (_noisier, "the variance of its estimate"),
        (_flawed(_Seeing), "its control must have epsilon 0"),
        (_flawed(_Shrinking), "its control must keep largest"),
        (_flawed(_Strict), "any value must be answered, in silence: rows of nan"),
        (_flawed(_Shapeless), "must be refused with InputError, it was accepted"),
    ],
    ids=["claim", "waste", "bias", "variance", "control", "scale", "nan", "shape"],
)
def test_flaw_is_said_in_a_sentence(build, words):
    with pytest.raises(AssertionError, match=words):
        check_mechanism(build, epsilons=[1.0])


def test_a_mechanism_without_a_flaw_passes():
    check_mechanism(_flawed(), epsilons=[1.0])


def test_a_leak_fails_the_suite():
    class Hasty(FeatureMechanism):
        """Everybody's answers are drawn with the same seed."""

        def randomize(self, private, words=None):
            return super().randomize(private, SeededWords(1))

    with pytest.raises(AssertionError, match="the audit must find no leak: .* not independent"):
        check_mechanism(_flawed(Hasty), epsilons=[1.0])


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
