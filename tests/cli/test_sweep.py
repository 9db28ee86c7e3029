import pytest

from graphveil.experiments import runner as runner_module
from graphveil.experiments.store import RESULTS, select
from tests.experiments.known import axis, choices
from tests.interrupting import interrupted_when

TOWN = "data.users = 200\ndata.features = 16\ndata.telling = 4\ndata.labelled = 0.2\ndata.validated = 0.2\n"
BASE = f'title = "small [one]"\n[base]\nmethod = "base"\ndata = "town"\nruns = 2\n[base.settings]\nepochs = 2\n{TOWN}'
AXIS = axis("epsilon", [1, 4])


@pytest.fixture(autouse=True)
def small(own_folder):
    (own_folder / "small.toml").write_text(BASE + AXIS)


def test_without_a_name_all_are_listed(call):
    out = call("sweep").out
    for said in ("ppgnn-h ", "ppgnn-weights", "Fig. 7b"):
        assert said in out
    assert "ppgnn-m" in call("sweep --json").json["sweeps"]


def test_a_table_and_a_figure_are_written_and_results_kept(call, kept, tmp_path, monkeypatch):
    printed = call("sweep small.toml").out
    lines = printed.splitlines()
    assert lines[0] == "small [one]: accuracy"
    assert lines[1].split() == ["ε", "base", "control", "structure"]
    assert [line.split()[0] for line in lines[2:4]] == ["1", "4"]
    assert lines[-1] == "The figure is in small.svg."
    assert (tmp_path / "small.svg").read_text().startswith("<svg")
    assert [record.epsilon for record in kept()] == [1.0, 4.0]
    assert all(record.control and record.structure for record in kept())
    # Nothing is left to compute.
    monkeypatch.setattr(runner_module, "compute_unit", lambda *_: pytest.fail("ran again"))
    assert call("sweep small.toml --out other.png").out == printed.replace("small.svg", "other.png")
    assert (tmp_path / "other.png").is_file()


OWN = """
from graphveil.experiments.measures import Measure, Reading
from graphveil.number_format import NUMBER
from graphveil.statistics import Summary

def runs(result):
    return Reading({"method": Summary(len(result.of("method")), None, None)})

RUNS = Measure("runs", NUMBER, read=runs, parts=("method",))
HALF = Measure("half", NUMBER, apart=lambda spec: Reading({"method": Summary(spec.budgets.epsilon / 2, None, None)}))
NOTHING = Measure("nothing", NUMBER, apart=lambda spec: Reading())

def stop(spec):
    if spec.budgets.epsilon == 4:
        raise KeyboardInterrupt
    return HALF.apart(spec)

STOPPED = Measure("stopped", NUMBER, apart=stop)
"""


@pytest.fixture
def own_measures(tmp_path, forget_measures):
    """A file with measures."""
    (tmp_path / "own.py").write_text(OWN)


def test_a_measure_takes_the_place_of_the_score_and_runs_what_it_needs(call, kept, tmp_path, own_measures):
    lines = call("sweep small.toml --measure own.py:RUNS").lines
    assert lines[0] == "small [one]: own.py:RUNS"
    assert [line.split() for line in lines[1:4]] == [["ε", "base"], ["1", "2"], ["4", "2"]]
    assert lines[-1] == "The figure is in small-RUNS.svg."
    (parts,) = select(tmp_path / "cache" / RESULTS, "SELECT part, count(*) FROM units GROUP BY part", ())
    assert parts == [("method", 4)]
    # Without control and structure it would stand in the place of a whole result.
    assert kept() == []


def test_a_measure_that_learns_nothing_keeps_nothing(call, tmp_path, own_measures):
    (tmp_path / "small.toml").write_text('measure = "own.py:HALF"\n' + BASE + AXIS)
    told = call("sweep small.toml --json").json
    assert (told["measure"], told["unit"], told["figure"]) == ("own.py:HALF", "number", "small.svg")
    assert [cell["measured"]["method"]["mean"] for cell in told["cells"]] == [0.5, 2.0]
    assert not (tmp_path / "cache").exists()


def test_a_measure_that_no_experiment_has_or_that_is_interrupted_is_told(call, own_measures):
    told = call("sweep small.toml --measure own.py:NOTHING", ends=2)
    assert "no experiment of small has the measure own.py:NOTHING: take another" in told.err
    told = call("sweep small.toml --measure own.py:STOPPED", ends=130)
    assert "Interrupted: 1 of 2 cells are finished and computed anew by the same command." in told.err
    assert told.out.splitlines()[2].split() == ["1", "0.5"] and "figure" not in told.out


def test_runs_of_another_version_are_reused_only_if_they_may_be(call, call_another_version, monkeypatch):
    one = "sweep small.toml --runs 1"
    first = call_another_version(one).out
    with monkeypatch.context() as context:
        context.setattr(runner_module, "compute_unit", lambda *_: pytest.fail("ran again"))
        told = call(one, "--any-version")
    assert told.out == first
    # Two cells of a method and a control, and structure, which they share.
    assert "Reused runs of another version: 5 (graphveil" in told.err
    told = call(one)
    assert told.out == first
    assert "Not reused, runs of another version (--any-version does): 5 (graphveil" in told.err


def test_json_is_one_object(call):
    fields = call("sweep small.toml --runs 1 --set epochs=1 --out x.svg --json").json
    assert fields["axes"] == [{"field": "epsilon", "label": "ε", "values": [1, 4]}]
    assert [cell["at"] for cell in fields["cells"]] == [{"epsilon": 1}, {"epsilon": 4}]
    assert all(len(cell["runs"]) == 1 and cell["control"] for cell in fields["cells"])
    assert (fields["figure"], fields["interrupted"]) == ("x.svg", False)


