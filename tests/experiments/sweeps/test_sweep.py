"""Sweeps: their files, their cells, and what is reused."""

import math

import pytest

from graphveil.errors import GraphveilError, InputError
from graphveil.experiments import UnitStore, run_spec
from graphveil.experiments.runs import runner as runner_module
from graphveil.experiments.runs.cells import run_cells, unit_count
from graphveil.experiments.runs.records import Record, latest
from graphveil.experiments.specs.file import packaged
from graphveil.experiments.sweeps.figure import write_figure
from graphveil.experiments.sweeps.result import SweepResult
from graphveil.experiments.sweeps.sweep import FOLDER, find_sweep, read_sweep

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
AXES = """
[[axes]]
field = "epsilon"
values = [1, 4]
[[axes]]
field = "settings.lr"
values = [0.01, 0.1]
label = "rate"
"""


@pytest.fixture
def small(tmp_path):
    file = tmp_path / "small.toml"
    file.write_text(SMALL + AXES)
    return read_sweep(file)


@pytest.fixture
def counted(monkeypatch):
    """The units that are computed; an interrupt comes before the one of that number."""
    seen = {"units": [], "stop": None}
    compute = runner_module.run_unit

    def run_unit(spec, part, run, *more):
        if len(seen["units"]) == seen["stop"]:
            raise KeyboardInterrupt
        seen["units"].append((part, run))
        return compute(spec, part, run, *more)

    monkeypatch.setattr(runner_module, "run_unit", run_unit)
    return seen


@pytest.mark.parametrize("name", packaged(FOLDER))
def test_every_packaged_sweep_can_be_run(name):
    sweep = find_sweep(name)
    cells = sweep.cells()
    sizes = [len(axis.values) for axis in sweep.axes]
    assert len(cells) == math.prod(sizes)
    assert sweep.title
    for cell in cells:
        cell.spec.check()
        assert cell.spec.runs == (10 if name.startswith(("ppgnn", "upgnet")) else 5)
        assert cell.spec.control


def test_the_packaged_sweeps_are_these():
    assert list(packaged(FOLDER)) == [
        "heterorr-edges",
        "heterorr-gamma",
        "links",
        "ppgnn-distributions",
        "ppgnn-gamma",
        "ppgnn-h",
        "ppgnn-hops",
        "ppgnn-m",
        "ppgnn-weights",
        "silence",
        "togl-analysis",
        "togl-backbones",
        "togl-epsilon",
        "togl-k",
        "togl-links",
        "togl-pool",
        "togl-rho",
        "upgnet-backbones",
        "upgnet-epsilon",
        "upgnet-heterophily-k",
        "upgnet-heterophily",
        "upgnet-hops",
        "upgnet-nfr",
        "upgnet-orders",
        "upgnet-regularizers",
        "upgnet-residual",
        "upgnet-scale",
        "upgnet-tau",
    ]


def test_choices_compare_methods_that_have_other_settings():
    sweep = find_sweep("togl-backbones")
    assert sweep.lines == ["base", "togl"]
    specs = [cell.spec for cell in sweep.cells()]
    assert [spec.backbone for spec in specs] == ["gcn", "sage", "gat", "gin", "appnp", "sgc", "ssgc"] * 2
    assert {(spec.method, spec.settings.get("rho")) for spec in specs} == {("base", None), ("togl", 0.5)}
    assert {spec.settings["hidden"] for spec in specs} == {64}
    links = [cell.spec for cell in find_sweep("togl-links").cells()]
    assert {spec.task for spec in links} == {"link"}
    pool = [cell.spec.settings["pool"] for cell in find_sweep("togl-pool").cells()]
    assert pool == ["top", 1, 2, 4, 8, 16, 32, "auto"]


def specs_of(name):
    return [cell.spec for cell in find_sweep(name).cells()]


