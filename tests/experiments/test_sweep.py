"""Sweeps: their files, their cells, and what is reused."""

import math
import re

import pytest

from graphveil.errors import GraphveilError, InputError
from graphveil.experiments import ResultStore, run_experiment
from graphveil.experiments.experiment_file import packaged
from graphveil.experiments.result import Result
from graphveil.experiments.results import latest
from graphveil.experiments.runner import RunOptions, run_study, unit_count
from graphveil.experiments.study import FOLDER, MOST_ENTRIES
from graphveil.experiments.study_result import StudyResult
from graphveil.graphs.datasets import DATASETS
from tests.experiments.known import axis, choices, sweep_of
from tests.refusals import check_refused

SMALL = """
title = "a small one"
[base]
method = "base"
data = "town"
runs = 2
[base.settings]
epochs = 2
data.users = 200
data.features = 16
data.telling = 4
data.labelled = 0.2
data.validated = 0.2
"""
AXES = axis("epsilon", [1, 4]) + axis("settings.lr", [0.01, 0.1], 'label = "rate"\n')

# One run without a control, where what is run does not matter.
ONCE = SMALL.replace("runs = 2", "runs = 1")
ALONE = ONCE.replace("runs = 1", "runs = 1\ncontrol = false")

# What draws figures of documents that take ten runs.
DOCUMENTS = ("ldpge", "ppgnn", "togl", "upgnet")


@pytest.fixture
def small(sweep):
    return sweep(SMALL + AXES, "small")


def ran(study, tmp_path, **options):
    """All cells of a study, run with a store in this folder."""
    return run_study(study, RunOptions(file=tmp_path / "results.sqlite", **options))


def titles(study):
    """The titles of its panels."""
    return [panel.study.title for panel in StudyResult.unfinished(study).panels]


@pytest.mark.parametrize("name", packaged(FOLDER))
def test_every_packaged_sweep_can_be_run(name):
    asked = sweep_of(name)
    assert asked.title and len(asked.cells) == math.prod(len(axis.values) for axis in asked.axes)
    for cell in asked.cells:
        cell.experiment.check()
        assert cell.experiment.runs == (10 if name.startswith(DOCUMENTS) and name != "togl-pool" else 5)
        assert cell.experiment.control


PACKAGED = {
    "heterorr": "edges gamma",
    "ldpge": "epsilon k-links k",
    "ppgnn": "backbones distributions epsilon flexprop-gcn flexprop-sage gamma h hops laplace m weights",
    "togl": "analysis backbones budgets epsilon k links pool rho",
    "upgnet": "backbones epsilon heterophily-k heterophily hops nfr orders regularizers residual scale tau",
}


def test_the_packaged_sweeps_are_these():
    named = {f"{paper}-{name}" for paper, names in PACKAGED.items() for name in names.split()}
    assert set(packaged(FOLDER)) == named | {"inference", "links", "silence"}
    assert [name for name in packaged(FOLDER) if name.startswith("ldpge")] == [
        "ldpge-epsilon",
        "ldpge-k-links",
        "ldpge-k",
    ]


def specs_of(name):
    return [cell.experiment for cell in sweep_of(name).cells]


def test_ldpge_s_sweeps_have_what_its_figures_have():
    sweep = sweep_of("ldpge-epsilon")
    assert sweep.lines == ["LP", "PM", "MB", "HDS", "raw features, ε = ∞"]
    assert sweep.graphs == ["cora", "citeseer", "pubmed", "lastfm", "facebook", "wikipedia"]
    assert (sweep.spread, len(titles(sweep))) == ("sd", 6)
    raw = [spec for spec in specs_of("ldpge-epsilon") if spec.method == "ldpge-raw"]
    assert {spec.budgets.epsilon for spec in raw} == {None} and len(raw) == 6 * 6
    for name, task in (("ldpge-k", "node"), ("ldpge-k-links", "link")):
        specs = specs_of(name)
        assert {spec.task for spec in specs} == {task}
        assert {spec.resolved_settings.k for spec in specs} == {1, 3, 5, 10, 20, 30, 50}
        assert {spec.budgets.epsilon for spec in specs} == {1.0, 2.0, 3.0}
    # LastFM has its ten largest classes.
    for spec in (spec for name in ("ldpge-epsilon", "ldpge-k", "ldpge-k-links") for spec in specs_of(name)):
        assert spec.loader_options == ({"largest_classes": 10} if spec.data == "lastfm" else {})


