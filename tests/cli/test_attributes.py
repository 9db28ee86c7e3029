from html import escape

import numpy as np
import pytest

import graphveil as gv
from graphveil.methods import scoring

SMALL = "--set data.users=400 --set data.features=24 --set data.neighbourhood=25 --set data.labelled=0.3 --set data.validated=0.2 --runs 2"
PLAIN = "attributes --data town --epsilon 20"
RANK = f"{PLAIN} {SMALL}"


@pytest.fixture(autouse=True)
def few_scores(own_folder, monkeypatch):
    # Two simulated rounds are enough to compare with here.
    monkeypatch.setattr(scoring, "NULL_SCORES", 40)


def test_the_table_stands_beside_control_and_chance(call):
    title, *lines = call(RANK).lines
    assert title == "Attributes of town at ε = 20"
    assert " ".join(lines[0].split()) == (
        "rank attribute score over one that says nothing in the top 5 correlation with degree"
    )
    assert [line.split()[0] for line in lines[1:11]] == [str(rank) for rank in range(1, 11)]
    assert lines[11].split()[:2] == ["control's", "best"]
    assert lines[12].startswith("the top 5 agree with the ranking without privacy in ")
    starts = ["Stability: Jaccard ", "Agreement with the ranking without privacy: ", "Fairness: mean "]
    assert [line.startswith(start) for line, start in zip(lines[13:16], starts, strict=True)] == [True] * 3
    assert "control" in lines[13] and "chance 0.13" in lines[13]
    assert lines[14].endswith("chance 20.8%.")
    assert lines[16].startswith("What is without privacy, and correlation with degree, look at ")
    assert lines[17] == "Every user reported features at ε = 20; the server needs no trust."


def test_json_is_one_object_and_nothing_else(call, tmp_path):
    fields = call(RANK, "--json --top 3 --hops 1 --analysis chi-square --out a.png").json
    expected = {"data": "town", "epsilon": 20.0, "mechanism": "piecewise", "analysis": "chi-square"}
    expected |= {
        "hops": 1,
        "top": 3,
        "runs": 2,
        "task": "node",
        "seed": 0,
        "label_epsilon": None,
        "figure": "a.png",
    }
    assert {key: fields[key] for key in expected} == expected
    names = {"attribute", "name", "score", "relative", "times_in_top", "degree_correlation"}
    assert {frozenset(each) for each in fields["attributes"]} == {frozenset(names)}
    assert set(fields["stability"]) == {"jaccard", "control", "chance", "without_privacy"}
    assert set(fields["agreement"]) == {"share", "control", "chance", "probability"}
    assert set(fields["fairness"]) == {"top", "all"}
    assert fields["privacy"]["features"] == {"epsilon": 20.0, "delta": 0.0}
    assert "ranking without privacy" in fields["verdict"]
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_a_page_begins_with_the_verdict_and_has_figure_and_table(call, tmp_path):
    *_, verdict, _, _, _, _, _, where = call(RANK, "--out a.html").lines
    assert where == "The page is in a.html."
    page = (tmp_path / "a.html").read_text()
    assert f'<p class="headline">{escape(verdict[0].upper() + verdict[1:])}.</p>' in page
    assert page.index("<svg ") < page.index("<td") and page.count("<tr>") == 12
    assert "Stability: Jaccard" in page and "Every user reported features at ε = 20" in page


def test_the_same_command_prints_the_same(call):
    first, again, other = (call(RANK, f"--json --seed {seed}").out for seed in (0, 0, 7))
    assert first == again != other


def test_one_run_and_private_labels(call):
    out = call(RANK, "--runs 1 --label-epsilon 2").out
    assert "Stability: one run has no stability to measure" in out
    assert "Users reported features at ε = 20 and labels at ε = 2, in all ε = 22" in out


def test_names_of_features_are_shown_as_they_are(call, tmp_path):
    graph, users = gv.load("town", users=200, features=8, telling=2, labelled=0.3, validated=0.2)
    arrays = {"x": users.raw.features, "y": users.raw.labels, "edges": graph.edge_list().T}
    names = np.array([f"[red]{place}" for place in range(8)])
    np.savez(tmp_path / "my.npz", **arrays, range=np.array([0.0, 1.0]), feature_names=names)
    out = call("attributes --data my.npz --epsilon 2 --runs 2 --top 2").out
    assert all(f"[red]{place} " in out for place in range(8))


MISTAKES = [
    (f"{RANK} --top 0", "top must be an integer of at least 1, got 0"),
    (f"{RANK} --analysis guess", "setting analysis"),
    (f"{RANK} --hops -1", "setting analysis_hops"),
    (f"{RANK} --set rho=1", "--set takes data.KEY and mechanism.KEY here, such as data.users=400, got 'rho'"),
    (f"{RANK} --range wide", "--range takes LOW,HIGH"),
    (f"{RANK} --runs 0", "runs must be an integer of at least 1"),
    (f"{RANK} --out a.pdf", "a.pdf has the unsupported format .pdf: use .svg, .png or .html with --out"),
    (f"{RANK} --mechanism krr", "krr does not report features"),
    (f"{RANK} --task link --analysis sma", "leave --analysis out"),
    ("attributes --data town --epsilon -1", "epsilon must be a positive finite number"),
    ("attributes --data town", "Missing option '--epsilon'"),
]
LATER = [
    (f"{RANK} --top 25", "top must be from 1 to 24, the number of attributes, got 25"),
    (f"{RANK} --mechanism laplace", "togl needs a mechanism that asks for some of the values"),
    (f"{RANK} --epsilon 100", "which piecewise does not with 24 of them at epsilon 100"),
]


def test_a_mistake_exits_with_2_and_one_line(refuses, tmp_path):
    refuses([*MISTAKES, *LATER], printed=False)