def test_upgnet_s_figures_have_the_axes_of_the_document():
    budgets, hops = [0.01, 0.1, 1.0, 2.0, 3.0], [0, 2, 4, 8, 16, 32, 64]
    for name in ("epsilon", "backbones", "orders", "nfr", "heterophily"):
        assert list(find_sweep(f"upgnet-{name}").axes[0].values) == budgets
    assert list(find_sweep("upgnet-hops").axes[0].values) == hops
    for name in ("heterophily-k", "residual"):
        assert list(find_sweep(f"upgnet-{name}").axes[0].values) == hops[1:]
    # Its experiments with hops are at this budget, and of HOA alone.
    for name in ("hops", "heterophily-k", "residual"):
        specs = specs_of(f"upgnet-{name}")
        assert {(spec.budgets.epsilon, spec.settings["regularizer"]) for spec in specs} == {(0.01, "off")}


def test_upgnet_s_figures_compare_what_the_document_compares():
    assert find_sweep("upgnet-epsilon").lines == ["BASE", "LPGNN", "Solitude", "UPGNET"]
    assert {spec.backbone for spec in specs_of("upgnet-epsilon")} == {"gcn", "sage", "gat"}
    assert {spec.method for spec in specs_of("upgnet-heterophily")} == {"base", "lpgnn", "solitude", "upgnet"}
    for name, compared in (("hops", ["hoa", "kprop"]), ("residual", ["hoa", "adaptive", "residual"])):
        found = dict.fromkeys(spec.settings["aggregator"] for spec in specs_of(f"upgnet-{name}"))
        assert list(found) == compared
    assert {spec.settings["order"] for spec in specs_of("upgnet-orders")} == {"N-H", "H-N"}
    regularizers = {spec.settings["regularizer"] for spec in specs_of("upgnet-regularizers")}
    assert regularizers == {"nfr", "dropout", "weight-lasso", "group-lasso"}


@pytest.mark.parametrize("number", ["3", "4a", "4b", "5", "6", "7", "8", "9"])
def test_every_figure_of_upgnet_is_named_in_one_title(number):
    titles = [find_sweep(name).title for name in packaged(FOLDER) if name.startswith("upgnet-")]
    assert sum(f"(Fig. {number})" in title for title in titles) == 1


CHOICES = """
[[axes]]
field = "epsilon"
values = [1, 4]
[[axes]]
label = "way"
[[axes.choices]]
label = "plain"
set = { method = "base" }
[[axes.choices]]
label = "three hops"
set = { method = "lpgnn", settings.hops = 3 }
"""


def test_an_axis_of_choices_sets_several_fields(tmp_path):
    file = tmp_path / "chosen.toml"
    file.write_text(SMALL + CHOICES)
    sweep = read_sweep(file)
    assert sweep.lines == ["plain", "three hops"]
    cells = sweep.cells()
    assert [(cell.spec.method, cell.spec.settings.get("hops")) for cell in cells] == [
        ("base", None),
        ("base", None),
        ("lpgnn", 3),
        ("lpgnn", 3),
    ]
    with pytest.raises(InputError, match="sweeps settings.hops, so it cannot be fixed"):
        sweep.over({"settings": {"hops": 1}})
    specs = [cell.spec for cell in cells]
    found = SweepResult.of(sweep, cells, run_cells(specs, store=UnitStore(tmp_path / "results.sqlite")))
    assert found.head() == ["ε", "plain", "control", "three hops", "control", "structure"]
    assert found.to_dict()["cells"][2]["at"] == {"epsilon": 1, "way": "three hops"}
    write_figure(found, tmp_path / "chosen.svg")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('label = "way"', "", "needs label"),
        ('label = "way"', 'label = "way"\nfield = "method"', "leave field out"),
        ('label = "plain"', 'label = "three hops"', "has the choice 'three hops' twice"),
        ('set = { method = "base" }', "", "needs set, a table"),
        ('method = "base"', "runs = 3", "runs cannot be swept"),
        ('method = "base"', "epsilon = 3.0", "has two axes of epsilon"),
        ('method = "base"', 'method = "nothing"', "plain: no method is named 'nothing'"),
    ],
)
def test_bad_choices_are_refused_with_a_sentence(old, new, words, tmp_path):
    file = tmp_path / "bad.toml"
    assert old in CHOICES
    file.write_text(SMALL + CHOICES.replace(old, new, 1))
    with pytest.raises(InputError) as refused:
        read_sweep(file)
    assert words in str(refused.value)


