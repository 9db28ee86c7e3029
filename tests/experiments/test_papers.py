"""Papers: their files, their printed numbers and their cells."""

from dataclasses import replace
from itertools import product

import pytest

from graphveil.errors import InputError
from graphveil.experiments import papers as source
from graphveil.experiments.measures import SCORE, Measure, Reading, find_measure
from graphveil.experiments.paper_result import comparison_sentence
from graphveil.experiments.papers import FigureInput, choose_cells, find_paper, read_paper
from graphveil.experiments.result import Result
from graphveil.experiments.runner import Runner, RunOptions, run_studies
from graphveil.experiments.study import MOST_ENTRIES, QUICK_EPOCHS, QUICK_STEPS
from graphveil.experiments.study_result import CellResult, StudyResult, printed_row
from graphveil.graphs.datasets import DATASETS
from graphveil.statistics import Summary, bootstrap
from tests.experiments.known import axis, choices, paper_of, papers, result_of, unit_of
from tests.refusals import check_refused

# Of 48, 50 and 52: the ends of the interval are the 25th lowest and highest of 1000 means, which have 7 possible values.
HALF_BOOTSTRAP = 100 * (bootstrap([0.48, 0.5, 0.52]).high - bootstrap([0.48, 0.5, 0.52]).low) / 2

SMALL = """
title = "A paper"
source = "Somebody"
[tables.one]
title = "Table I"
[tables.one.base]
method = "base"
data = "town"
runs = 2
[[tables.one.columns]]
label = "ε = 1"
set = { epsilon = 1.0 }
[[tables.one.columns]]
label = "ε = 2"
set = { epsilon = 2.0 }
[[tables.one.rows]]
label = "MB"
set = { mechanism = "multibit", settings.lr = 0.1 }
printed = [50.0, "-"]
slow = ["ε = 2"]
"""


# What is counted, not learned.
COUNTS = ("users", "links", "features", "classes", "degree")


def learned(tables):
    """Those that are no counts of graphs."""
    return [table for table in tables if table.cells[0].measure.name not in COUNTS]


def cell(table, row, column):
    return next(cell for cell in table.cells if cell.labels == (row, column))


def only(name):
    """The only table of a part of a paper."""
    (table,) = paper_of(name).tables
    return table


@pytest.fixture
def written(tmp_path):
    """Writes a paper to a file of its own, and reads it."""

    def read(text):
        (tmp_path / "own.toml").write_text(text)
        return read_paper(tmp_path / "own.toml")

    return read


def changed(text, *changes):
    """A text after changes of what has to be there."""
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    return text


MEASURE = """
from graphveil.experiments.measures import Measure, Reading
from graphveil.number_format import SECONDS
LONGEST = Measure("longest", SECONDS, lambda result: Reading())
"""


@pytest.mark.usefixtures("forget_measures")
def test_a_table_may_name_a_measure_of_a_file(python_file, written):
    measure = f'measure = "{python_file(MEASURE)}:LONGEST"'
    (table,) = written(changed(SMALL, ('slow = ["ε = 2"]', measure))).tables
    assert {one.measure.unit.name for one in table.cells} == {"seconds"}


def test_every_cell_of_every_paper_can_be_run():
    known = papers()
    assert [(paper.name, [table.name for table in paper.tables]) for paper in known] == [
        ("heterorr", ["fig13", "fig14"]),
        ("ldpge", ["table2", "table3", "table3-infinity"]),
        ("ppgnn", ["table2", "table3", "fig5"]),
        ("togl", [f"table{number}" for number in (1, 7, 3, 4, 5, 6, *range(8, 19))]),
        ("upgnet", ["table1", "table3", "table2", "table4"]),
    ]
    for paper in known:
        for table in paper.tables:
            for one in table.cells:
                for asked in (one, one.quick()):
                    asked.experiment.check()
                counted = one.measure.name in COUNTS
                assert one.experiment.runs == (1 if counted else 5 if paper.name == "heterorr" else 10)
                assert one.measure.unit.number(one.printed or 0.0)
                # TOGL draws its Table 3, and prints no balanced accuracy and nothing of our own variant.
                unprinted = table.name == "table3" or one.measure.name.startswith("attack-balanced")
                unprinted |= one.labels[0].endswith(", ours")
                # HeteroRR has curves alone, and PPGNN's Fig. 5 is one.
                unprinted |= paper.name == "heterorr" or table.name == "fig5"
                # The classes of Flickr cannot be read.
                unprinted |= (one.labels[0], one.labels[1]) == ("flickr", "classes")
                assert one.printed is not None or (paper.name != "ldpge" and unprinted)


