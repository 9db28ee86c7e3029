import re
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from graphveil.experiments import ResultStore
from graphveil.experiments.store import RESULTS, select
from tests.cli.support import town
from tests.interrupting import interrupted_when

pytestmark = pytest.mark.usefixtures("forget_outside", "own_cache")

SMALL = f"--set epochs=3 {town(users=400)}"
RUN = f"run base --data town --epsilon 2 --runs 2 {SMALL}"
ONCE = f"{RUN} --runs 1 --no-control --json"
LINKS = f"run nonprivate --data town --link-epsilon 6 --runs 1 --seed 1 {SMALL}"


def test_a_run_prints_a_table_and_a_verdict(call):
    printed = call(RUN).words
    for words in (
        "base, multibit, ε = 2",
        "control, ε = 0",
        "structure (",
        "gain over the control",
        "points",
    ):
        assert words in printed
    assert "Every user reported features at ε = 2" in printed


def test_a_run_that_learns_norms_too_says_how_well_and_what_that_cost(call):
    printed = call(RUN, "--norm-epsilon 1.5 --norm-bound 4").words
    error = r"norm: mean absolute error [\d.]+ \(-?[\d.]+ to [\d.]+\), control [\d.]+, constant guess [\d.]+"
    assert re.search(error, printed)
    assert "features at ε = 3.5, 1.5 of it for norms (norms of training and validation users)" in printed
    printed = call(RUN, "--runs 1 --norm-epsilon 1.5 --no-control").words
    assert re.search(r"norm: mean absolute error [\d.]+, constant guess [\d.]+", printed)


def test_json_is_one_object_and_the_same_twice(call):
    first, second = (call(RUN, "--runs 1 --json --fresh").json for _ in range(2))
    changing = ("seconds", "peak_mb")
    assert {**first, **dict.fromkeys(changing)} == {**second, **dict.fromkeys(changing)}


def test_finished_runs_are_kept_and_resumed(call, monkeypatch, own_cache):
    once = f"{RUN} --runs 1 --json"
    first = call(once).json
    assert select(own_cache / RESULTS, "SELECT count(*) FROM units", ()) == [[(3,)]]
    monkeypatch.setattr("graphveil.experiments.runner.compute_unit", lambda *_: pytest.fail("ran again"))
    printed = call(once)
    assert printed.json["runs"] == first["runs"]
    assert "Reused 3 finished runs; --fresh computes anew." in printed.err


def test_more_runs_go_on_from_those_that_are_there_and_fresh_ones_are_computed_anew(call, counted):
    (first,) = call(ONCE).json["runs"]
    printed = call(ONCE, "--runs 2")
    assert printed.json["runs"][0] == first
    assert "Reused 1 finished run;" in printed.err
    counted["units"].clear()
    call(ONCE, "--fresh")
    assert counted["units"] == [("method", 0)]


@pytest.fixture
def older(call_another_version):
    """The numbers of a run that another version has kept."""
    return call_another_version(ONCE).json["runs"]


def test_runs_of_another_version_are_run_again_and_it_is_said(older, call, own_cache):
    printed = call(ONCE)
    assert printed.json["runs"] == older
    assert "Not reused, runs of another version (--any-version does): 1 (graphveil" in printed.err
    assert select(own_cache / RESULTS, "SELECT count(*) FROM units", ()) == [[(2,)]]


def test_runs_of_any_version_are_reused_and_it_is_said_which(older, call, monkeypatch):
    monkeypatch.setattr("graphveil.experiments.runner.compute_unit", lambda *_: pytest.fail("ran again"))
    printed = call(ONCE, "--any-version")
    assert printed.json["runs"] == older
    line, count = [line for line in printed.err.splitlines() if line.strip()]
    assert line.startswith("Reused runs of another version: 1 (graphveil ")
    assert line.endswith("source eeeeeeeeeeee).")
    assert count == "Reused 1 finished run; --fresh computes anew."


def test_a_damaged_record_is_told_on_stderr_and_run_again(call, own_cache):
    first = call(ONCE).json["runs"]
    with closing(sqlite3.connect(own_cache / RESULTS)) as connection, connection:
        connection.execute("UPDATE units SET unit = '{'")
    printed = call(ONCE)
    assert printed.json["runs"] == first
    assert "1 kept record cannot be read and was skipped." in printed.err


def test_a_file_that_is_no_database_is_one_line_and_stays(refuses, own_cache):
    own_cache.mkdir()
    (own_cache / RESULTS).write_text("something else " * 100)
    refuses([(ONCE, f"{RESULTS} is no database: move it away")])
    assert (own_cache / RESULTS).read_text() == "something else " * 100