def test_ppgnn_is_compared_on_six_graphs_with_three_backbones():
    specs = specs_of("ppgnn-epsilon")
    assert len({(spec.data, spec.backbone) for spec in specs}) == 18
    assert {spec.method for spec in specs} == {"nonprivate", "base", "lpgnn", "ppgnn"}
    assert {len(spec.level_budgets()) for spec in specs if spec.method == "ppgnn"} == {6}
    # NonPriv has the backbone of the others.
    sizes = {(spec.resolved_settings.hidden, spec.resolved_settings.activation) for spec in specs}
    assert sizes == {(16, "selu")}


def test_ppgnn_s_other_sweeps_differ_by_what_they_compare_alone():
    inner = {
        (each.budgets.mechanism, each.mechanism_options.get("inner")) for each in specs_of("ppgnn-laplace")
    }
    assert inner == {("laplace", None), ("ppm-printed", "laplace"), ("ppm-printed", None), ("ppm", None)}
    # Methods without levels are flat over distributions.
    for spec in specs_of("ppgnn-distributions"):
        assert (spec.levels.level_distribution is None) == (spec.method != "ppgnn")
    assert sweep_of("ppgnn-distributions").lines == ["BASE", "LPGNN", "LPGNN at 32ε", "PPGNN"]
    averages = {("kprop", None), ("flexprop", "printed"), ("flexprop", "inverse-variance")}
    for backbone in ("sage", "gcn"):
        specs = specs_of(f"ppgnn-flexprop-{backbone}")
        assert {spec.backbone for spec in specs} == {backbone}
        assert {(spec.settings["aggregator"], spec.settings.get("weights")) for spec in specs} == averages
    assert {spec.mechanism_options["sampled"] for spec in specs_of("ppgnn-m")} == {1, 2, 4, 8, 16}
    assert sweep_of("ppgnn-m").graphs == ["cora", "lastfm"]


def test_togl_s_budgets_have_six_mechanisms_on_six_graphs():
    names = {spec.budgets.mechanism for spec in specs_of("togl-epsilon")}
    assert names == {"piecewise", "multibit", "square-wave", "onebit", "laplace", "analytic-gaussian"}
    six = ["cora", "citeseer", "pubmed", "lastfm", "twitch", "facebook"]
    assert sweep_of("togl-epsilon").graphs == six
    assert sweep_of("togl-analysis").lines == ["SOTA", "FDA", "SMA"]
    for name in ("togl-k", "togl-budgets", "togl-rho"):
        assert sweep_of(name).lines == [f"data = {data}" for data in six]
    # Over its budget alone it is a part of what is compared.
    compared = {spec.key("method", 0) for spec in specs_of("togl-epsilon")}
    assert {spec.key("method", 0) for spec in specs_of("togl-budgets")} < compared


def test_togl_as_printed_is_trained_within_what_its_appendix_searches():
    names = [name for name in packaged(FOLDER) if name.startswith("togl-") and name != "togl-pool"]
    for settings in (spec.resolved_settings for name in names for spec in specs_of(name)):
        assert settings.dropout <= 0.1 and settings.weight_decay in (0, 1e-5, 1e-4, 1e-3)
        assert (settings.activation, settings.epochs) == ("relu", 300)


def test_slow_is_what_has_more_than_20_million_answers():
    every = ("onebit", "laplace", "gaussian", "analytic-gaussian")
    for name, cell in [(each, cell) for each in packaged(FOLDER) for cell in sweep_of(each).cells]:
        known = DATASETS.get(cell.experiment.data)
        entries = (known.users or 0) * (known.features or 0) if known else 0
        many = cell.experiment.budgets.mechanism in every and entries > MOST_ENTRIES
        assert cell.slow == (cell.experiment.resolved_method.can.asks and many), (name, cell.place)


