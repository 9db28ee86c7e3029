import json
import shlex
import tomllib

import pytest

from graphveil.cli import status
from graphveil.cli.tune import command
from graphveil.experiments import Experiment
from graphveil.experiments import store as reuse
from graphveil.experiments.store import RESULTS, select
from tests.cli.support import not_refused
from tests.interrupting import interrupted_when

TOWN = [
    *("--set", "data.users=200", "--set", "data.features=16", "--set", "data.telling=4"),
    *("--set", "data.labelled=0.2", "--set", "data.validated=0.2"),
]
TUNE = ["tune", "base", "--data", "town", "--epsilon", "2", "--runs", "1", *TOWN]
QUICK = [*TUNE, "--trials", "3", "--set", "epochs=2"]


pytestmark = pytest.mark.usefixtures("own_folder")


def test_help_has_an_example_and_says_how_to_report(capsys):
    assert status(["tune", "--help"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "Example: graphveil tune base" in printed
    assert "slightly optimistic" in printed


def test_a_search_prints_a_table_and_writes_a_file_that_its_command_uses(capsys, tmp_path):
    assert status(QUICK) == 0
    out = capsys.readouterr().out
    printed = " ".join(out.split())
    for words in (
        "base on town default best",
        "lr 0.01",
        "validation accuracy",
        "3 of 3 trials (of 192 in the grid)",
    ):
        assert words in printed
    header = tomllib.loads((tmp_path / "base-town-eps2.toml").read_text())["tuned"]
    assert header["validation"] >= header["validation_of_defaults"]
    command = shlex.split(out.splitlines()[-1])
    assert command[:7] == ["graphveil", "run", "base", "--data", "town", "--epsilon", "2"]
    assert command[7:9] == ["--seed", "1"]
    assert status([*command[1:], "--runs", "1", "--no-control", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["seed"] == 1


def test_json_is_one_object_and_the_same_twice(capsys, tmp_path):
    results = []
    for _ in range(2):
        assert status([*QUICK, "--json", "--out", "best.toml"]) == 0
        out = capsys.readouterr().out
        assert len(out.splitlines()) == 1
        results.append(json.loads(out))
    assert results[0] == results[1]
    fields = results[0]
    assert fields["file"] == "best.toml"
    assert fields["trials"] == {"done": 3, "total": 3, "failed": []}
    assert tomllib.loads((tmp_path / "best.toml").read_text())["settings"] == fields["settings"]
    assert select(tmp_path / "cache" / RESULTS, "SELECT count(*) FROM trials", ()) == [[(3,)]]


def test_a_finished_search_is_not_run_again(monkeypatch, capsys):
    assert status(QUICK) == 0
    first = capsys.readouterr().out
    monkeypatch.setattr("graphveil.experiments.tuning.validate_unit", lambda *_: pytest.fail("ran again"))
    assert status(QUICK) == 0
    assert capsys.readouterr().out == first


def test_trials_of_another_version_are_reused_only_if_they_may_be(capsys, monkeypatch):
    with monkeypatch.context() as context:
        context.setattr(reuse, "source_digest", lambda: "e" * 64)
        assert status(QUICK) == 0
    first = capsys.readouterr().out
    with monkeypatch.context() as context:
        context.setattr("graphveil.experiments.tuning.validate_unit", lambda *_: pytest.fail("ran again"))
        assert status([*QUICK, "--any-version"]) == 0
    printed = capsys.readouterr()
    assert printed.out == first
    assert "Reused trials of another version: 3 (graphveil" in printed.err
    assert status(QUICK) == 0
    printed = capsys.readouterr()
    assert printed.out == first
    assert "Not reused, trials of another version (--any-version does): 3 (graphveil" in printed.err


def test_settings_of_a_file_are_used_and_overridden(monkeypatch, capsys, tmp_path):
    seen = []

    def remember(unit, *_):
        seen.append(unit.spec.settings)
        raise KeyboardInterrupt

    monkeypatch.setattr("graphveil.experiments.runner.compute_unit", remember)
    (tmp_path / "my.toml").write_text("lr = 0.1\nepochs = 7\n")
    run = ["run", "base", "--data", "town", "--epsilon", "1", "--settings", "my.toml", "--set", "epochs=2"]
    assert status(run) == 130
    assert seen == [{"lr": 0.1, "epochs": 2}]


def test_a_fixed_setting_is_not_searched(capsys, tmp_path):
    (tmp_path / "fixed.toml").write_text("weight_decay = 0.5\n")
    assert status([*QUICK, "--set", "lr=0.1", "--settings", "fixed.toml", "--json"]) == 0
    fields = json.loads(capsys.readouterr().out)
    assert fields["defaults"]["settings"] == {"dropout": 0.5}
    assert (fields["settings"]["lr"], fields["settings"]["weight_decay"]) == (0.1, 0.5)


MISTAKES = [
    (["tune", "base", "--data", "town"], "needs a budget: give --epsilon"),
    (["tune", "structure", "--data", "town"], "structure has no settings to search"),
    ([*TUNE, "--trials", "0"], "trials must be an integer of at least 1, got 0"),
    ([*TUNE, "--jobs", "0"], "jobs must be an integer of at least 1, got 0"),
    ([*TUNE, "--out", "nowhere/x.toml"], "nowhere is not a folder"),
    ([*TUNE, "--out", "x.json"], "x.json has the unsupported format .json: use .toml with --out"),
    ([*TUNE, "--settings", "nowhere.toml"], "nowhere.toml cannot be read"),
    ([*TUNE, "--set", "speed=1"], "there is no setting 'speed' here"),
    (
        ["run", "base", "--data", "town", "--epsilon", "1", "--settings", "other.toml"],
        "was tuned for upgnet",
    ),
    (
        ["run", "base", "--data", "town", "--epsilon", "1", "--settings", "odd.toml"],
        "no setting 'speed' here",
    ),
]


def test_a_mistake_exits_with_2_and_one_line(capsys, tmp_path):
    (tmp_path / "other.toml").write_text('[tuned]\nmethod = "upgnet"\n[settings]\nlr = 0.1\n')
    (tmp_path / "odd.toml").write_text("speed = 1\n")
    assert not_refused(MISTAKES, capsys) == []


def test_an_interrupt_stops_all_processes_and_keeps_what_there_is(tmp_path, capsys):
    arguments = [*TUNE, "--jobs", "2", "--set", "epochs=100"]

    def two_are_kept():
        return len(select(tmp_path / "cache" / RESULTS, "SELECT id FROM trials", ())[0]) >= 2

    ended = interrupted_when(two_are_kept, arguments)
    assert ended.status == 130
    assert "base on town" in ended.out
    assert "trials are finished and kept, the same command goes on from there" in ended.err
    assert "Traceback" not in ended.err
    done = int(ended.err.split("Interrupted: ")[1].split()[0])
    assert 2 <= done < 50
    # A search of as many trials as are there has nothing to do.
    assert status([*arguments, "--trials", str(done), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["trials"]["done"] == done


def test_the_printed_command_keeps_what_users_choose_from(tmp_path):
    spec = Experiment.of(
        "ppgnn",
        "town",
        epsilon=0.5,
        budgets=(0.5, 1.0, 4.0),
        gamma=0.2,
        level_distribution="strict",
        label_epsilon=2.0,
        data_options={"range": (0.0, 1.0)},
    )
    told = command(spec, tmp_path / "found.toml")
    for words in (
        "--epsilon 0.5",
        "--budgets 0.5,1,4",
        "--gamma 0.2",
        "--level-distribution strict",
        "--label-epsilon 2",
    ):
        assert words in told
    assert "--range 0,1" in told
    assert "--mechanism" not in told
    assert "--level" not in command(Experiment.of("base", "town", epsilon=1.0), tmp_path / "found.toml")
