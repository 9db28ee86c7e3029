"""The options of an experiment, and what they make."""

from __future__ import annotations

import inspect
from dataclasses import fields

import pytest
import typer
from typer.testing import CliRunner

from graphveil.cli.options import with_options
from graphveil.errors import InputError
from graphveil.experiments.experiment import Experiment
from graphveil.methods.terms import RECORDS, record_fields

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


def experiment_of_words(*words: str) -> Experiment:
    """The experiment that a command makes of its words."""
    made: list[Experiment] = []

    @with_options
    def command(*, experiment: Experiment) -> None:
        made.append(experiment)

    app = typer.Typer()
    app.command()(command)
    result = CliRunner().invoke(app, words, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return made[0]


def test_every_option_of_the_records_is_an_option_of_the_commands_and_reaches_the_spec():
    assert set(TOLD) == {name for record in RECORDS for name in record_fields(record)}
    words = ["ppgnn", "--data", "town", "--task", "link", "--backbone", "sage"]
    for name, value in TOLD.items():
        text = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
        words += [f"--{name.replace('_', '-')}", *([] if value is True else [text])]
    assert experiment_of_words(*words) == Experiment.of("ppgnn", "town", task="link", backbone="sage", **TOLD)


def test_every_field_is_an_option_of_a_command_that_takes_an_experiment():
    @with_options
    def command(*, experiment: Experiment) -> None: ...

    own = {each.name for each in fields(Experiment)} - set(RECORDS)
    assert set(inspect.signature(command).parameters) == own | {"settings_file"} | set(TOLD)


def test_settings_and_range_are_read(tmp_path):
    file = tmp_path / "base.json"
    file.write_text('{"epochs": 5, "lr": 0.5}')
    words = ["--set", "lr=0.1", "--settings", str(file), "--range", "-1,2", "--runs", "7", "--no-control"]
    experiment = experiment_of_words("base", "--data", "town", *words)
    assert experiment.settings == {"epochs": 5, "lr": 0.1}
    assert experiment.data_options == {"range": (-1.0, 2.0)}
    assert (experiment.runs, experiment.control) == (7, False)


@pytest.mark.parametrize("wrong", [["--set", "lr"], ["--range", "1"]])
def test_what_cannot_be_read_is_refused(wrong):
    with pytest.raises(InputError, match="takes (KEY=VALUE|LOW,HIGH)"):
        experiment_of_words("base", "--data", "town", *wrong)


def test_budgets_that_are_no_numbers_are_refused():
    with pytest.raises(InputError) as refused:
        experiment_of_words("base", "--data", "town", "--budgets", "a,b")
    assert refused.value.as_written.startswith("--budgets takes numbers")


def test_help_has_a_panel_for_each_group(call):
    printed = call("run --help").out
    for title in ("Budgets and mechanisms", "Privacy levels", "Who answers", "Computing"):
        assert title in printed
    assert "Example: graphveil run base" in printed