def test_choices_compare_methods_that_have_other_settings():
    assert sweep_of("togl-backbones").lines == ["base", "togl"]
    specs = specs_of("togl-backbones")
    assert [spec.backbone for spec in specs] == ["gcn", "sage", "gat", "gin", "appnp", "sgc", "ssgc"] * 2
    assert {(spec.method, spec.settings.get("rho")) for spec in specs} == {("base", None), ("togl", 0.5)}
    assert {spec.settings["hidden"] for spec in specs} == {64}
    assert {spec.task for spec in specs_of("togl-links")} == {"link"}
    assert [spec.settings["pool"] for spec in specs_of("togl-pool")] == ["top", 1, 2, 4, 8, 16, 32, "auto"]


def test_upgnet_s_figures_have_the_axes_of_the_document():
    budgets, hops = [0.01, 0.1, 1.0, 2.0, 3.0], [0, 2, 4, 8, 16, 32, 64]
    for name in ("epsilon", "backbones", "orders", "nfr", "heterophily"):
        assert list(sweep_of(f"upgnet-{name}").axes[0].values) == budgets
    assert list(sweep_of("upgnet-hops").axes[0].values) == hops
    for name in ("heterophily-k", "residual"):
        assert list(sweep_of(f"upgnet-{name}").axes[0].values) == hops[1:]
    # Its experiments with hops are at this budget, and of HOA alone.
    for name in ("hops", "heterophily-k", "residual"):
        specs = specs_of(f"upgnet-{name}")
        assert {(spec.budgets.epsilon, spec.settings["regularizer"]) for spec in specs} == {(0.01, "off")}


def test_upgnet_s_figures_compare_what_the_document_compares():
    assert sweep_of("upgnet-epsilon").lines == ["NonPriv", "BASE", "LPGNN", "Solitude", "UPGNET"]
    four = ["cora", "citeseer", "lastfm", "facebook"]
    assert [(spec.data, spec.backbone) for spec in specs_of("upgnet-epsilon")[:: 5 * 5]] == [
        (data, backbone) for backbone in ("gcn", "sage", "gat") for data in four
    ]
    assert sweep_of("upgnet-nfr").graphs == sweep_of("upgnet-hops").graphs == four
    for name in ("heterophily", "heterophily-k"):
        assert sweep_of(f"upgnet-{name}").graphs == ["flickr", "reddit", "flickr-small"]
    assert {spec.method for spec in specs_of("upgnet-heterophily")} == {"base", "lpgnn", "solitude", "upgnet"}
    for name, compared in (("hops", ["hoa", "kprop"]), ("residual", ["hoa", "adaptive", "residual"])):
        found = dict.fromkeys(spec.settings["aggregator"] for spec in specs_of(f"upgnet-{name}"))
        assert list(found) == compared
    assert {spec.settings["order"] for spec in specs_of("upgnet-orders")} == {"N-H", "H-N"}
    regularizers = {spec.settings["regularizer"] for spec in specs_of("upgnet-regularizers")}
    assert regularizers == {"nfr", "dropout", "weight-lasso", "group-lasso"}


def test_every_figure_of_upgnet_is_named_in_one_title():
    titles = [sweep_of(name).title for name in packaged(FOLDER) if name.startswith("upgnet-")]
    figures = ("3", "4a", "4b", "5", "6", "7", "8", "9")
    named = {number: sum(f"(Fig. {number})" in title for title in titles) for number in figures}
    assert named == dict.fromkeys(figures, 1)


# Figures of documents that draw 95% bootstrap intervals.
BOOTSTRAPPED = [
    *(f"upgnet-{name}" for name in ("epsilon", "backbones", "orders", "nfr", "hops", "heterophily")),
    *("upgnet-heterophily-k", "upgnet-residual"),
    *(f"ppgnn-{name}" for name in ("epsilon", "backbones", "laplace", "distributions", "hops", "h", "gamma")),
    *("ppgnn-m", "ppgnn-flexprop-sage", "ppgnn-flexprop-gcn"),
    *(f"togl-{name}" for name in ("epsilon", "backbones", "links", "analysis", "k", "budgets", "rho")),
]


