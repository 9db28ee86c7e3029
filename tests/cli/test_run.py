import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from graphveil.cli import status
from graphveil.errors import InputError
from graphveil.experiments import ResultStore
from graphveil.experiments import store as reuse
from graphveil.experiments.store import RESULTS, select
from tests.cli.support import not_refused, tried
from tests.interrupting import interrupted_when

pytestmark = pytest.mark.usefixtures("forget_outside", "own_cache")

SMALL = [
    *("--set", "epochs=3", "--set", "data.users=400", "--set", "data.features=16"),
    *("--set", "data.telling=4", "--set", "data.labelled=0.2", "--set", "data.validated=0.2"),
]
RUN = ["run", "base", "--data", "town", "--epsilon", "2", "--runs", "2", *SMALL]


def test_a_run_prints_a_table_and_a_verdict(capsys):
    assert status(RUN) == 0
    printed = " ".join(capsys.readouterr().out.split())
    for words in (
        "base, multibit, ε = 2",
        "control, ε = 0",
        "structure (",
        "gain over the control",
        "points",
    ):
        assert words in printed
    assert "Every user reported features at ε = 2" in printed


def test_a_run_that_learns_norms_too_says_how_well_and_what_that_cost(capsys):
    assert status([*RUN, "--norm-epsilon", "1.5", "--norm-bound", "4"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert re.search(
        r"norm: mean absolute error [\d.]+ \(-?[\d.]+ to [\d.]+\), control [\d.]+, constant guess [\d.]+",
        printed,
    )
    assert "features at ε = 3.5, 1.5 of it for norms (norms of training and validation users)" in printed
    assert status([*RUN[:-12], "--runs", "1", *SMALL, "--norm-epsilon", "1.5", "--no-control"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert re.search(r"norm: mean absolute error [\d.]+, constant guess [\d.]+", printed)


def test_json_is_one_object_and_the_same_twice(capsys):
    results = []
    for _ in range(2):
        assert status([*RUN, "--runs", "1", "--json", "--fresh"]) == 0
        out = capsys.readouterr().out
        assert len(out.splitlines()) == 1
        fields = json.loads(out)
        results.append({key: value for key, value in fields.items() if key not in ("seconds", "peak_mb")})
    assert results[0] == results[1]


def test_finished_runs_are_kept_and_resumed(capsys, monkeypatch, own_cache):
    once = [*RUN, "--runs", "1", "--json"]
    assert status(once) == 0
    first = json.loads(capsys.readouterr().out)
    assert select(own_cache / RESULTS, "SELECT count(*) FROM units", ()) == [[(3,)]]
    monkeypatch.setattr("graphveil.experiments.runner.compute_unit", lambda *_: pytest.fail("ran again"))
    assert status(once) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["runs"] == first["runs"]
    assert "Reused 3 finished runs; --fresh computes anew." in printed.err


def test_fresh_runs_are_computed_anew(capsys, monkeypatch):
    assert status(ONCE) == 0
    monkeypatch.setattr(
        "graphveil.experiments.runner.compute_unit", lambda *_: (_ for _ in ()).throw(InputError("ran"))
    )
    assert status([*ONCE, "--fresh"]) == 2
    assert "Error: ran" in capsys.readouterr().err


def test_more_runs_go_on_from_those_that_are_there(capsys):
    assert status(ONCE) == 0
    (first,) = json.loads(capsys.readouterr().out)["runs"]
    assert status([*ONCE, "--runs", "2"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["runs"][0] == first
    assert "Reused 1 finished run;" in printed.err


ONCE = [*RUN, "--runs", "1", "--no-control", "--json"]


@pytest.fixture
def older(capsys, monkeypatch):
    """The numbers of a run that another version has kept."""
    with monkeypatch.context() as context:
        context.setattr(reuse, "source_digest", lambda: "e" * 64)
        assert status(ONCE) == 0
    return json.loads(capsys.readouterr().out)["runs"]


def test_runs_of_another_version_are_run_again_and_it_is_said(older, capsys, own_cache):
    assert status(ONCE) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["runs"] == older
    assert "Not reused, runs of another version (--any-version does): 1 (graphveil" in printed.err
    assert select(own_cache / RESULTS, "SELECT count(*) FROM units", ()) == [[(2,)]]


def test_runs_of_any_version_are_reused_and_it_is_said_which(older, capsys, monkeypatch):
    monkeypatch.setattr("graphveil.experiments.runner.compute_unit", lambda *_: pytest.fail("ran again"))
    assert status([*ONCE, "--any-version"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["runs"] == older
    line, count = [line for line in printed.err.splitlines() if line.strip()]
    assert line.startswith("Reused runs of another version: 1 (graphveil ")
    assert line.endswith("source eeeeeeeeeeee).")
    assert count == "Reused 1 finished run; --fresh computes anew."


def test_a_damaged_record_is_told_on_stderr_and_run_again(capsys, own_cache):
    assert status(ONCE) == 0
    first = json.loads(capsys.readouterr().out)["runs"]
    with closing(sqlite3.connect(own_cache / RESULTS)) as connection, connection:
        connection.execute("UPDATE units SET unit = '{'")
    assert status(ONCE) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["runs"] == first
    assert "1 kept record cannot be read and was skipped." in printed.err


def test_a_file_that_is_no_database_is_one_line_and_stays(capsys, own_cache):
    own_cache.mkdir()
    (own_cache / RESULTS).write_text("something else " * 100)
    assert status(ONCE) == 2
    err = capsys.readouterr().err
    assert f"{RESULTS} is no database: move it away" in err
    assert "Traceback" not in err
    assert (own_cache / RESULTS).read_text() == "something else " * 100


def test_a_cache_that_cannot_be_written_is_one_line(capsys, tmp_path, monkeypatch):
    (tmp_path / "taken").touch()
    monkeypatch.setenv("GRAPHVEIL_CACHE", str(tmp_path / "taken"))
    assert status(ONCE) == 2
    err = capsys.readouterr().err
    assert "name another folder with GRAPHVEIL_CACHE" in err
    assert "Traceback" not in err


def test_a_file_of_one_s_own_runs(capsys, tmp_path):
    random = np.random.default_rng(0)
    file = tmp_path / "my.npz"
    labels = random.integers(0, 2, 60)
    np.savez(file, edges=random.integers(0, 60, (120, 2)), x=random.random((60, 5)), y=labels, range=(0, 1))
    assert (
        status(
            [
                "run",
                "base",
                "--data",
                str(file),
                "--epsilon",
                "1",
                "--set",
                "epochs=2",
                "--no-control",
                "--json",
            ]
        )
        == 0
    )
    assert json.loads(capsys.readouterr().out)["data"] == str(file)


def test_a_range_is_needed_and_can_be_given(capsys, tmp_path):
    file = tmp_path / "my.npz"
    np.savez(file, edges=[[0, 1], [2, 3]], x=np.eye(8), y=[0, 1] * 4)
    command = [
        "run",
        "base",
        "--data",
        str(file),
        "--epsilon",
        "1",
        "--set",
        "epochs=2",
        "--no-control",
        "--runs",
        "1",
    ]
    assert status(command) == 2
    assert "no public range" in capsys.readouterr().err
    assert status([*command, "--range", "0,1"]) == 0


MISTAKES = [
    (["run", "base", "--data", "town"], "needs a budget: give --epsilon"),
    (
        ["run", "base", "--data", "town", "--epsilon", "0"],
        "epsilon must be a positive finite number, got 0.0",
    ),
    (
        ["run", "base", "--data", "town", "--epsilon", "nan"],
        "epsilon must be a positive finite number, got nan",
    ),
    (["run", "nonprivate", "--data", "town", "--epsilon", "1"], "nonprivate reports no features"),
    (["run", "nobody", "--data", "town"], "no method is named 'nobody': choose one of"),
    (
        ["run", "base", "--data", "town", "--epsilon", "1", "--set", "speed=1"],
        "there is no setting 'speed' here",
    ),
    (
        ["run", "base", "--data", "town", "--epsilon", "1", "--set", "speed"],
        "--set takes KEY=VALUE, got 'speed'",
    ),
    (["run", "base", "--data", "town", "--epsilon", "1", "--range", "0"], "--range takes LOW,HIGH"),
    (
        ["run", "base", "--data", "town", "--epsilon", "1", "--mechanism", "x"],
        "no mechanism is named 'x'",
    ),
    (["run", "base", "--data", "town", "--epsilon", "1", "--backbone", "x"], "no backbone is named 'x'"),
    (
        ["run", "base", "--data", "town", "--epsilon", "1", "--jobs", "0"],
        "jobs must be an integer of at least 1, got 0",
    ),
    (
        ["run", "base", "--data", "town", "--epsilon", "1", "--runs", "0"],
        "runs must be an integer of at least 1",
    ),
    (
        ["run", "base", "--data", "town", "--epsilon", "1", "--set", "data.size=1"],
        "town has no option 'size'",
    ),
    (["run", "base", "--data", "nowhere/x.npz", "--epsilon", "1"], "x.npz"),
    (
        ["run", "base", "--data", "town", "--epsilon", "1", "--any-version", "--fresh"],
        "--any-version has no meaning where all is computed anew: leave out --fresh",
    ),
    (
        ["run", "base", "--data", "town", "--epsilon", "1", "--out", "x.svg"],
        "--out draws a curve over several budgets",
    ),
    (
        [*RUN, "--mechanism", "featurerr", "--set", "mechanism.shares=[0.5, 0.5]"],
        "shares must be 16 numbers of at least 0 that are not all 0, got [0.5, 0.5]",
    ),
    (["run", "base", "--data", "town", "--epsilon", "1,2,1"], "--epsilon names 1 twice: leave one out"),
    (["run", "base", "--data", "town", "--epsilon", "1,-2"], "epsilon must be a positive finite number"),
    (["run", "base", "--data", "town", "--epsilon", "1,x"], "--epsilon takes numbers with commas"),
    (
        ["run", "base", "--data", "town", "--epsilon", "1,2", "--out", "x.pdf"],
        "x.pdf has the unsupported format .pdf",
    ),
    (
        ["run", "base", "--data", "town", "--epsilon", "1", "--set", "mechanism.shares=[1,"],
        "--set mechanism.shares takes a list in brackets",
    ),
]


def test_a_mistake_exits_with_2_and_one_line(capsys):
    assert not_refused(MISTAKES, capsys) == []


def test_methods_are_listed_with_their_settings(capsys):
    assert status(["methods", "--settings"]) == 0
    printed = capsys.readouterr().out
    assert "base" in printed and "nonprivate" in printed and "input_share" in printed
    assert status(["methods", "--json"]) == 0
    fields = json.loads(capsys.readouterr().out)["methods"]
    assert {"name": "base", "needs_epsilon": True}.items() <= fields[0].items()


def test_an_interrupt_stops_all_processes_and_keeps_what_the_same_command_goes_on_with(own_cache, capsys):
    def one_is_kept():
        return select(own_cache / RESULTS, "SELECT id FROM units WHERE part = 'method'", ()) != [[]]

    ended = interrupted_when(one_is_kept, [*RUN[:6], "--runs", "500", "--jobs", "2", *SMALL])
    assert ended.status == 130
    assert "base, multibit, ε = 2" in ended.out
    assert re.search(
        r"Interrupted: \d+ of 1500 runs, control and structure counted too, are finished and kept; "
        r"the same command goes on from there\.",
        ended.err,
    )
    assert [record.interrupted for record in ResultStore(own_cache / RESULTS).results()] == [True]
    assert "Traceback" not in ended.err
    ((kept,),) = select(own_cache / RESULTS, "SELECT count(*) FROM units WHERE seed = '0'", ())
    assert status([*RUN[:6], *SMALL, "--runs", "1"]) == 0
    assert f"Reused {kept[0]} finished run" in capsys.readouterr().err


PRIVATE = ["run", "solitude", "--data", "town", "--epsilon", "2", "--link-epsilon", "6", *SMALL]


def test_private_links_are_charged_and_compared_with_no_edges(capsys):
    assert status([*PRIVATE, "--runs", "1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["privacy"]["links"] == {"epsilon": 6.0, "delta": 0.0}
    assert found["privacy"]["total"]["epsilon"] == 2.0
    assert found["control"] and found["structure"] and found["edgeless"]
    assert found["gain_over_edgeless"]["mean"] == pytest.approx(found["mean"] - found["edgeless"]["mean"])
    assert "the private graph alone; links at ε = 6 add" in found["verdict"]


def test_how_much_the_private_graph_leaves_out_is_told(capsys):
    assert status([*LINKS, "--link-mechanism", "blink", "--no-control", "--json"]) == 0
    also = json.loads(capsys.readouterr().out)["also"]
    assert also["links_kept"]["mean"] > 0 and also["links_left_out"]["mean"] >= 0
    assert status([*LINKS, "--link-mechanism", "blink", "--no-control"]) == 0
    assert "links are expected among reported pairs that were left out" in " ".join(
        capsys.readouterr().out.split()
    )


def test_links_that_do_not_fit_are_refused_with_their_size(capsys):
    assert status([*PRIVATE, "--max-memory", "0.00001"]) == 2
    assert "GB" in (said := capsys.readouterr().err) and "--link-epsilon" in said


def test_links_are_not_reported_by_a_mechanism_for_labels(capsys):
    assert status([*PRIVATE, "--link-mechanism", "krr"]) == 2
    assert "krr does not report links: choose link-rr" in capsys.readouterr().err


def test_silent_users_are_told_and_charged(capsys):
    silent = ["--participation", "0.7", "--label-epsilon", "2", "--runs", "1"]
    assert status([*RUN, *silent, "--json"]) == 0
    fields = json.loads(capsys.readouterr().out)
    assert fields["answered"]["asked"] == 400
    assert 240 < fields["answered"]["answered"] < 320
    assert fields["privacy"]["total"]["epsilon"] == 4.0
    assert fields["privacy"]["silent"] is True
    assert {round_["users"] for round_ in fields["privacy"]["rounds"]} == {400, 160}
    assert status([*RUN, *silent]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "of 400 users who were asked answered, and all were charged" in printed
    assert "Users were asked to report features" in printed


def test_everybody_answers_unless_something_else_is_said(capsys):
    assert status([*RUN, "--runs", "1", "--no-control", "--json"]) == 0
    fields = json.loads(capsys.readouterr().out)
    assert fields["answered"] == {"asked": 400, "answered": 400}
    assert "silent" not in fields["privacy"]


TURNOUTS = [
    (["run", "base", "--epsilon", "1", "--participation", "0"], "participation must be a number above 0"),
    (
        ["run", "base", "--epsilon", "1", "--participation", "1.1"],
        "participation must be a number above 0",
    ),
    (["run", "base", "--epsilon", "1", "--silence", "degree"], "silence has no meaning where everybody"),
    (
        ["run", "base", "--epsilon", "1", "--participation", "0.5", "--silence", "class-y"],
        "no silence is named 'class-y'",
    ),
    (["run", "nonprivate", "--participation", "0.5"], "nonprivate asks nobody here"),
    (["run", "structure", "--participation", "0.5"], "structure asks nobody here"),
]


def test_a_turnout_without_meaning_is_refused(capsys):
    assert not_refused([([*words, "--data", "town"], said) for words, said in TURNOUTS], capsys) == []


VOLUNTEERING = f"{Path(__file__).parents[1] / 'volunteering.py'}:Volunteering"
GIVEN = ["run", VOLUNTEERING, "--data", "town", "--epsilon", "2", "--runs", "2", *SMALL]


def test_a_run_with_volunteers_names_them_and_what_they_are_worth_alone(capsys):
    assert status([*GIVEN, "--panel", "30"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "the same with volunteers alone" in printed and "gain over volunteers alone" in printed
    assert "30 volunteers gave their raw features; everybody else reported features at ε = 2" in printed


def test_the_json_of_a_run_with_volunteers_says_who_gave_what(capsys):
    assert status([*GIVEN, "--panel", "30", "--json"]) == 0
    fields = json.loads(capsys.readouterr().out)
    assert fields["privacy"]["panel"] == {"users": 30, "raw": True}
    assert fields["privacy"]["trust"] == "local" and fields["answered"]["asked"] == 370
    assert set(fields["unasked"]) == {"runs", "mean", "low", "high"}
    gain = fields["gain_over_unasked"]["mean"]
    assert gain == pytest.approx(fields["mean"] - fields["unasked"]["mean"])


def test_a_run_without_volunteers_says_so(capsys):
    assert status([*GIVEN, "--json"]) == 0
    fields = json.loads(capsys.readouterr().out)
    assert fields["privacy"]["panel"] is None and "unasked" not in fields


NO_VOLUNTEERS = [
    ([*GIVEN, "--panel", "0"], "panel must be an integer of at least 1, got 0"),
    (
        [*GIVEN, "--panel", "401"],
        "panel must be an integer of at most 80, the number of training users",
    ),
    ([*RUN, "--panel", "30"], "base does not learn from volunteers' raw features"),
    (
        ["run", "nonprivate", "--data", "town", "--panel", "30"],
        "nonprivate does not learn from volunteers'",
    ),
]


def test_volunteers_who_cannot_be_are_refused(capsys):
    assert not_refused(NO_VOLUNTEERS, capsys) == []


def volunteers_in(file, **more):
    random = np.random.default_rng(0)
    arrays = {"edges": random.integers(0, 80, (200, 2)), "y": np.arange(80) % 2, "range": [0, 1]}
    np.savez(file, **arrays, panel=np.arange(80) < 10, **more)
    return str(file)


def test_volunteers_of_a_file_are_taken_and_no_others_are_drawn(capsys, tmp_path):
    file = volunteers_in(tmp_path / "club.npz", x=np.random.default_rng(1).random((80, 4)))
    run = ["run", VOLUNTEERING, "--data", file, "--epsilon", "2", "--runs", "1"]
    assert status([*run, "--json"]) == 0
    fields = json.loads(capsys.readouterr().out)
    assert fields["privacy"]["panel"] == {"users": 10, "raw": True} and fields["unasked"]
    assert status([*run, "--panel", "5"]) == 2
    assert "has 10 volunteers of its own" in " ".join(capsys.readouterr().err.split())
    assert status(["run", "structure", "--data", file, "--runs", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["privacy"]["panel"] is None


def test_volunteers_of_a_file_without_features_are_refused(capsys, tmp_path):
    file = volunteers_in(tmp_path / "club.npz")
    assert status(["run", "structure", "--data", file]) == 2
    assert "volunteers could give" in capsys.readouterr().err


def test_a_page_of_results_names_volunteers(capsys, tmp_path):
    assert status([*GIVEN, "--panel", "30"]) == 0
    page = tmp_path / "page.html"
    assert status(["report", "--out", str(page)]) == 0
    text = page.read_text()
    assert "30 volunteers raw; features ε = 2; local" in text and "volunteers alone" in text
    assert "panel=30" in text


LINKS = ["run", "nonprivate", "--data", "town", "--link-epsilon", "6", "--runs", "1", "--seed", "1", *SMALL]


@pytest.mark.parametrize("mechanism", ["link-rr", "dprr", "blink", "lapgraph", "privhrg", "edgerr"])
def test_every_mechanism_for_links_gives_a_graph_to_learn_from(mechanism, capsys):
    found = {}
    for task in ("node", "link"):
        words = [*LINKS, "--link-mechanism", mechanism, "--task", task, "--no-control", "--json"]
        ended, out, err = tried(words, capsys)
        told = json.loads(out) if ended == 0 else None
        kept = told and told["privacy"]["links"] == {"epsilon": 6.0, "delta": 0.0}
        found[task] = bool(kept and 0 < told["mean"] <= 1) or (ended, out, err)
    assert found == {"node": True, "link": True}


def test_a_curator_is_named_where_one_is_needed(capsys):
    assert (
        status(
            [*LINKS[:1], "base", *LINKS[2:], "--epsilon", "1", "--link-mechanism", "lapgraph", "--no-control"]
        )
        == 0
    )
    assert "the curator who adds the noise must be trusted" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("variant", ["plain", "hard", "soft", "hybrid"])
def test_links_become_a_graph_by_the_variant_that_is_asked_for(variant, capsys):
    assert (
        status([*LINKS, "--link-mechanism", "blink", "--set", f"link.variant={variant}", "--no-control"]) == 0
    )
    assert "nonprivate" in capsys.readouterr().out


NO_LINKS = [
    (["--set", "link.variant=firm"], "no variant of links is named 'firm'"),
    (["--set", "link.share=0.2"], "share"),
    (["--link-mechanism", "blink", "--set", "link.ends=neither"], "ends must be 'one'"),
    (
        ["--link-mechanism", "lapgraph", "--set", "link.variant=hard"],
        "the graph of lapgraph is taken as it is: leave link.variant out",
    ),
    (["--link-epsilon", "0.5"], "--allow-dense"),
]


def test_options_of_links_without_meaning_are_refused(capsys):
    assert not_refused([([*LINKS, *words], said) for words, said in NO_LINKS], capsys) == []


def test_options_of_links_are_refused_where_links_are_public(capsys):
    assert status([*RUN, "--set", "link.variant=hard"]) == 2
    assert "link.variant has no meaning where links are public" in capsys.readouterr().err


LABELS = ["run", "base", "--data", "town-labels", "--epsilon", "4", "--runs", "2", *SMALL]


def test_several_labels_a_user_are_measured_by_f1_beside_control_and_structure(capsys):
    assert status([*LABELS, "--json"]) == 0
    fields = json.loads(capsys.readouterr().out)
    assert fields["metric"] == "f1"
    parts = (fields, fields["control"], fields["structure"])
    assert all(0 <= part["mean"] <= 1 for part in parts)
    assert fields["gain"]["mean"] == pytest.approx(fields["mean"] - fields["control"]["mean"])
    assert status(LABELS) == 0
    assert "f1 on town-labels" in capsys.readouterr().out


def test_one_of_several_labels_is_measured_by_accuracy(capsys):
    words = [*LABELS, "--set", "data.label=1", "--label-epsilon", "2", "--no-control", "--json"]
    assert status(words) == 0
    assert json.loads(capsys.readouterr().out)["metric"] == "accuracy"


def test_a_turnout_of_users_with_several_labels_tells_of_links_alone(capsys):
    assert status([*LABELS, "--participation", "0.7", "--no-control"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "all were charged; their links differ from everybody's by" in printed


NO_LABELS = [
    (["--label-epsilon", "1"], "--label-epsilon reports one class a user: leave it out"),
    (["--participation", "0.5", "--silence", "class"], "not classes: take silence random or degree"),
    (["--set", "data.split=few"], "take split='random'"),
]


def test_what_has_no_meaning_for_several_labels_is_refused(capsys):
    assert not_refused([([*LABELS, *words], said) for words, said in NO_LABELS], capsys) == []


def test_a_method_of_one_class_a_user_refuses_several_labels_and_names_those_that_do_not(capsys):
    assert status([LABELS[0], "lpgnn", *LABELS[2:]]) == 2
    assert (
        "lpgnn learns one class a user, and users of town-labels have several labels each: take one of base, heterorr"
        in capsys.readouterr().err
    )
