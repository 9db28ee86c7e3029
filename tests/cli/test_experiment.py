"""The options of an experiment and the spec that they make."""

from __future__ import annotations

from dataclasses import fields

import pytest
import typer
from typer.testing import CliRunner

from graphveil.cli.options import Asked, Terms, experiment_of, grouped
from graphveil.errors import InputError
from graphveil.experiments.experiment import Experiment
from graphveil.methods.terms import RECORDS, Budgets, Levels, Machine, Turnout, Volunteers, record_fields

# One value of each option of the records that is not the default.
TOLD = {
    "epsilon": 2.0,
    "delta": 1e-6,
    "mechanism": "ppm",
    "label_epsilon": 1.0,
    "link_epsilon": 3.0,
    "link_mechanism": "krr",
    "norm_epsilon": 4.0,
    "norm_bound": 9.0,
    "levels": 3,
    "budgets": (2.0, 3.0, 5.0),
    "gamma": 0.2,
    "level_distribution": "strict",
    "participation": 0.7,
    "silence": "degree",
    "panel": 30,
    "max_memory": 4.0,
    "device": "cpu",
    "allow_dense": True,
}


def spec_of_words(*words: str) -> Experiment:
    """The spec that a command makes of its words."""
    made: list[Experiment] = []

    @grouped
    def command(*, asked: Asked, terms: Terms) -> None:
        made.append(experiment_of(asked, terms))

    app = typer.Typer()
    app.command()(command)
    result = CliRunner().invoke(app, words, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return made[0]


def terms(**given: object) -> Terms:
    return Terms(Levels(), Turnout(), Volunteers(), Machine(), **given)


def test_every_option_of_the_records_is_an_option_of_the_commands_and_reaches_the_spec():
    assert set(TOLD) == {name for record in RECORDS for name in record_fields(record)}
    words = ["ppgnn", "--data", "town", "--task", "link", "--backbone", "sage"]
    for name, value in TOLD.items():
        text = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
        words += [f"--{name.replace('_', '-')}", *([] if value is True else [text])]
    assert spec_of_words(*words) == Experiment.of("ppgnn", "town", task="link", backbone="sage", **TOLD)


def test_no_record_goes_unoffered():
    offered = {each.name for group in (Asked, Terms) for each in fields(group)}
    assert set(RECORDS) <= offered


def test_settings_and_range_are_read(tmp_path):
    file = tmp_path / "base.json"
    file.write_text('{"epochs": 5, "lr": 0.5}')
    given = terms(setting=["lr=0.1"], settings_file=file, public_range="-1,2")
    spec = experiment_of(Asked("base", "town", Budgets()), given, runs=7, control=False)
    assert spec.settings == {"epochs": 5, "lr": 0.1}
    assert spec.data_options == {"range": (-1.0, 2.0)}
    assert (spec.runs, spec.control) == (7, False)


@pytest.mark.parametrize("wrong", [{"setting": ["lr"]}, {"public_range": "1"}])
def test_what_cannot_be_read_is_refused(wrong):
    with pytest.raises(InputError, match="for example"):
        experiment_of(Asked("base", "town", Budgets()), terms(**wrong))


def test_budgets_that_are_no_numbers_are_refused():
    with pytest.raises(InputError) as refused:
        spec_of_words("base", "--data", "town", "--budgets", "a,b")
    assert refused.value.as_written.startswith("--budgets takes numbers")