def test_means_have_the_spread_that_the_document_draws():
    assert {name: sweep_of(name).spread for name in BOOTSTRAPPED} == dict.fromkeys(BOOTSTRAPPED, "bootstrap")


HOPS = '{ method = "lpgnn", settings.hops = 3 }'
CHOICES = axis("epsilon", [1, 4]) + choices("way", {"plain": '{ method = "base" }', "three hops": HOPS})


def test_an_axis_of_choices_sets_several_fields(sweep, tmp_path):
    chosen = sweep(ONCE + CHOICES)
    assert chosen.lines == ["plain", "three hops"]
    specs = [cell.experiment for cell in chosen.cells]
    ways = [("base", None)] * 2 + [("lpgnn", 3)] * 2
    assert [(spec.method, spec.settings.get("hops")) for spec in specs] == ways
    with pytest.raises(InputError, match="sweeps settings.hops, so it cannot be fixed"):
        chosen.with_fields({"settings": {"hops": 1}})
    found = ran(chosen, tmp_path)
    assert found.tables[0].head == ("ε", "plain", "control", "three hops", "control", "structure")
    assert found.to_dict()["cells"][2]["at"] == {"epsilon": 1, "way": "three hops"}
    found.chart.write(tmp_path / "chosen.svg")


BAD_CHOICES = [
    ('label = "way"', "", "needs label"),
    ('label = "way"', 'label = "way"\nfield = "method"', "leave field out"),
    ('label = "plain"', 'label = "three hops"', "has the choice 'three hops' twice"),
    ('set = { method = "base" }', "", "needs set, a table"),
    ('method = "base"', "runs = 3", "runs cannot be swept"),
    ('method = "base"', "epsilon = 3.0", "has two axes of epsilon"),
    ('method = "base"', 'method = "nothing"', "plain: no method is named 'nothing'"),
]


def test_bad_choices_are_refused_with_a_sentence(sweep):
    assert [old for old, *_ in BAD_CHOICES if old not in CHOICES] == []
    check_refused(lambda old, new: sweep(SMALL + CHOICES.replace(old, new, 1)), BAD_CHOICES)


def test_the_first_axis_is_x_and_the_second_gives_lines(small):
    assert small.lines == ["rate = 0.01", "rate = 0.1"]
    cells = small.cells
    assert [cell.place for cell in cells] == [(0, 0), (1, 0), (0, 1), (1, 1)]
    assert [cell.experiment.budgets.epsilon for cell in cells] == [1.0, 4.0, 1.0, 4.0]
    assert [cell.experiment.settings["lr"] for cell in cells] == [0.01, 0.01, 0.1, 0.1]
    assert cells[0].experiment.loader_options["users"] == 200


def test_structure_is_computed_once_and_finished_units_are_reused(small, counted, tmp_path):
    counted["stop"] = 8
    part = ran(small, tmp_path)
    assert part.interrupted
    # 2 runs with structure, then one of the 2 runs of the next.
    assert [each.result is not None for each in part.outcomes] == [True, False, False, False]
    assert part.outcomes[1].partial.interrupted
    kept = ResultStore(tmp_path / "results.sqlite").results()
    assert [each.interrupted for each in kept] == [False, True]
    assert kept[0].runs == part.outcomes[0].result.runs
    counted["stop"] = None
    found = ran(small, tmp_path)
    assert not found.interrupted
    assert len(counted["units"]) == 4 * 4 + 2
    assert [part for part, _ in counted["units"]].count("structure") == 2
    assert [unit_count(cell.experiment) for cell in small.cells] == [6] * 4
    assert found.tables[0].head == ("ε", "rate = 0.01", "control", "rate = 0.1", "control", "structure")
    assert [row[0] for row in found.tables[0].rows] == ["1", "4"]
    assert ran(small, tmp_path).tables == found.tables
    assert len(counted["units"]) == 4 * 4 + 2
    # All anew, but structure still once; the same numbers.
    assert ran(small, tmp_path, fresh=True).tables == found.tables
    assert len(counted["units"]) == 2 * (4 * 4 + 2)
    for suffix, start in ((".svg", b"<svg"), (".png", b"\x89PNG")):
        file = tmp_path / f"figure{suffix}"
        found.chart.write(file)
        assert file.read_bytes().startswith(start)
        first = file.read_bytes()
        found.chart.write(file)
        assert file.read_bytes() == first