def test_ppgnn_has_its_printed_numbers():
    table = only("ppgnn/table3")
    assert len(table.cells) == 3 * 6 * 6
    for row, column, printed, name in (
        ("ε = 0.01, 1B", "cora", 25.9, "onebit"),
        ("ε = 0.01, LP", "lastfm", 9.0, "laplace"),
        ("ε = 0.1, GM", "facebook", 61.4, "gaussian"),
        ("ε = 0.1, MB", "wikipedia", 72.3, "multibit"),
        ("ε = 1, PPM", "wikipedia", 79.8, "ppm"),
        ("ε = 1, PPM as printed", "wikipedia", 79.8, "ppm-printed"),
    ):
        found = cell(table, row, column)
        assert (found.printed, found.experiment.data) == (printed, column)
        assert found.experiment.budgets.mechanism == name
        assert found.experiment.has_levels == name.startswith("ppm")
    assert len(cell(table, "ε = 1, PPM", "cora").experiment.level_budgets()) == 6
    slow = {(one.experiment.budgets.mechanism, one.labels[1]) for one in table.cells if one.slow}
    assert slow == set(product(("onebit", "laplace", "gaussian"), ("lastfm", "facebook", "wikipedia")))
    attacked = only("ppgnn/fig5").cells
    assert {one.measure.name for one in attacked} == {"attack", "attack-balanced"}
    assert {one.experiment.method for one in attacked} == {"nonprivate", "base", "lpgnn", "ppgnn"}
    levels = {one.experiment.levels.level_distribution for one in attacked}
    assert levels == {None, "strict", "relaxed", "bimodal"}
    assert {one.experiment.budgets.epsilon for one in attacked} == {None, 0.01, 0.1, 1.0}


def test_ldpge_has_its_printed_numbers():
    without = only("ldpge/table3-infinity").cells
    assert {one.labels[0]: (one.printed, one.printed_spread) for one in without} == {
        "cora": (93.07, 0.25),
        "citeseer": (94.95, 0.48),
        "pubmed": (97.46, 0.02),
        "lastfm": (95.93, 0.09),
        "facebook": (95.6, 0.07),
        "wikipedia": (98.49, 0.04),
    }
    specs = [one.experiment for one in without]
    assert {(spec.method, spec.task, spec.budgets.epsilon) for spec in specs} == {("ldpge-raw", "link", None)}
    table = only("ldpge/table3")
    assert len(table.cells) == 6 * 4 * 4
    for row, column, printed in (
        ("cora, LP", "ε = 1", 75.22),
        ("citeseer, PM", "ε = 5", 74.48),
        ("pubmed, MB", "ε = 2", 77.85),
        ("wikipedia, HDS", "ε = 3", 99.09),
    ):
        assert cell(table, row, column).printed == printed
    assert {one.experiment.task for one in table.cells} == {"link"}
    assert cell(table, "cora, HDS", "ε = 1").experiment.budgets.mechanism == "hds"
    # LastFM has ten classes in every table.
    for one in (one for each in paper_of("ldpge").tables for one in each.cells):
        wanted = {"largest_classes": 10} if one.experiment.data == "lastfm" else {}
        assert one.experiment.loader_options == wanted


def test_togl_has_its_printed_numbers():
    paper = paper_of("togl")
    for name, row, column, printed in (
        ("table4", "TOGL", "lastfm", 78.9),
        ("table5", "Baseline", "∞", 79.4),
        ("table5", "TOGL", "2", 80.1),
        ("table6", "Baseline", "cora", 0.08),
        ("table6", "TOGL", "pubmed", 0.09),
        ("table8", "Baseline", "co-phy, memory", 1200),
        ("table8", "TOGL", "ogbn-arxiv, seconds", 64),
        ("table9", "TOGL", "Jaccard", 0.78),
        ("table9", "TOGL", "standard deviation", 0.3),
        ("table10", "A14, attack", "TOGL", 18.1),
        ("table11", "NonPriv", "lastfm", 96.5),
        ("table11", "TOGL", "cora", 18.7),
        ("table12", "PLDP, Baseline", "cora", 80.6),
        ("table13", "TOGL", "mean absolute error", 0.142),
        ("table14", "Baseline + BLINK", "cora", 76.5),
        ("table15", "TOGL", "lastfm", 81.2),
        ("table16", "Baseline*", "lastfm", 85.6),
        ("table17", "SMA", "facebook", 89.3),
        ("table18", "PCA", "citeseer", 63.9),
    ):
        assert cell(paper.part(name).tables[0], row, column).printed == printed
    private = {one.experiment.method for table in learned(paper.tables) for one in table.cells}
    assert private == {"base", "togl", "lpgnn", "ppgnn", "nonprivate"}


