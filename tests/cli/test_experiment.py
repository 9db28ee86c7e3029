"""The options of an experiment and the spec that they make."""

from __future__ import annotations

from dataclasses import fields

import pytest

from graphveil.cli.experiment import Asked, Terms, spec_of
from graphveil.errors import InputError
from graphveil.experiments.spec import Spec

# Options that are read before they go into a spec, under another name.
READ = {"setting", "settings_file", "public_range"}
TOLD = {
    "epsilon": 2.0,
    "delta": 1e-6,
    "mechanism": "ppm",
    "backbone": "sage",
    "task": "link",
}
TERMS = {
    "label_epsilon": 1.0,
    "link_epsilon": 3.0,
    "link_mechanism": "krr",
    "levels": 3,
    "gamma": 0.2,
    "level_distribution": "strict",
    "max_memory": 4.0,
    "device": "cpu",
}


def test_every_option_reaches_the_spec():
    spec = spec_of(Asked("ppgnn", "town", **TOLD), Terms(**TERMS), runs=7, control=False)
    assert spec == Spec("ppgnn", "town", **TOLD, **TERMS, runs=7, control=False)
    tested = {"method", "data", "budgets", *TOLD, *TERMS, *READ}
    assert {each.name for group in (Asked, Terms) for each in fields(group)} == tested


def test_settings_range_and_budgets_are_read(tmp_path):
    file = tmp_path / "base.json"
    file.write_text('{"epochs": 5, "lr": 0.5}')
    terms = Terms(setting=["lr=0.1"], settings_file=file, public_range="-1,2", budgets="1,2")
    spec = spec_of(Asked("base", "town"), terms)
    assert spec.settings == {"epochs": 5, "lr": 0.1}
    assert spec.data_options == {"range": (-1.0, 2.0)}
    assert spec.budgets == (1.0, 2.0)


@pytest.mark.parametrize("wrong", [{"setting": ["lr"]}, {"public_range": "1"}, {"budgets": "a,b"}])
def test_what_cannot_be_read_is_refused(wrong):
    with pytest.raises(InputError, match="for example"):
        spec_of(Asked("base", "town"), Terms(**wrong))
