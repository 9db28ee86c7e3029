"""The options of an experiment, and what they make."""

import inspect
from dataclasses import fields

import pytest
import typer
from typer.testing import CliRunner

from graphveil.cli.options import default_file, with_options
from graphveil.errors import InputError
from graphveil.experiments.experiment import Experiment
from graphveil.methods.terms import RECORDS, record_fields
from tests.together import together

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
    words = f"base --data town --set lr=0.1 --settings {file} --range -1,2 --runs 7 --no-control"
    experiment = experiment_of_words(*words.split())
    assert experiment.settings == {"epochs": 5, "lr": 0.1}
    assert experiment.data_options == {"range": (-1.0, 2.0)}
    assert (experiment.runs, experiment.control) == (7, False)


WRONG = [("--set lr", "--set takes KEY=VALUE"), ("--range 1", "--range takes LOW,HIGH")]
WRONG += [("--budgets a,b", "--budgets takes numbers")]


@together(("words", "said"), WRONG)
def test_what_cannot_be_read_is_refused(words, said):
    with pytest.raises(InputError) as refused:
        experiment_of_words("base", "--data", "town", *words.split())
    assert refused.value.as_written.startswith(said)


def test_help_has_a_panel_for_each_group(call):
    printed = call("run --help").out
    for title in ("Budgets and mechanisms", "Privacy levels", "Who answers", "Computing"):
        assert title in printed
    assert "Example: graphveil run base" in printed


def test_searches_that_differ_in_levels_budgets_or_gamma_write_files_of_their_own():
    options = [{}, {"levels": 3}, {"levels": 4}, {"budgets": (1.0, 2.0)}, {"budgets": (1.0, 3.0)}]
    options += [{"gamma": 0.2}, {"level_distribution": "strict"}, {"norm_epsilon": 1.0}]
    files = [str(default_file(Experiment.of("ppgnn", "town", epsilon=1.0, **each))) for each in options]
    assert len(set(files)) == len(options)
    assert files[0] == "ppgnn-town-eps1.toml"


def test_a_curve_is_called_after_all_its_budgets_and_what_else_is_not_as_usual():
    spec = Experiment.of("lpgnn", "folder/my.npz", epsilon=0.5, mechanism="piecewise", label_epsilon=2.0)
    assert str(default_file(spec, ".svg", (0.5, 1.0, 4.0))) == "lpgnn-my-eps0.5_1_4-piecewise-labels2.svg"