def test_togl_is_run_as_printed_and_its_variants_differ_by_their_setting_alone():
    paper = paper_of("togl")
    printed = {"split": 0.5, "analysis": "sma", "analysis_hops": 3, "rho": 0.5, "pool": "top"}
    printed |= {"learn_from": "second", "columns": "unbiased", "hops": 0, "hidden": 64, "activation": "relu"}
    printed |= {"m_from": "total", "dropout": 0.1, "weight_decay": 0.001, "epochs": 300}
    for name, row, other in (
        ("table15", "TOGL", {}),
        ("table16", "TOGL*", {"hops": 3}),
        ("table17", "FDA", {"analysis": "fda"}),
        ("table18", "χ²", {"analysis": "chi-square"}),
        ("table3", "TC", {"rho": 1.0}),
        ("table3", "TD", {"rho": 0.0}),
    ):
        for one in paper.part(name).tables[0].cells:
            if one.labels[0] == row:
                assert one.experiment.settings == printed | other
                assert (one.experiment.method, one.experiment.budgets.mechanism) == ("togl", "piecewise")
    # A note speaks of our own variant just where there is one.
    for table in paper.tables:
        ours = any(one.labels[0].endswith(", ours") for one in table.cells)
        assert ("TOGL, ours" in table.note) == ours, table.name
    assert cell(paper.part("table12").tables[0], "PLDP, TOGL", "cora").experiment.has_levels
    assert {one.experiment.budgets.link_epsilon for one in paper.part("table14").tables[0].cells} == {10.0}
    assert cell(paper.part("table5").tables[0], "TOGL", "∞").experiment.budgets.label_epsilon is None


# UPGNET prints each number of its Table 2 a second time: arrows are what NFR adds at ε = 0.01, 0.1 and 1, and their mean.
ARROWS = {
    ("cora", "MBM"): (6.8, 2.7, 2.6, 4.0),
    ("cora", "PM"): (6.7, 2.0, 1.8, 3.5),
    ("citeseer", "MBM"): (4.7, 3.3, 2.4, 3.5),
    ("citeseer", "PM"): (4.3, 1.9, 1.3, 2.5),
    ("lastfm", "MBM"): (5.7, 3.6, 2.2, 3.8),
    ("lastfm", "PM"): (2.6, 2.4, 1.8, 2.3),
    ("facebook", "MBM"): (6.3, 4.3, 4.1, 4.9),
    ("facebook", "PM"): (6.7, 3.7, 3.3, 4.6),
}
# The one arrow that is no difference, which its note tells: 90.8 - 88.4 is 2.4.
WRONG = ("facebook", "PM", "ε = 0.1")


def test_upgnet_s_numbers_differ_by_its_arrows():
    table = paper_of("upgnet/table2").tables[0]
    assert len(table.cells) == 4 * 4 * 3
    for (data, reports), (*arrows, overall) in ARROWS.items():
        for column, arrow in zip(("ε = 0.01", "ε = 0.1", "ε = 1"), arrows, strict=True):
            without, with_nfr = (cell(table, f"{data}, {reports}{star}", column) for star in ("", "*"))
            difference = round(with_nfr.printed - without.printed, 1)
            assert difference == (2.4 if (data, reports, column) == WRONG else arrow)
        assert round(sum(arrows) / 3, 1) == overall
    assert "it prints 3.7 where 90.8 - 88.4 is 2.4" in table.note


def printed_by_row(table):
    rows = dict.fromkeys(one.labels[0] for one in table.cells)
    return {row: [one.printed for one in table.cells if one.labels[0] == row] for row in rows}