def test_a_cell_that_cannot_be_run_stops_all_but_the_tolerant_and_is_named(small, tmp_path):
    wrong = small.with_fields({"settings": {"data.users": -1}})
    with pytest.raises(GraphveilError):
        ran(wrong, tmp_path)
    assert isinstance(ran(wrong, tmp_path, tolerant=True).outcomes[0].error, GraphveilError)
    result = StudyResult.of(small, [InputError("no"), None, None, None])
    assert (result.failed, result.finished) == (["ε = 1, rate = 0.01: no"], {})


BAD_FILES = [
    ("title = [", "is not TOML"),
    ("title = 'x'\naxes = []", "needs base, a table"),
    (SMALL, "needs axes, a list"),
    (SMALL.replace("title", "name") + AXES, "has no 'name': it takes title, base, axes"),
    (SMALL.replace("method", "methods") + AXES, "base has no 'methods'"),
    (SMALL.replace('"base"', "3") + AXES, "base: method: Input should be a valid string, got 3"),
    (SMALL.replace('"base"', '"nothing"') + AXES, "no method is named 'nothing'"),
    (SMALL.replace("runs = 2", "runs = 2.5") + AXES, "base: runs: Input should be a valid integer"),
    (SMALL.replace("runs = 2", "runs = 0") + AXES, "runs must be an integer of at least 1"),
    (SMALL.replace("epochs", "speed") + AXES, "there is no setting 'speed' here"),
    (SMALL + AXES.replace("[1, 4]", "[]"), "axis epsilon has no values"),
    (SMALL + AXES.replace("[1, 4]", "4"), "axis epsilon: values must be a list, got 4"),
    (SMALL + AXES.replace("[1, 4]", "[1, 1.0]"), "has a value twice"),
    (SMALL + AXES.replace("[1, 4]", "[4, true]"), "epsilon: Input should be a valid number, got True"),
    (SMALL + AXES.replace("[1, 4]", '["x"]'), "axis epsilon: epsilon: Input should be a valid number"),
    (SMALL + AXES.replace("[1, 4]", "[1, -4]"), "epsilon must be a positive finite number, got -4"),
    (SMALL + AXES.replace('"epsilon"', '"budget"'), "axis budget has no 'budget'"),
    (SMALL + AXES.replace('"epsilon"', '"runs"'), "axis runs: it cannot be swept"),
    (SMALL + AXES.replace('"epsilon"', '"settings"'), "axis settings: it cannot be swept"),
    (SMALL + AXES.replace("settings.lr", "epsilon"), "has two axes of epsilon"),
    (SMALL + AXES.replace("label", "colour"), "an axis has no 'colour'"),
    (SMALL + AXES + AXES, "needs one to three axes, got 4"),
    (SMALL.replace('data = "town"', "") + AXES, "needs data"),
    (SMALL + AXES.replace("settings.lr", "gamma"), "gamma is for users who choose a privacy level"),
    (SMALL + AXES + axis("epsilon", [2]), "two axes of epsilon"),
    ("also = [1]\n" + SMALL + AXES, "also must be a list of names"),
    ('spread = "range"\n' + SMALL + AXES, "spread must be one of bootstrap, sd, got 'range'"),
]


def test_a_bad_file_is_refused_with_a_sentence(sweep):
    check_refused(sweep, BAD_FILES)


