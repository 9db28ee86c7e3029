import pytest

from graphveil.methods import METHODS


@pytest.fixture
def page(call):
    return lambda *words: call("methods", *words).words


def test_the_list_has_every_method_and_no_settings(page):
    printed = page()
    assert all(name in printed for name in METHODS.own())
    assert "--set for" not in printed
    printed = page("--settings")
    assert "base" in printed and "nonprivate" in printed and "input_share" in printed


def test_a_method_s_page_has_what_it_does_asks_and_can_be_set_to(page):
    printed = page("lpgnn")
    assert printed.startswith(
        "lpgnn: KProp on reports, then a GNN; private labels by Drop Locally private graph"
    )
    assert "It asks users about their features at --epsilon, by multibit" in printed
    assert "classes of users (--task node) or held-out links (--task link)" in printed
    assert "patience none" in printed
    assert printed.endswith("Example: graphveil run lpgnn --data town --epsilon 2 --set epochs=500")
    assert "veil" not in printed.replace("graphveil", "")
    settings = page("lpgnn --settings")
    for each in (printed, settings):
        assert "hops 4 K, how many hops reports are averaged over" in each
    assert "It asks users" not in settings and "Example" not in settings


ASKED = [
    ("nonprivate", "It reads raw features, and claims no privacy for them."),
    ("structure", "It asks nobody about features."),
    ("ppgnn", "Users may choose one of 6 privacy levels each (--levels, --budgets)."),
    ("veil", "It learns from the raw rows of volunteers too, where there are some (--panel)."),
    ("solitude", "links with --link-epsilon (by "),
]


def test_every_page_has_all_settings_and_what_a_method_asks_for(page, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    pages = {name: page(name) for name in METHODS.own()}
    missing = [
        (name, key)
        for name, printed in pages.items()
        for key, info in METHODS.find(name).settings.model_fields.items()
        if key not in printed or info.description not in printed
    ]
    assert missing == []
    assert [name for name, sentence in ASKED if sentence not in pages[name]] == []


def test_json_says_what_a_method_asks_for(call):
    (fields,) = call("methods base --json").json["methods"]
    assert {"name": "base", "needs_epsilon": True}.items() <= fields.items()
    assert fields["asks"][0].startswith("It asks users about their features")
    assert fields["settings"]["epochs"]["default"] == 500
    assert call("methods --json").json["methods"][0] == fields


def test_an_unknown_method_is_refused(refuses):
    refuses([("nobody", "no method is named 'nobody'")], "methods")