def test_upgnet_has_the_numbers_of_its_tables_2_and_4():
    second, fourth = only("upgnet/table2"), only("upgnet/table4")
    printed = {
        "cora, MBM": [64.5, 77.9, 78.9],
        "citeseer, PM": [53.1, 62.8, 66.1],
        "lastfm, PM*": [68.7, 79.5, 81.9],
        "facebook, MBM*": [84.9, 90.9, 91.4],
    }
    assert printed.items() <= printed_by_row(second).items()
    assert printed_by_row(fourth) == {
        "Dropout": [63.4, 52.7, 61.3, 77.6],
        "Group lasso": [57.6, 50.5, 57.1, 78.9],
        "NFR": [71.3, 57.2, 67.1, 84.9],
    }
    # It prints NFR's numbers in Table 2 too.
    for one in fourth.cells:
        if one.labels[0] == "NFR":
            twin = cell(second, f"{one.labels[1]}, MBM*", "ε = 0.01")
            assert one.printed == twin.printed
            assert one.experiment.resolved_settings == twin.experiment.resolved_settings


def test_upgnet_s_tables_are_nfr_without_hoa_on_a_gcn():
    for table in learned(paper_of("upgnet").tables):
        assert "without HOA" in table.note
        for one in table.cells:
            settings, plain = one.experiment.resolved_settings, one.labels[0].endswith(("MBM", "PM"))
            assert one.experiment.backbone == "gcn"
            assert one.experiment.method == ("base" if plain else "upgnet")
            assert plain or (settings.hops, settings.order, settings.tau) == (0, "N-H", 0.5)
            piecewise = "PM" in one.labels[0]
            assert one.experiment.budgets.mechanism == ("piecewise" if piecewise else "multibit")
            # The document's continuous form.
            assert one.experiment.mechanism_options == ({"points": 65} if piecewise else {})


def test_togl_is_trained_within_what_its_appendix_searches():
    for one in (one for table in learned(paper_of("togl").tables) for one in table.cells):
        settings = one.experiment.resolved_settings
        assert settings.dropout in (0, 1e-3, 1e-2, 1e-1)
        assert settings.weight_decay in (0, 1e-5, 1e-4, 1e-3)
        assert settings.lr in (1e-1, 1e-2, 1e-3)
        assert (settings.activation, settings.hidden, settings.epochs) == ("relu", 64, 300)


def test_what_is_not_here_is_skipped_and_what_is_slow_is_short(monkeypatch, tmp_path):
    monkeypatch.setenv("GRAPHVEIL_DATA", str(tmp_path))
    monkeypatch.setenv("GRAPHVEIL_CACHE", str(tmp_path))
    (tmp_path / "facebook.npz").touch()
    table = only("ppgnn/table3")
    rows = ("ε = 1, 1B", "ε = 1, MB")
    here, quick = table.prepare(), table.prepare(quick=True)
    assert "put lastfm.npz into the folder" in cell(here, "ε = 1, MB", "lastfm").left_out
    assert [cell(here, row, "facebook").left_out for row in rows] == ["", ""]
    left_out = "slow: left out of --quick, run with --all"
    assert [cell(quick, row, "facebook").left_out for row in rows] == [left_out, ""]
    assert cell(here, rows[1], "facebook") == cell(table, rows[1], "facebook")
    short = cell(here, rows[0], "facebook")
    assert (short.experiment.runs, short.experiment.resolved_settings.epochs) == (1, 100)
    assert short.remark.startswith("one run of at most 100 epochs")
    # It says so beside its number.
    (outcome,) = with_scores(replace(table, cells=(short,)), 0.5).outcomes
    assert outcome.note == short.remark


def test_slow_is_what_has_more_than_20_million_answers():
    every = ("onebit", "laplace", "gaussian", "analytic-gaussian")
    for one in (one for paper in papers() for table in paper.tables for one in table.cells):
        known = DATASETS.get(one.experiment.data)
        entries = (known.users or 0) * (known.features or 0) if known else 0
        many = one.experiment.budgets.mechanism in every and entries > MOST_ENTRIES
        assert one.slow == (one.experiment.resolved_method.can.asks and many), one.labels


def test_a_small_paper(written):
    (table,) = written(SMALL).tables
    first, second = table.cells
    assert (first.printed, first.slow, second.printed, second.slow) == (50.0, False, None, True)
    assert first.experiment.settings == {"lr": 0.1}
    assert first.quick().experiment.settings == {"lr": 0.1, "epochs": QUICK_EPOCHS}
    assert first.quick().experiment.runs == 1
    # One run has no spread, and nothing to be alike with.
    spread, jaccard = (replace(first, measure=find_measure(name)) for name in ("spread", "jaccard"))
    assert [one.quick().experiment.runs for one in (spread, jaccard)] == [2, 2]
    some = replace(table, cells=(first, replace(second, left_out="why")))
    assert rows(StudyResult.of(some, [InputError("no"), None])) == [
        ["50.0", "-", "-", "-", "not run: no"],
        ["-", "-", "-", "-", "why"],
    ]
    assert StudyResult.unfinished(some).outcomes[0].note == "not finished"


