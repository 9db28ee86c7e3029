from functools import partial
from pathlib import Path

import pytest

from graphveil.audit import recomputation
from graphveil.audit.candidate import Candidate, is_foreign, load_mechanism
from graphveil.audit.recomputation import processes_step, started
from graphveil.audit.reports import Version, public_range
from graphveil.channels import onebit
from graphveil.mechanisms import FeatureMechanism, feature_family, unregister
from graphveil.mechanisms.registry import mechanism

FAULTS = Path(__file__).parent.parent / "faults"


def _step(what, foreign=True):
    candidate = Candidate.of(what)
    whole = candidate.build()
    return processes_step(candidate, Version(whole, public_range(candidate, whole)), foreign)


def test_the_packages_own_are_decoded_from_bytes_and_start_no_process(monkeypatch):
    monkeypatch.setattr(recomputation, "started", lambda candidate: pytest.fail("it was started"))
    for name in ("piecewise", "ppm", "krr", "dprr"):
        step = _step(name, foreign=False)
        assert step.leaks == () and not step.skipped


def test_a_function_of_a_file_is_loaded_elsewhere():
    step = _step(load_mechanism(f"{FAULTS / 'plain_without_words.py'}:sound"))
    assert step.leaks == () and "no audit is loaded" in step.seen


def test_a_mechanism_that_is_built_is_sent():
    step = _step(mechanism("onebit", epsilon=1.0, dims=3, range=(0, 1)))
    assert step.leaks == () and not step.skipped


def test_a_name_that_a_file_registers_is_loaded_from_there(tmp_path):
    path = tmp_path / "registering.py"
    path.write_text(
        "from graphveil.channels import onebit\nfrom graphveil.mechanisms import feature_family\n"
        "feature_family('bits-of-a-file', onebit, 'bits', grid=False)\n"
    )
    try:
        assert load_mechanism(f"{path}:bits-of-a-file") == "bits-of-a-file"
        with started(Candidate.of("bits-of-a-file")):
            pass
    finally:
        unregister("bits-of-a-file")


def test_what_cannot_be_loaded_elsewhere_is_not_blamed():
    def build(epsilon, dims, range):
        return mechanism("onebit", epsilon=epsilon, dims=dims, range=range)

    for local in (build, partial(build, range=(0, 1))):
        step = _step(local)
        assert step.skipped and step.leaks == ()
        assert "build" in step.seen


def test_what_is_registered_by_hand_cannot_be_loaded_elsewhere():
    feature_family("bits-by-hand", onebit, "bits", grid=False)
    try:
        assert _step("bits-by-hand").skipped
    finally:
        unregister("bits-by-hand")


def test_a_method_of_the_package_that_was_replaced_here_is_not_replaced_there(monkeypatch):
    honest = FeatureMechanism.encode
    monkeypatch.setattr(FeatureMechanism, "encode", lambda self, *given: 1 - honest(self, *given))
    candidate = Candidate.of("onebit")
    assert is_foreign(candidate, candidate.build())
    (leak,) = _step("onebit").leaks
    assert "reports depend on what was called or loaded before" in leak