def test_a_mechanism_option_can_be_swept():
    specs = [cell.spec for cell in find_sweep("ppgnn-m").cells()]
    assert {spec.mechanism_options["sampled"] for spec in specs} == {1, 2, 4, 8, 16}


def test_the_first_axis_is_x_and_the_second_gives_lines(small):
    assert small.lines == ["rate = 0.01", "rate = 0.1"]
    cells = small.cells()
    assert [(cell.x, cell.line) for cell in cells] == [(0, 0), (1, 0), (0, 1), (1, 1)]
    assert [cell.spec.budgets.epsilon for cell in cells] == [1.0, 4.0, 1.0, 4.0]
    assert [cell.spec.settings["lr"] for cell in cells] == [0.01, 0.01, 0.1, 0.1]
    assert cells[0].spec.loader_options["users"] == 200


def test_structure_is_computed_once_and_finished_units_are_reused(small, counted, tmp_path):
    cells, store, kept = small.cells(), UnitStore(tmp_path / "results.sqlite"), []
    specs = [cell.spec for cell in cells]
    counted["stop"] = 8
    done = run_cells(specs, store=store, keep=kept.append)
    assert done.interrupted
    # 2 runs with structure, then 2 runs of 1 unit each at least.
    assert [result is not None for result in done.results] == [True, False, False, False]
    assert kept[0] is done.results[0]
    counted["stop"] = None
    done = run_cells(specs, store=store, keep=kept.append)
    assert not done.interrupted
    assert len(counted["units"]) == 4 * 4 + 2
    assert [part for part, _ in counted["units"]].count("structure") == 2
    assert unit_count(specs) == 4 * 6
    found = SweepResult.of(small, cells, done)
    assert found.head() == ["ε", "rate = 0.01", "control", "rate = 0.1", "control", "structure"]
    assert [row[0] for row in found.rows()] == ["1", "4"]
    again = run_cells(specs, store=store)
    assert len(counted["units"]) == 4 * 4 + 2
    assert SweepResult.of(small, cells, again).rows() == found.rows()
    # All anew, but structure still once; the same numbers.
    anew = run_cells(specs, store=store, fresh=True)
    assert len(counted["units"]) == 2 * (4 * 4 + 2)
    assert SweepResult.of(small, cells, anew).rows() == found.rows()
    for suffix, start in ((".svg", b"<svg"), (".png", b"\x89PNG")):
        file = tmp_path / f"figure{suffix}"
        write_figure(found, file)
        assert file.read_bytes().startswith(start)
        first = file.read_bytes()
        write_figure(found, file)
        assert file.read_bytes() == first


def test_processes_change_no_number(tmp_path):
    file = tmp_path / "one.toml"
    once = SMALL.replace("runs = 2", "runs = 1")
    file.write_text(once + '[[axes]]\nfield = "epsilon"\nvalues = [1.0]\n')
    sweep = read_sweep(file)
    specs = [cell.spec for cell in sweep.cells()]
    rows = [
        SweepResult.of(
            sweep, sweep.cells(), run_cells(specs, store=UnitStore(tmp_path / str(jobs)), jobs=jobs)
        ).rows()
        for jobs in (1, 2)
    ]
    assert rows[0] == rows[1]


def test_a_cell_that_cannot_be_run_stops_all_but_the_tolerant(small, tmp_path):
    specs = [cell.spec for cell in small.over({"settings": {"data.users": -1}}).cells()][:1]
    with pytest.raises(GraphveilError):
        run_cells(specs, store=UnitStore(tmp_path / "a"))
    done = run_cells(specs, store=UnitStore(tmp_path / "a"), tolerant=True)
    assert isinstance(done.results[0], GraphveilError)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("title = [", "is no TOML"),
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
    ],
)
def test_a_bad_file_is_refused_with_a_sentence(text, words, tmp_path):
    file = tmp_path / "bad.toml"
    file.write_text(text)
    with pytest.raises(InputError) as refused:
        read_sweep(file)
    assert words in str(refused.value)


def test_an_own_gamma_is_checked(tmp_path):
    with pytest.raises(InputError, match="gamma must be a number strictly between 0 and 1, got 2"):
        find_sweep("ppgnn-h").over({"gamma": 2.0}).cells()