def rows(result):
    """The numbers of each cell, without its row and its column."""
    return [list(printed_row(result.study, outcome)[2:]) for outcome in result.outcomes]


def with_scores(table, *scores):
    """Each cell with a result whose runs had these scores."""
    return StudyResult.of(table, [result_of(one.experiment, method=scores) for one in table.cells])


@pytest.mark.parametrize(
    ("spread", "likewise"), [("sd", "50.0 ± 2.0"), ("bootstrap", f"50.0 ± {HALF_BOOTSTRAP:.1f}")]
)
def test_ours_stands_in_the_form_of_theirs_beside_its_t_interval(spread, likewise, written):
    title, printed = 'title = "Table I"', 'printed = [50.0, "-"]'
    spreads = (printed, f'{printed}\nspreads = [2.5, "-"]')
    (table,) = written(changed(SMALL, (title, f'{title}\nspread = "{spread}"'), spreads)).tables
    assert table.spread == spread
    found = with_scores(table, 0.48, 0.5, 0.52)
    # ± 4.303·2/√3
    assert rows(found)[0] == ["50.0 ± 2.5", likewise, "50.0 [45.0, 55.0]", "-", "-", ""]
    assert rows(found)[1][:2] == ["-", likewise]
    told = found.to_dict()["cells"][0]
    assert told["printed_spread"] == 2.5
    assert told["spread"] == pytest.approx(float(likewise.split()[-1]) / 100, abs=5e-4)
    # One run has no spread.
    found = with_scores(table, 0.5)
    assert rows(found)[0][:3] == ["50.0 ± 2.5", "50.0", "50.0"]
    assert found.to_dict()["cells"][0]["spread"] is None


def test_the_documents_spreads_are_what_they_say():
    for name, spread, row, column, printed in (
        ("ppgnn", "bootstrap", "ε = 0.01, LP", "cora", 3.2),
        ("ppgnn", "bootstrap", "ε = 1, PPM as printed", "wikipedia", 1.9),
        ("ldpge", "sd", "lastfm, LP", "ε = 1", 6.32),
        ("ldpge", "sd", "wikipedia, HDS", "ε = 5", 0.05),
    ):
        table = only(f"{name}/table3")
        assert table.spread == spread
        assert all(one.printed_spread is not None for one in table.cells)
        assert cell(table, row, column).printed_spread == printed
    # The tables of TOGL and UPGNET have no intervals.
    for name in ("togl", "upgnet"):
        assert {table.spread for table in paper_of(name).tables} == {""}


SECONDS = ('label = "ε = 2"\n', 'label = "ε = 2"\nmeasure = "seconds"\n')


def test_a_number_is_read_in_the_unit_of_its_measure(written):
    (table,) = written(changed(SMALL, SECONDS, ('printed = [50.0, "-"]', "printed = [50.0, 500]"))).tables
    assert [(one.measure.name, one.printed) for one in table.cells] == [("score", 50.0), ("seconds", 500.0)]
    seconds = {"report": 0.5, "denoise": 0.0, "train": 2.0, "total": 9.0}
    units = tuple(unit_of(part, 0, 0.5, seconds=seconds) for part in ("method", "control"))
    found = StudyResult.of(table, [Result.from_units(one.experiment, units) for one in table.cells])
    assert rows(found) == [["50.0", "50.0", "50.0", "-", ""], ["500.0 s", "2.5 s", "-", "-", ""]]
    told = found.to_dict()["cells"][1]
    assert (told["measure"], told["unit"], told["printed"]) == ("seconds", "seconds", 500.0)
    assert told["measured"] == {"method": {"mean": 2.5, "low": None, "high": None}}


JACCARD = '[[tables.one.rows]]\nlabel = "J"\nmeasure = "jaccard"\nprinted = [0.78, 2]\n'


@pytest.fixture
def mixed(written):
    """A table of three measures."""
    (table,) = written(changed(SMALL, SECONDS) + JACCARD).tables
    return table