GRAPHS = choices("graph", {"a town": '{ data = "town" }', "listeners": '{ data = "lastfm" }'})


@pytest.fixture
def over_graphs(tmp_path, monkeypatch):
    monkeypatch.setenv("GRAPHVEIL_DATA", str(tmp_path))
    base = BASE.replace('data = "town"\n', "").replace("runs = 2", "runs = 1")
    (tmp_path / "graphs.toml").write_text(base + AXIS + GRAPHS)


@pytest.mark.usefixtures("over_graphs")
def test_graphs_that_are_not_here_are_left_out_and_named(call):
    lines = call("sweep graphs.toml").lines
    assert "a town" in lines[1] and "listeners" not in lines[1]
    missing = "lastfm is not here: `graphveil data get lastfm`, or put lastfm.npz"
    assert lines[-1].startswith(f"Left out: {missing}")
    told = call("sweep graphs.toml --json").json
    assert [why.split()[0] for why in told["left_out"]] == ["lastfm"]
    assert told["axes"][1]["values"] == ["a town"]


@pytest.mark.usefixtures("over_graphs")
def test_a_sweep_none_of_whose_graphs_is_here_is_refused(refuses, monkeypatch):
    monkeypatch.setattr(runner_module, "compute_unit", lambda *_: pytest.fail("ran"))
    missing = [
        ("--data lastfm", "lastfm is not here"),
        ("--data cora", "graphs has no graph 'cora': choose from town, lastfm"),
    ]
    refuses(missing, "sweep graphs.toml")


def test_slow_cells_are_one_run_unless_all_are_asked_for(call, tmp_path):
    choice = choices("by", {"1B": '{ mechanism = "onebit" }\nslow = ["town"]'})
    (tmp_path / "slow.toml").write_text(BASE + AXIS + choice)
    told = "onebit on town: one run of at most 100 epochs, as every user answers every value; --all takes all runs."
    assert told in call("sweep slow.toml").lines
    whole = call("sweep slow.toml --all --json").json
    assert whole["shortened"] == []
    assert all(len(cell["runs"]) == 2 for cell in whole["cells"])


def test_means_are_printed_with_the_document_s_spread_too(call, tmp_path):
    (tmp_path / "spread.toml").write_text('spread = "sd"\n' + BASE + AXIS)
    lines = call("sweep spread.toml").lines
    assert lines[4] == "±: a standard deviation over runs, as the document draws it"
    assert lines[5].split() == ["ε", "base"]
    assert [line.split()[0::2] for line in lines[6:8]] == [["1", "±"], ["4", "±"]]


def test_a_quick_sweep_says_so_and_is_not_kept(call, kept, tmp_path):
    (tmp_path / "long.toml").write_text(BASE + AXIS.replace("[1, 4]", "[1, 2, 4]"))
    lines = call("sweep long.toml --quick").lines
    assert [line.split()[0] for line in lines[2:4]] == ["1", "4"]
    assert "structure" not in lines[1]
    assert lines[-1].startswith("Quick: one run of at most 5 epochs")
    told = call("sweep long.toml --quick --json").json
    assert told["quick"] is True
    assert all(len(cell["runs"]) == 1 and cell["control"] for cell in told["cells"])
    assert kept() == []


def test_an_interrupt_keeps_what_there_is_and_the_same_command_goes_on(call, counted, tmp_path):
    counted["stop"] = 7
    told = call("sweep small.toml", ends=130)
    assert "1 of 2 cells are finished and kept, the same command goes on from there" in told.err
    assert told.lines[3].split() == ["4", "-", "-", "-"]
    assert not (tmp_path / "small.svg").exists()
    counted["stop"] = None
    call("sweep small.toml")
    # The second cell shares structure with the first, and one of its units was finished.
    assert len(counted["units"]) == 7 + 3
    assert (tmp_path / "small.svg").is_file()
    # All anew.
    call("sweep small.toml --runs 1 --fresh")
    assert len(counted["units"]) == 7 + 3 + 5


MISTAKES = [
    ("nothing", "no sweep is named 'nothing': choose one of heterorr-edges"),
    ("nothing.toml", "nothing.toml cannot be read"),
    ("bad.toml", "base has no 'speed'"),
    ("small.toml --out x.pdf", "x.pdf has the unsupported format .pdf: use .svg or .png"),
    ("small.toml --out nowhere/x.svg", "nowhere is not a folder"),
    ("small.toml --jobs 0", "jobs must be an integer of at least 1"),
    ("small.toml --runs 0", "runs must be an integer of at least 1"),
    ("small.toml --set speed=1", "there is no setting 'speed' here"),
    ("ppgnn-hops --set hops=1", "ppgnn-hops sweeps settings.hops"),
    ("small.toml --quick --runs 2", "leave out one of --quick and --runs"),
]


def test_a_mistake_exits_with_2_and_one_line(refuses, tmp_path, monkeypatch):
    monkeypatch.setattr(runner_module, "compute_unit", lambda *_: pytest.fail("ran"))
    (tmp_path / "bad.toml").write_text(BASE.replace("runs", "speed") + AXIS)
    refuses(MISTAKES, "sweep")


def test_an_interrupt_stops_all_processes(tmp_path):
    (tmp_path / "long.toml").write_text(BASE + AXIS)

    def two_are_kept():
        return len(select(tmp_path / "cache" / RESULTS, "SELECT id FROM units", ())[0]) >= 2

    ended = interrupted_when(two_are_kept, ["sweep", "long.toml", "--jobs", "2", "--runs", "20"])
    assert ended.status == 130
    assert "Interrupted: 0 of 2 cells" in ended.err and "Traceback" not in ended.err