def test_a_cache_that_cannot_be_written_is_one_line(refuses, tmp_path, monkeypatch):
    (tmp_path / "taken").touch()
    monkeypatch.setenv("GRAPHVEIL_CACHE", str(tmp_path / "taken"))
    refuses([(ONCE, "name another folder with GRAPHVEIL_CACHE")])


def test_a_file_of_one_s_own_runs_and_a_range_is_needed_and_can_be_given(call, tmp_path):
    random = np.random.default_rng(0)
    ranged, bare = tmp_path / "ranged.npz", tmp_path / "bare.npz"
    arrays = {"edges": random.integers(0, 60, (120, 2)), "x": random.random((60, 5)), "y": np.arange(60) % 2}
    np.savez(ranged, **arrays, range=(0, 1))
    np.savez(bare, **arrays)
    more = "--epsilon 1 --set epochs=2 --no-control --runs 1 --json"
    assert call(f"run base --data {ranged}", more).json["data"] == str(ranged)
    assert "no public range" in call(f"run base --data {bare}", more, ends=2).err
    call(f"run base --data {bare} --range 0,1", more)


MISTAKES = [
    ("run base --data town", "needs a budget: give --epsilon, like 1"),
    ("run base --data town --epsilon 0", "--epsilon must be a positive finite number, got 0.0"),
    ("run base --data town --epsilon nan", "epsilon must be a positive finite number, got nan"),
    ("run nonprivate --data town --epsilon 1", "nonprivate reports no features"),
    ("run structure --data town --epsilon 1", "leave --epsilon out"),
    ("run base --data town --epsilon 1 --link-epsilon -1", "--link-epsilon must be"),
    ("run base --data town --epsilon 1 --norm-bound 2", "give --norm-epsilon too"),
    ("run base --data town --epsilon 1 --set link.beta=1", "give --link-epsilon too"),
    ("run base --data town --epsilon 1 --link-mechanism dprr", "give --link-epsilon too"),
    ("run ppgnn --data town --epsilon 1 --budgets 2,1", "--budgets must be"),
    ("run base --data town --epsilon 1 --panel 5", "--panel has no meaning for it"),
    ("run nobody --data town", "no method is named 'nobody': choose one of"),
    ("run base --data town --epsilon 1 --set speed=1", "there is no setting 'speed' here"),
    ("run base --data town --epsilon 1 --set speed", "--set takes KEY=VALUE, got 'speed'"),
    ("run base --data town --epsilon 1 --range 0", "--range takes LOW,HIGH"),
    ("run base --data town --epsilon 1 --mechanism x", "no mechanism is named 'x'"),
    ("run base --data town --epsilon 1 --backbone x", "no backbone is named 'x'"),
    ("run base --data town --epsilon 1 --jobs 0", "--jobs must be an integer of at least 1, got 0"),
    ("run base --data town --epsilon 1 --runs 0", "--runs must be an integer of at least 1"),
    ("run base --data town --epsilon 1 --set data.size=1", "town has no option 'size'"),
    ("run base --data nowhere/x.npz --epsilon 1", "x.npz"),
    (
        "run base --data town --epsilon 1 --any-version --fresh",
        "--any-version has no meaning where all is computed anew: leave out --fresh",
    ),
    ("run base --data town --epsilon 1 --out x.svg", "--out draws a curve over several budgets"),
    (
        f"{RUN} --mechanism featurerr --set 'mechanism.shares=[0.5, 0.5]'",
        "shares must be 16 numbers of at least 0 that are not all 0, got [0.5, 0.5]",
    ),
    ("run base --data town --epsilon 1,2,1", "--epsilon names 1 twice: leave one out"),
    ("run base --data town --epsilon 1,-2", "epsilon must be a positive finite number"),
    ("run base --data town --epsilon 1,x", "--epsilon takes numbers with commas"),
    ("run base --data town --epsilon 1,2 --out x.pdf", "x.pdf has the unsupported format .pdf"),
    (
        "run base --data town --epsilon 1 --set 'mechanism.shares=[1,'",
        "--set mechanism.shares takes a list in brackets",
    ),
]


def test_a_mistake_exits_with_2_and_one_line(refuses):
    refuses(MISTAKES)


def test_an_interrupt_stops_all_processes_and_keeps_what_the_same_command_goes_on_with(own_cache, call):
    def one_is_kept():
        return select(own_cache / RESULTS, "SELECT id FROM units WHERE part = 'method'", ()) != [[]]

    ended = interrupted_when(one_is_kept, f"{RUN} --runs 500 --jobs 2".split())
    assert ended.status == 130
    assert "base, multibit, ε = 2" in ended.out
    kept = r"Interrupted: \d+ of 1500 runs, control and structure counted too, are finished and kept"
    assert re.search(rf"{kept}; the same command goes on from there\.", ended.err)
    assert [record.interrupted for record in ResultStore(own_cache / RESULTS).results()] == [True]
    assert "Traceback" not in ended.err
    ((kept,),) = select(own_cache / RESULTS, "SELECT count(*) FROM units WHERE seed = '0'", ())
    assert f"Reused {kept[0]} finished run" in call(RUN, "--runs 1").err