def test_a_row_measures_rather_than_its_column_and_apart_cells_stand_in_their_place(mixed, monkeypatch):
    assert [one.measure.name for one in mixed.cells] == ["score", "seconds", "jaccard", "jaccard"]

    def said(measure, experiment):
        if experiment.budgets.epsilon == 2:
            raise InputError("no")
        return Reading({"method": Summary(0.5, None, None)}, "said")

    monkeypatch.setattr(Runner, "run_all", lambda *_, **__: ([None, None], False))
    monkeypatch.setattr(Measure, "of", said)
    (found,) = run_studies([mixed], RunOptions(tolerant=True))
    assert rows(found)[2:] == [["0.78", "0.5", "-", "-", "said"], ["2", "-", "-", "-", "not run: no"]]
    assert [outcome.note for outcome in found.outcomes[:2]] == ["not finished", "not finished"]


def test_what_comes_after_an_interrupt_is_not_measured(monkeypatch, mixed):
    def stop(measure, spec):
        raise KeyboardInterrupt

    def measured(interrupted):
        monkeypatch.setattr(Runner, "run_all", lambda *_, **__: ([None, None], interrupted))
        (found,) = run_studies([mixed])
        return [outcome.note for outcome in found.outcomes], found.interrupted

    with monkeypatch.context() as context:
        context.setattr(Measure, "of", lambda *_: pytest.fail("measured"))
        assert measured(interrupted=True) == (["not finished"] * 4, True)
    monkeypatch.setattr(Measure, "of", stop)
    assert measured(interrupted=False) == (["not finished"] * 4, True)


def test_only_some_graphs():
    tables = paper_of("ppgnn/table3").tables
    (table,) = choose_cells(tables, ["cora", "pubmed"])
    assert table.graphs == ["cora", "pubmed"]
    assert choose_cells(tables, []) == tables
    with pytest.raises(InputError, match="no table here has 'town'"):
        choose_cells(tables, ["town"])


BAD_FILES = [
    ("source", "origin", "has no 'origin'"),
    ('source = "Somebody"', "", "needs source, a text"),
    ('printed = [50.0, "-"]', "printed = [50.0]", "printed must have 2 numbers, got 1"),
    ('printed = [50.0, "-"]', 'printed = [50.0, "x"]', "printed must be numbers from 0 to 100"),
    ('printed = [50.0, "-"]', "printed = [50.0, 500]", "got 500"),
    ('label = "MB"', 'label = "MB"\nmeasure = "speed"', "MB: no measure is named 'speed'"),
    ('label = "MB"', 'label = "MB"\nmeasure = "jaccard"\nx = 1', "has no 'x'"),
    ('printed = [50.0, "-"]', 'measure = "seconds"\nprinted = [-1, "-"]', "numbers of at least 0"),
    ('slow = ["ε = 2"]', 'slow = ["ε = 3"]', "slow names 'ε = 3', which is no column"),
    ('"multibit"', '"nothing"', "no mechanism is named 'nothing'"),
    ("epsilon = 2.0", "budget = 2.0", "has no 'budget'"),
    ("epsilon = 2.0", 'epsilon = "2"', "epsilon: Input should be a valid number"),
    ('label = "MB"', "", "needs label, a text"),
    ("[tables.one.base]", 'spread = "x"\n[tables.one.base]', "spread must be one of bootstrap, sd, got 'x'"),
    ('label = "MB"', 'label = "MB"\nspreads = [1.0, 2.0]', "in a table that says what its spread is"),
]


def test_a_bad_file_is_refused_with_a_sentence(written):
    check_refused(lambda *change: written(changed(SMALL, change)), BAD_FILES)
    twice = SMALL + FIGURE.partition('source = "Somebody"')[2]
    nothing = 'title = "A paper"\nsource = "Somebody"\n'
    check_refused(written, [(twice, "has a table and a figure named 'one'"), (nothing, "needs tables")])


def test_unknown_names_are_refused():
    unknown = [
        ("nobody", "no paper is named 'nobody': choose one of heterorr, ldpge, ppgnn, togl, upgnet"),
        ("ppgnn/table9", "ppgnn has no table or figure named 'table9': choose one of table2"),
    ]
    check_refused(find_paper, unknown)


def test_heterorr_has_its_computed_figures():
    paper = find_paper("heterorr")
    assert [table.name for table in paper.tables] == ["fig13", "fig14"]
    assert [(figure.name, figure.computed, figure.data) for figure in paper.figures] == [
        ("fig10", "expected-error", ""),
        ("fig11", "walk-distance", "cora"),
    ]
    assert find_paper("heterorr/fig11") == replace(paper, tables=(), figures=paper.figures[1:], others={})


