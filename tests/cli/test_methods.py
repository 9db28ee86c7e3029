import json

from graphveil.cli import status
from graphveil.methods import METHODS


def page(capsys, *words):
    assert status(["methods", *words]) == 0
    return " ".join(capsys.readouterr().out.split())


def test_the_list_has_every_method_and_no_settings(capsys):
    printed = page(capsys)
    assert all(name in printed for name in METHODS.own())
    assert "--set for" not in printed


def test_a_method_s_page_has_what_it_does_asks_and_can_be_set_to(capsys):
    printed = page(capsys, "lpgnn")
    assert printed.startswith(
        "lpgnn: KProp on reports, then a GNN; private labels by Drop Locally private graph"
    )
    assert "It asks users about their features at --epsilon, by multibit" in printed
    assert "classes of users (--task node) or held-out links (--task link)" in printed
    assert "hops 4 K, how many hops reports are averaged over" in printed
    assert "patience none" in printed
    assert printed.endswith("Example: graphveil run lpgnn --data town --epsilon 2 --set epochs=500")
    assert "veil" not in printed.replace("graphveil", "")


def test_the_settings_of_one_method_alone(capsys):
    printed = page(capsys, "lpgnn", "--settings")
    assert "hops 4 K, how many hops reports are averaged over" in printed
    assert "It asks users" not in printed and "Example" not in printed


ASKED = [
    ("nonprivate", "It reads raw features, and claims no privacy for them."),
    ("structure", "It asks nobody about features."),
    ("ppgnn", "Users may choose one of 6 privacy levels each (--levels, --budgets)."),
    ("veil", "It learns from the raw rows of volunteers too, where there are some (--panel)."),
    ("solitude", "links with --link-epsilon (by "),
]


def test_what_a_method_asks_for_is_told(capsys):
    assert [name for name, sentence in ASKED if sentence not in page(capsys, name)] == []


def test_every_method_has_a_page_with_all_its_settings(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    pages = {name: page(capsys, name) for name in METHODS.own()}
    missing = [
        (name, key)
        for name, printed in pages.items()
        for key, info in METHODS.find(name).settings.model_fields.items()
        if key not in printed or info.description not in printed
    ]
    assert missing == []


def test_json_says_what_a_method_asks_for(capsys):
    (fields,) = json.loads(page(capsys, "base", "--json"))["methods"]
    assert fields["name"] == "base" and fields["needs_epsilon"] is True
    assert fields["asks"][0].startswith("It asks users about their features")
    assert fields["settings"]["epochs"]["default"] == 500


def test_an_unknown_method_is_refused(capsys):
    assert status(["methods", "nobody"]) == 2
    assert "no method is named 'nobody'" in capsys.readouterr().err