def test_a_swept_field_cannot_be_fixed_nor_another_be_wrong(small):
    wrong = [
        (small, {"epsilon": 2.0}, "small sweeps epsilon, so it cannot be fixed"),
        (small, {"settings": {"lr": 1.0}}, "small sweeps settings.lr, so it cannot be fixed"),
        (sweep_of("ppgnn-m"), {"settings": {"mechanism.sampled": 3}}, "sweeps settings.mechanism.sampled"),
        (sweep_of("ppgnn-h"), {"gamma": 2.0}, "gamma must be a number strictly between 0 and 1, got 2"),
    ]
    check_refused(lambda asked, fields: asked.with_fields(fields), wrong)
    assert small.with_fields({"runs": 1}).cells[0].experiment.runs == 1


def test_results_that_differ_in_levels_alone_are_two():
    def record(**levels):
        fields = {"method": "ppgnn", "data": "cora", "epsilon": 1.0, "mechanism": "ppm", "runs": [0.5]}
        return Result.model_validate({**fields, "mean": 0.5, "spec": {"levels": levels}})

    records = [record(levels=2), record(levels=3), record(gamma=0.3), record(level_distribution="strict")]
    assert len(latest(records)) == 4


def test_what_is_measured_besides_has_a_table_of_its_own(sweep):
    silent = sweep(
        'also = ["class_bias"]\n[base]\nmethod = "base"\ndata = "town"\nepsilon = 1.0\ncontrol = false\n'
        'settings = {epochs = 1, "data.users" = 200}\n[[axes]]\nfield = "participation"\nvalues = [1.0, 0.5]\n'
    )
    found = StudyResult.of(silent, [run_experiment(cell.experiment) for cell in silent.cells])
    (everybody, some) = found.tables[1].texts
    assert everybody == ("1", "-")
    assert some[0] == "0.5" and float(some[1]) > 0


THIRD = axis("mechanism", ["multibit", "piecewise"], 'label = "by"\n')


def test_a_third_axis_gives_panels_each_with_the_results_of_its_own_cells(sweep, tmp_path):
    panelled, by = sweep(ONCE + AXES + THIRD), ("multibit", "piecewise")
    assert [title.rpartition("; ")[2] for title in titles(panelled)] == [f"by = {name}" for name in by]
    cells = panelled.cells
    assert len({cell.place for cell in cells}) == len(cells) == 8
    assert all(cell.experiment.budgets.mechanism == by[cell.place[2]] for cell in cells)
    found = ran(panelled, tmp_path)
    for name, panel in zip(by, found.panels, strict=True):
        assert {outcome.result.mechanism for outcome in panel.outcomes} == {name}
        assert len(panel.tables[0].rows) == 2
    at = [cell["at"] for cell in found.to_dict()["cells"]]
    assert {"epsilon": 4, "settings.lr": 0.1, "mechanism": "piecewise"} in at and len(at) == 8
    found.chart.write(tmp_path / "panels.svg")
    drawn = (tmp_path / "panels.svg").read_text()
    assert "by = multibit" in drawn and "by = piecewise" in drawn


BASE = '{ method = "base" }\nslow = ["town"]'
RAW = '{ method = "nonprivate", epsilon = "none" }'
FLAT = axis("epsilon", [1, 4]) + choices("method", {"base": BASE, "raw": RAW})
NAMES = {"a town": "town", "cora": "cora", "lastfm": "lastfm"}
GRAPHS = choices("graph", {label: f'{{ data = "{name}" }}' for label, name in NAMES.items()})


def test_a_line_that_has_no_such_field_as_x_is_flat_and_computed_once(sweep, tmp_path, counted):
    flat = sweep(ONCE + FLAT)
    assert [cell.experiment.budgets.epsilon for cell in flat.cells] == [1, 4, None, None]
    assert flat.cells[2].experiment == flat.cells[3].experiment
    rows = ran(flat, tmp_path).tables[0].texts
    # Its control stands behind it, and there is none.
    assert rows[0][3] == rows[1][3] != "-" and rows[0][4] == "-"
    counted["units"].clear()
    raw = sweep(SMALL + FLAT).choose(lambda cell: cell.experiment.method == "nonprivate")
    ran(raw, tmp_path, fresh=True)
    assert counted["units"] == [("method", 0), ("method", 1)]