# Every figure and table of the documents, counted in them by hand: what is run, and what is not, being no experiment.
CONTENTS = {
    "ldpge": ({"table2", "table3", "table3-infinity", "fig1", "fig2", "fig3", "fig4"}, {"Table I"}),
    "upgnet": (
        {f"table{number}" for number in (1, 2, 3, 4)}
        | {f"fig{number}" for number in ("3", "4a", "4b", "5", "6", "7", "8", "9")},
        {"Fig. 1", "Fig. 2"},
    ),
    "ppgnn": (
        {"table2", "table3", "fig3", "fig4-left", "fig4-right", "fig5", "fig5-right", "fig6"}
        | {"fig7a", "fig7b", "fig7c", "fig8", "fig9"},
        {"Table I", "Fig. 1", "Fig. 2"},
    ),
    "togl": (
        {f"table{number}" for number in (1, *range(3, 19))} | {f"fig{number}" for number in range(3, 10)},
        {"Table 2", "Fig. 1", "Fig. 2", "Fig. 10"},
    ),
    "heterorr": ({"fig10", "fig11", "fig13", "fig14"}, {"Fig. 12", "Figs. 1 to 9, tables"}),
}


def test_nothing_of_a_document_is_missing():
    assert {paper.name: (set(paper.parts), set(paper.others)) for paper in papers()} == CONTENTS


def test_every_figure_that_is_a_sweep_has_one_of_its_own_that_names_it():
    swept = [(paper.name, figure) for paper in papers() for figure in paper.figures if figure.sweep]
    # A title of a sweep names the figure as the paper does.
    failed = [
        (paper, figure.name)
        for paper, figure in swept
        if figure.study.name != figure.sweep
        or f"({figure.title.partition(':')[0]})" not in figure.study.title
    ]
    assert not failed, failed
    assert len({(paper, figure.sweep) for paper, figure in swept}) == len(swept)


def test_numbers_in_the_text_of_a_document_are_points_of_its_figure():
    points = {"ldpge/fig2": 12, "ppgnn/fig3": 3, "upgnet/fig3": 2, "upgnet/fig5": 2, "togl/fig9": 1}
    assert {name: len(paper_of(name).figures[0].points) for name in points} == points


def test_graphs_are_counted_as_the_documents_count_them():
    counts = {
        (paper.name, one.labels[0], one.labels[1]): one.printed
        for paper in papers()
        for table in paper.tables
        for one in table.cells
        if one.measure.name in COUNTS
    }
    assert counts["upgnet", "cora", "average degree"] == 3.9
    assert counts["ldpge", "lastfm", "users"] == 7083
    assert counts["ppgnn", "wikipedia", "features"] == 13183
    assert counts["togl", "twitch", "links"] == 61706
    assert counts["togl", "ogbn-arxiv", "classes"] == 40


def test_links_are_drawn_by_few_steps_where_all_is_quick():
    table = paper_of("heterorr/fig13").tables[0]
    assert {one.quick().experiment.settings["link.sweeps"] for one in table.cells} == {QUICK_STEPS}
    other = only("togl/table14").cells
    assert all("link.sweeps" not in one.quick().experiment.settings for one in other)


SWEPT = """
title = "A paper"
source = "Somebody"
[others]
"Fig. 2" = "a scheme"
[figures.one]
title = "Fig. 1"
sweep = "own-sweep.toml"
[[figures.one.points]]
at = [4, "three hops"]
over = [4, "plain"]
theirs = "about 5"
"""
HOPS = '{ method = "lpgnn", settings.hops = 3 }'
SWEEP = 'title = "over budgets"\n[base]\ndata = "town"\n' + axis("epsilon", [1, 2, 4])
SWEEP += choices("way", {"plain": '{ method = "base" }', "three hops": HOPS})


@pytest.fixture
def swept(tmp_path, written):
    """Reads a paper of one's own, whose figure is a sweep beside it."""
    (tmp_path / "own-sweep.toml").write_text(SWEEP)
    return lambda *changes: written(changed(SWEPT, *changes))


def test_a_sweep_of_one_s_own_lies_beside_the_paper(swept):
    paper = swept()
    (figure,) = paper.figures
    assert paper.others == {"Fig. 2": "a scheme"}
    assert figure.study.lines == ["plain", "three hops"]
    (point,) = figure.points
    assert point.words(figure.study) == "ε = 4, three hops, over plain"