def test_a_swept_field_cannot_be_fixed(small):
    for given, field in (({"epsilon": 2.0}, "epsilon"), ({"settings": {"lr": 1.0}}, "settings.lr")):
        with pytest.raises(InputError, match=f"small sweeps {field}, so it cannot be fixed"):
            small.over(given)
    with pytest.raises(InputError, match="sweeps settings.mechanism.sampled"):
        find_sweep("ppgnn-m").over({"settings": {"mechanism.sampled": 3}})
    assert small.over({"runs": 1}).cells()[0].spec.runs == 1


def test_results_that_differ_in_levels_alone_are_two():
    def record(**levels):
        fields = {"method": "ppgnn", "data": "cora", "epsilon": 1.0, "mechanism": "ppm", "runs": [0.5]}
        return Record.model_validate({**fields, "mean": 0.5, "spec": {"levels": levels}})

    records = [record(levels=2), record(levels=3), record(gamma=0.3), record(level_distribution="strict")]
    assert len(latest(records)) == 4


def test_what_is_measured_besides_has_a_table_of_its_own(tmp_path):
    file = tmp_path / "silent.toml"
    file.write_text(
        'also = ["class_bias"]\n[base]\nmethod = "base"\ndata = "town"\nepsilon = 1.0\ncontrol = false\n'
        'settings = {epochs = 1, "data.users" = 200}\n[[axes]]\nfield = "participation"\nvalues = [1.0, 0.5]\n'
    )
    sweep = read_sweep(file)
    cells = sweep.cells()
    results = {(cell.x, cell.line, cell.panel): run_spec(cell.spec) for cell in cells}
    (everybody, some) = SweepResult(sweep, results).also_rows("class_bias")
    assert everybody == ["1", "-"]
    assert some[0] == "0.5" and float(some[1]) > 0


def test_names_of_what_is_measured_besides_must_be_names(tmp_path):
    file = tmp_path / "silent.toml"
    file.write_text(
        'also = [1]\n[base]\nmethod = "base"\ndata = "town"\n[[axes]]\nfield = "epsilon"\nvalues = [1.0]\n'
    )
    with pytest.raises(InputError, match="also must be a list of names"):
        read_sweep(file)


THIRD = """
[[axes]]
field = "mechanism"
values = ["multibit", "piecewise"]
label = "by"
"""


@pytest.fixture
def panelled(tmp_path):
    file = tmp_path / "panelled.toml"
    file.write_text(SMALL + AXES + THIRD)
    return read_sweep(file)


def test_a_third_axis_gives_panels(panelled):
    assert [panel.title.rpartition("; ")[2] for panel in panelled.panels] == [
        "by = multibit",
        "by = piecewise",
    ]
    cells = panelled.cells()
    assert len({(cell.x, cell.line, cell.panel) for cell in cells}) == len(cells) == 8
    assert all(cell.spec.budgets.mechanism == ("multibit", "piecewise")[cell.panel] for cell in cells)


def test_every_panel_has_the_results_of_its_own_cells(panelled, tmp_path):
    cells = panelled.cells()
    done = run_cells([cell.spec for cell in cells], store=UnitStore(tmp_path / "results.sqlite"))
    found = SweepResult.of(panelled, cells, done)
    for number, panel in enumerate(found.panels):
        names = {result.spec.budgets.mechanism for result in panel.results.values()}
        assert names == {("multibit", "piecewise")[number]} and len(panel.rows()) == 2
    at = [cell["at"] for cell in found.to_dict()["cells"]]
    assert {"epsilon": 4, "settings.lr": 0.1, "mechanism": "piecewise"} in at and len(at) == 8
    write_figure(found, tmp_path / "panels.svg")
    drawn = (tmp_path / "panels.svg").read_text()
    assert "by = multibit" in drawn and "by = piecewise" in drawn


def test_a_third_axis_of_a_field_that_is_swept_already_is_refused(tmp_path):
    file = tmp_path / "twice.toml"
    file.write_text(SMALL + AXES + '[[axes]]\nfield = "epsilon"\nvalues = [2]\n')
    with pytest.raises(InputError, match="two axes of epsilon"):
        read_sweep(file)