PRIVATE = f"run solitude --data town --epsilon 2 --link-epsilon 6 {SMALL}"


def test_private_links_are_charged_and_compared_with_no_edges(call):
    found = call(PRIVATE, "--runs 1 --json").json
    assert found["privacy"]["links"] == {"epsilon": 6.0, "delta": 0.0}
    assert found["privacy"]["total"]["epsilon"] == 2.0
    assert found["control"] and found["structure"] and found["edgeless"]
    assert found["gain_over_edgeless"]["mean"] == pytest.approx(found["mean"] - found["edgeless"]["mean"])
    assert "the private graph alone; links at ε = 6 add" in found["verdict"]


def test_how_much_the_private_graph_leaves_out_is_told(call):
    blink = (LINKS, "--link-mechanism blink --no-control")
    also = call(*blink, "--json").json["also"]
    assert also["links_kept"]["mean"] > 0 and also["links_left_out"]["mean"] >= 0
    assert "links are expected among reported pairs that were left out" in call(*blink).words


def test_links_that_do_not_fit_are_refused_with_their_size(call):
    assert "GB" in (said := call(PRIVATE, "--max-memory 0.00001", ends=2).err) and "--link-epsilon" in said


def test_silent_users_are_told_and_charged(call):
    silent = "--participation 0.7 --label-epsilon 2 --runs 1"
    fields = call(RUN, silent, "--json").json
    assert fields["answered"]["asked"] == 400
    assert 240 < fields["answered"]["answered"] < 320
    assert fields["privacy"]["total"]["epsilon"] == 4.0
    assert fields["privacy"]["silent"] is True
    assert {round_["users"] for round_ in fields["privacy"]["rounds"]} == {400, 160}
    printed = call(RUN, silent).words
    assert "of 400 users who were asked answered, and all were charged" in printed
    assert "Users were asked to report features" in printed
    # Everybody answers unless something else is said.
    fields = call(RUN, "--runs 1 --no-control --json").json
    assert fields["answered"] == {"asked": 400, "answered": 400}
    assert "silent" not in fields["privacy"]


VOLUNTEERING = f"{Path(__file__).parents[1] / 'volunteering.py'}:Volunteering"
GIVEN = f"run {VOLUNTEERING} --data town --epsilon 2 --runs 2 {SMALL}"


def test_a_run_and_a_page_with_volunteers_name_them_and_what_they_are_worth_alone(call, tmp_path):
    printed = call(GIVEN, "--panel 30").words
    assert "the same with volunteers alone" in printed and "gain over volunteers alone" in printed
    assert "30 volunteers gave their raw features; everybody else reported features at ε = 2" in printed
    call(f"report --out {tmp_path / 'page.html'}")
    text = (tmp_path / "page.html").read_text()
    assert "30 volunteers raw; features ε = 2; local" in text and "volunteers alone" in text
    assert "panel=30" in text


def test_the_json_of_a_run_with_volunteers_says_who_gave_what(call):
    fields = call(GIVEN, "--panel 30 --json").json
    assert fields["privacy"]["panel"] == {"users": 30, "raw": True}
    assert fields["privacy"]["trust"] == "local" and fields["answered"]["asked"] == 370
    assert set(fields["unasked"]) == {"runs", "mean", "low", "high"}
    gain = fields["gain_over_unasked"]["mean"]
    assert gain == pytest.approx(fields["mean"] - fields["unasked"]["mean"])
    fields = call(GIVEN, "--json").json
    assert fields["privacy"]["panel"] is None and "unasked" not in fields


def test_volunteers_of_a_file_are_taken_and_no_others_are_drawn(call, tmp_path):
    random = np.random.default_rng(0)
    arrays = {"edges": random.integers(0, 80, (200, 2)), "y": np.arange(80) % 2, "panel": np.arange(80) < 10}
    club, bare = tmp_path / "club.npz", tmp_path / "bare.npz"
    np.savez(club, **arrays, x=random.random((80, 4)), range=[0, 1])
    np.savez(bare, **arrays, range=[0, 1])
    run = f"run {VOLUNTEERING} --data {club} --epsilon 2 --runs 1"
    fields = call(run, "--json").json
    assert fields["privacy"]["panel"] == {"users": 10, "raw": True} and fields["unasked"]
    assert "has 10 volunteers of its own" in call(run, "--panel 5", ends=2).said
    assert call(f"run structure --data {club} --runs 1 --json").json["privacy"]["panel"] is None
    assert "volunteers could give" in call(f"run structure --data {bare}", ends=2).err