NO_SWEEPS = [
    ('at = [4, "three hops"]', 'at = [3, "three hops"]', "own-sweep has no point [3, 'three hops']"),
    ('at = [4, "three hops"]', "at = [4]", "name a value of each of its 2 axes"),
    ('theirs = "about 5"', "theirs = 5", "theirs must be a text"),
    ('sweep = "own-sweep.toml"', 'sweep = "nothing"', "one: no sweep is named 'nothing'"),
    ('sweep = "own-sweep.toml"', 'sweep = "nothing.toml"', "nothing.toml cannot be read"),
    ('sweep = "own-sweep.toml"', 'sweep = "own-sweep.toml"\ndata = "town"', "one has no 'data'"),
    ('"Fig. 2" = "a scheme"', '"Fig. 2" = 2', "Fig. 2 must be a text"),
]


def test_a_figure_that_is_no_sweep_is_refused(swept):
    check_refused(lambda *change: swept(change), NO_SWEEPS)


def test_of_sweeps_those_on_a_graph_are_chosen(swept):
    figures = paper_of("upgnet").figures
    on_cora = {figure.name for figure in figures if figure.on(["cora"])}
    assert on_cora == {"fig3", "fig4a", "fig4b", "fig5", "fig6", "fig9"}
    (fig6,) = (figure for figure in figures if figure.name == "fig6")
    assert fig6.on(["facebook"]).study.graphs == ["facebook"]
    # Asked for alone, one of a single graph is on another.
    (own,) = swept().figures
    assert own.on(["cora"], alone=True).study.graphs == ["cora"]
    assert own.on(["cora"]) is None
    with pytest.raises(InputError, match="upgnet-hops has no graph 'town'"):
        fig6.on(["town"], alone=True)


FIGURE = """
title = "A paper"
source = "Somebody"
[figures.one]
title = "Fig. 1"
computed = "expected-error"
"""

NO_FIGURES = [
    ('"expected-error"', '"nothing"', "one: no computed figure is named 'nothing'"),
    ('title = "Fig. 1"', "", "one needs title, a text"),
    ("[figures.one]", '[figures.one]\ndata = "cora"', "is computed without a graph: leave data out"),
    ('"expected-error"', '"walk-distance"', "walk-distance is computed from a graph: name it as data"),
    ('title = "Fig. 1"', 'title = "Fig. 1"\nseed = 3', "one has no 'seed'"),
    ("[figures.one]", "[figures]", "title must be a table"),
]


def test_a_figure_that_makes_no_sense_is_refused(written):
    check_refused(lambda *change: written(changed(FIGURE, change)), NO_FIGURES)


# Papers on one page: what the headline says of printed scores.


def outcomes(*intervals):
    """Cells whose printed score is compared with our intervals, which are given around it, in points."""
    tables = paper_of("upgnet").tables
    cells = [cell for table in tables for cell in table.cells if cell.measure.name == SCORE and cell.printed]
    for cell, (low, high) in zip(cells, intervals, strict=False):
        middle = cell.printed / 100
        ours = Summary(middle, middle + low / 100, middle + high / 100)
        yield CellResult(cell, reading=Reading({"method": ours}))


def test_printed_scores_within_our_intervals_are_counted():
    found = list(outcomes((-1, 1), (0.04, 1), (0.06, 1), (-1, -0.06)))
    assert comparison_sentence(found) == "2 of 4 printed scores lie within the 95% intervals of our means."
    # Nothing is said where nothing compares.
    (outcome,) = outcomes((-1, 1))
    assert comparison_sentence([]) == comparison_sentence([CellResult(outcome.cell)]) == ""


# Computed figures come from a copy of the project, and an installed package says so.


def test_a_figure_is_computed_by_its_file(monkeypatch, tmp_path):
    figure = source.compute_figure("worst-variance", FigureInput(quick=True))
    assert figure.panels and figure.findings
    # A file without a figure is not offered.
    with pytest.raises(InputError, match="expected-error, walk-distance, worst-variance"):
        source.compute_figure("exact", FigureInput())
    monkeypatch.setattr(source, "REPRODUCE", tmp_path / "reproduce")
    source.check_computation("worst-variance", "")
    with pytest.raises(InputError, match="run this in a copy of the project"):
        source.compute_figure("worst-variance", FigureInput(quick=True))