def test_what_is_slow_is_shortened_to_one_run(sweep):
    whole = sweep((SMALL + FLAT).replace("epochs = 2", "epochs = 200"))
    assert [cell.slow for cell in whole.cells] == [True, True, False, False]
    short = [cell.experiment for cell in whole.prepare().cells]
    assert [(each.runs, each.settings["epochs"]) for each in short] == [(1, 100)] * 2 + [(2, 200)] * 2


def test_of_a_sweep_over_graphs_some_can_be_chosen(sweep, small):
    several = sweep(SMALL.split("[base.settings]")[0].replace('data = "town"', "") + AXES + GRAPHS)
    assert several.graphs == ["town", "cora", "lastfm"]
    chosen = several.on(["cora", "town"])
    assert [title.rpartition("; ")[2] for title in titles(chosen)] == ["a town", "cora"]
    assert {cell.experiment.data for cell in chosen.cells} == {"town", "cora"}
    with pytest.raises(InputError, match="own has no graph 'pubmed': choose from town, cora, lastfm"):
        several.on(["pubmed"])
    # One of a single graph takes one other.
    other = small.with_fields({"settings": {}}).on(["town"])
    assert {cell.experiment.data for cell in other.cells} == {"town"}
    with pytest.raises(InputError, match="small is of one graph: name one with data, got 2"):
        small.on(["cora", "town"])


def test_quick_is_the_ends_of_x_on_the_first_graph():
    quick = sweep_of("ldpge-epsilon").ends()
    assert (quick.axes[0].values, quick.graphs, len(quick.lines)) == ((0.01, 5.0), ["cora"], 5)
    assert [spec.budgets.epsilon for spec in (cell.experiment for cell in quick.cells)][:2] == [0.01, 5.0]
    # Backbones of the first graph stay, and where graphs are x there is one value.
    assert [title.split()[-1] for title in titles(sweep_of("upgnet-epsilon").ends())] == [
        "gcn",
        "sage",
        "gat",
    ]
    assert sweep_of("togl-links").ends().axes[0].values == ("cora",)
    cell = quick.cells[0].quick()
    assert (cell.experiment.runs, cell.experiment.resolved_settings.epochs) == (1, 5)


@pytest.mark.parametrize(
    "name", ["ppgnn-laplace", "ppgnn-distributions", "upgnet-orders", "upgnet-residual", "heterorr-gamma"]
)
def test_what_a_spec_alone_does_not_tell_is_tried_in_a_small_town(name, tmp_path):
    """A plan may be refused only when its mechanisms are built."""
    town = {"users": 200, "features": 16, "telling": 4, "labelled": 0.2, "validated": 0.2}
    settings = {f"data.{key}": value for key, value in town.items()}
    sweep = sweep_of(name).on(["town"]).with_fields({"control": False, "settings": settings})
    assert ran(sweep.prepare(quick=True, everything=True), tmp_path, tolerant=True).failed == []


def test_means_stand_with_the_document_s_spread_too(sweep, tmp_path):
    found = ran(sweep('spread = "sd"\n' + SMALL + FLAT), tmp_path)
    first, second = found.at(1, "base").scores("method")
    expected = f"{50 * (first + second):.1f} ± {100 * abs(first - second) / math.sqrt(2):.1f}"
    assert found.tables[1].texts[0][:2] == ("1", expected)


def test_more_than_three_panels_stand_in_rows(sweep, tmp_path):
    third = axis("settings.hidden", [2, 3, 4, 5])
    ran(sweep(ALONE + AXES + third), tmp_path).chart.write(tmp_path / "rows.svg")
    drawn = (tmp_path / "rows.svg").read_text()
    assert all(f"hidden = {size}" in drawn for size in (2, 3, 4, 5))
    width, height = (float(re.search(f'{name}="([0-9.]+)pt"', drawn)[1]) for name in ("width", "height"))
    assert width < 2 * height
