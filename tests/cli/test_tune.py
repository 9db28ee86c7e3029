import shlex
import tomllib

import pytest

from graphveil.cli.tune import command
from graphveil.experiments import Experiment
from graphveil.experiments.store import RESULTS, select
from tests.cli.support import town
from tests.interrupting import interrupted_when

TUNE = f"tune base --data town --epsilon 2 --runs 1 {town()}"
QUICK = f"{TUNE} --trials 3 --set epochs=2"

pytestmark = pytest.mark.usefixtures("own_folder")


def test_a_search_prints_a_table_and_writes_a_file_that_its_command_uses(call, tmp_path):
    assert "slightly optimistic" in call("tune --help").words
    told = call(QUICK)
    for words in (
        "base on town default best",
        "lr 0.01",
        "validation accuracy",
        "3 of 3 trials (of 192 in the grid)",
    ):
        assert words in told.words
    header = tomllib.loads((tmp_path / "base-town-eps2.toml").read_text())["tuned"]
    assert header["validation"] >= header["validation_of_defaults"]
    command = shlex.split(told.lines[-1])
    assert " ".join(command).startswith("graphveil run base --data town --epsilon 2 --seed 1 ")
    assert call(command[1:], "--runs 1 --no-control --json").json["seed"] == 1


def test_json_is_one_object_and_the_same_twice(call, tmp_path):
    fields, again = (call(QUICK, "--json --out best.toml").json for _ in range(2))
    assert fields == again
    assert fields["file"] == "best.toml"
    assert fields["trials"] == {"done": 3, "total": 3, "failed": []}
    assert tomllib.loads((tmp_path / "best.toml").read_text())["settings"] == fields["settings"]
    assert select(tmp_path / "cache" / RESULTS, "SELECT count(*) FROM trials", ()) == [[(3,)]]


def test_finished_trials_are_reused_and_those_of_another_version_only_if_they_may_be(
    call, call_another_version, monkeypatch
):
    first = call_another_version(QUICK).out
    with monkeypatch.context() as context:
        context.setattr("graphveil.experiments.tuning.validate_unit", lambda *_: pytest.fail("ran again"))
        told = call(QUICK, "--any-version")
    assert told.out == first
    assert "Reused trials of another version: 3 (graphveil" in told.err
    told = call(QUICK)
    assert told.out == first
    assert "Not reused, trials of another version (--any-version does): 3 (graphveil" in told.err
    monkeypatch.setattr("graphveil.experiments.tuning.validate_unit", lambda *_: pytest.fail("ran again"))
    assert call(QUICK).out == first


def test_settings_of_a_file_are_used_and_overridden(monkeypatch, call, tmp_path):
    seen = []

    def remember(unit, *_):
        seen.append(unit.spec.settings)
        raise KeyboardInterrupt

    monkeypatch.setattr("graphveil.experiments.runner.compute_unit", remember)
    (tmp_path / "my.toml").write_text("lr = 0.1\nepochs = 7\n")
    call("run base --data town --epsilon 1 --settings my.toml --set epochs=2", ends=130)
    assert seen == [{"lr": 0.1, "epochs": 2}]


def test_a_fixed_setting_is_not_searched(call, tmp_path):
    (tmp_path / "fixed.toml").write_text("weight_decay = 0.5\n")
    fields = call(QUICK, "--set lr=0.1 --settings fixed.toml --json").json
    assert fields["defaults"]["settings"] == {"dropout": 0.5}
    assert (fields["settings"]["lr"], fields["settings"]["weight_decay"]) == (0.1, 0.5)


MISTAKES = [
    ("tune base --data town", "needs a budget: give --epsilon"),
    ("tune structure --data town", "structure has no settings to search"),
    (f"{TUNE} --trials 0", "trials must be an integer of at least 1, got 0"),
    (f"{TUNE} --jobs 0", "jobs must be an integer of at least 1, got 0"),
    (f"{TUNE} --out nowhere/x.toml", "nowhere is not a folder"),
    (f"{TUNE} --out x.json", "x.json has the unsupported format .json: use .toml with --out"),
    (f"{TUNE} --settings nowhere.toml", "nowhere.toml cannot be read"),
    (f"{TUNE} --set speed=1", "there is no setting 'speed' here"),
    ("run base --data town --epsilon 1 --settings other.toml", "was tuned for upgnet"),
    ("run base --data town --epsilon 1 --settings odd.toml", "no setting 'speed' here"),
]


def test_a_mistake_exits_with_2_and_one_line(refuses, tmp_path):
    (tmp_path / "other.toml").write_text('[tuned]\nmethod = "upgnet"\n[settings]\nlr = 0.1\n')
    (tmp_path / "odd.toml").write_text("speed = 1\n")
    refuses(MISTAKES)


def test_an_interrupt_stops_all_processes_and_keeps_what_there_is(tmp_path, call):
    words = f"{TUNE} --jobs 2 --set epochs=100"

    def two_are_kept():
        return len(select(tmp_path / "cache" / RESULTS, "SELECT id FROM trials", ())[0]) >= 2

    ended = interrupted_when(two_are_kept, words.split())
    assert ended.status == 130
    assert "base on town" in ended.out
    assert "trials are finished and kept, the same command goes on from there" in ended.err
    assert "Traceback" not in ended.err
    done = int(ended.err.split("Interrupted: ")[1].split()[0])
    assert 2 <= done < 50
    # A search of as many trials as are there has nothing to do.
    assert call(words, f"--trials {done} --json").json["trials"]["done"] == done


def test_the_printed_command_keeps_what_users_choose_from(tmp_path):
    levels = {"budgets": (0.5, 1.0, 4.0), "gamma": 0.2, "level_distribution": "strict"}
    options = {"epsilon": 0.5, "label_epsilon": 2.0, "data_options": {"range": (0.0, 1.0)}}
    told = command(Experiment.of("ppgnn", "town", **levels, **options), tmp_path / "found.toml")
    for words in (
        "epsilon 0.5",
        "budgets 0.5,1,4",
        "gamma 0.2",
        "level-distribution strict",
        "label-epsilon 2",
    ):
        assert f"--{words}" in told
    assert "--range 0,1" in told
    assert "--mechanism" not in told
    assert "--level" not in command(Experiment.of("base", "town", epsilon=1.0), tmp_path / "found.toml")