@pytest.mark.parametrize("mechanism", ["link-rr", "dprr", "blink", "lapgraph", "privhrg", "edgerr"])
def test_every_mechanism_for_links_gives_a_graph_to_learn_from(mechanism, call):
    for task in ("node", "link"):
        told = call(LINKS, f"--link-mechanism {mechanism} --task {task} --no-control --json").json
        assert told["privacy"]["links"] == {"epsilon": 6.0, "delta": 0.0}, task
        assert 0 < told["mean"] <= 1, task


def test_a_curator_is_named_where_one_is_needed(call):
    base = LINKS.replace("nonprivate", "base")
    printed = call(base, "--epsilon 1 --link-mechanism lapgraph --no-control").words
    assert "the curator who adds the noise must be trusted" in printed


@pytest.mark.parametrize("variant", ["plain", "hard", "soft", "hybrid"])
def test_links_become_a_graph_by_the_variant_that_is_asked_for(variant, call):
    told = call(LINKS, f"--link-mechanism blink --set link.variant={variant} --no-control")
    assert "nonprivate" in told.out


LABELS = f"run base --data town-labels --epsilon 4 --runs 2 {SMALL}"


def test_several_labels_a_user_are_measured_by_f1_beside_control_and_structure(call):
    fields = call(LABELS, "--json").json
    assert fields["metric"] == "f1"
    parts = (fields, fields["control"], fields["structure"])
    assert all(0 <= part["mean"] <= 1 for part in parts)
    assert fields["gain"]["mean"] == pytest.approx(fields["mean"] - fields["control"]["mean"])
    assert "f1 on town-labels" in call(LABELS).out


def test_one_of_several_labels_is_measured_by_accuracy(call):
    told = call(LABELS, "--set data.label=1 --label-epsilon 2 --no-control --json").json
    assert told["metric"] == "accuracy"


def test_a_turnout_of_users_with_several_labels_tells_of_links_alone(call):
    printed = call(LABELS, "--participation 0.7 --no-control").words
    assert "all were charged; their links differ from everybody's by" in printed


NOT_RUN = [
    # Who answers.
    ("run base --data town --epsilon 1 --participation 0", "participation must be a number above 0"),
    ("run base --data town --epsilon 1 --participation 1.1", "participation must be a number above 0"),
    ("run base --data town --epsilon 1 --silence degree", "silence has no meaning where everybody"),
    (
        "run base --data town --epsilon 1 --participation 0.5 --silence class-y",
        "no silence is named 'class-y'",
    ),
    ("run nonprivate --data town --participation 0.5", "nonprivate asks nobody here"),
    ("run structure --data town --participation 0.5", "structure asks nobody here"),
    # Links.
    (f"{LINKS} --set link.variant=firm", "no variant of links is named 'firm'"),
    (f"{LINKS} --set link.share=0.2", "share"),
    (f"{LINKS} --link-mechanism blink --set link.ends=neither", "ends must be 'one'"),
    (
        f"{LINKS} --link-mechanism lapgraph --set link.variant=hard",
        "the graph of lapgraph is taken as it is: leave link.variant out",
    ),
    (f"{LINKS} --link-epsilon 0.5", "--allow-dense"),
    (f"{RUN} --set link.variant=hard", "link.variant has no meaning where links are public"),
    (f"{PRIVATE} --link-mechanism krr", "krr does not report links: choose link-rr"),
    # Volunteers.
    (f"{GIVEN} --panel 0", "panel must be an integer of at least 1, got 0"),
    (f"{GIVEN} --panel 401", "panel must be an integer of at most 80, the number of training users"),
    (f"{RUN} --panel 30", "base does not learn from volunteers' raw features"),
    ("run nonprivate --data town --panel 30", "nonprivate does not learn from volunteers'"),
    # Several labels.
    (f"{LABELS} --label-epsilon 1", "--label-epsilon reports one class a user: leave it out"),
    (f"{LABELS} --participation 0.5 --silence class", "not classes: take silence random or degree"),
    (f"{LABELS} --set data.split=few", "take split='random'"),
    (
        f"run lpgnn --data town-labels --epsilon 4 {SMALL}",
        "lpgnn learns one class a user, and users of town-labels have several labels each: take one of base, heterorr",
    ),
]


def test_what_has_no_meaning_is_refused(refuses):
    refuses(NOT_RUN)
