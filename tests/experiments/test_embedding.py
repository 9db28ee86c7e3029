"""Embeddings: what they hold, what they cost, and the files they are kept in."""

import json
import re
from importlib.util import find_spec

import numpy as np
import pytest

import graphveil as gv
from graphveil.errors import BudgetError, InputError
from graphveil.experiments import Experiment, artefacts, embed_experiment, read_embedding
from graphveil.experiments.artefacts import reduce_columns, write_artefact
from graphveil.experiments.unit import RunUnit, open_unit
from graphveil.graphs import from_arrays
from graphveil.methods import METHODS, Method, feature_plan
from graphveil.privacy.record import Cost, privacy_record
from tests.refusals import check_refused

SMALL = {"users": 200, "features": 16, "telling": 4, "labelled": 0.2, "validated": 0.2}
SPEC = Experiment.of("base", "town", epsilon=2.0, seed=3, settings={"epochs": 3}, data_options=SMALL)
parquet = pytest.param(
    ".parquet",
    marks=pytest.mark.skipif(find_spec("pyarrow") is None, reason="needs pyarrow: graphveil[parquet]"),
)
SUFFIXES = pytest.mark.parametrize("suffix", [".npz", parquet])


def experiment_of(name, **options):
    budget = 2.0 if METHODS.find(name).can.asks else None
    options = {"epsilon": budget, "settings": {"epochs": 3}, "data_options": SMALL, **options}
    return Experiment.of(name, "town", **options)


@pytest.fixture(scope="module")
def embedding():
    return embed_experiment(SPEC)


class Means(Method):
    """Reports as they are, asked for so many times; no label is needed."""

    name = "means"
    summary = "reports alone"
    times = 1

    def learn(self, job):
        raise AssertionError("nothing is learned for this embedding")

    def embed(self, job):
        answers = [job.users.report(feature_plan(job)).estimate().dense() for _ in range(self.times)]
        return np.mean(answers, axis=0).astype(np.float32)


@pytest.fixture
def means(monkeypatch):
    method = Means()
    monkeypatch.setitem(METHODS._items, "means", method)
    return method


def unlabelled():
    random = np.random.default_rng(0)
    rows = (random.random((40, 8)) < 0.5).astype(float)
    return from_arrays(random.integers(0, 40, (90, 2)), rows, None, range=(0, 1), name="unlabelled")


def test_an_embedding_says_where_it_comes_from(embedding):
    assert embedding.shape == (200, 16) and embedding.values.dtype == np.float32
    about = {
        "method": "base",
        "data": "town",
        "task": "node",
        "seed": 3,
        "epsilon": 2.0,
        "mechanism": "multibit",
    }
    about |= {"backbone": "gcn", "version": gv.__version__, "users": 200, "reduced_from": None}
    assert {name: getattr(embedding, name) for name in about} == about
    settings = {"epochs": 3, "lr": 0.01, "data.users": 200}
    assert settings.items() <= embedding.settings.items()
    assert embedding.edges == gv.load("town", **SMALL)[0].edge_count


@SUFFIXES
def test_a_file_brings_all_of_it_back_and_is_the_same_for_the_same_seed(embedding, suffix, tmp_path):
    first, second = (tmp_path / f"{name}{suffix}" for name in "ab")
    embedding.save(first)
    again = gv.read_embedding(first)
    assert np.array_equal(again.values, embedding.values) and again.values.dtype == np.float32
    assert again.about() == embedding.about()
    assert [found.name for found in tmp_path.iterdir()] == [first.name]
    embed_experiment(SPEC).save(second)
    assert first.read_bytes() == second.read_bytes()


def test_another_seed_gives_another_embedding(embedding):
    third, fourth = (embed_experiment(experiment_of("base", seed=seed)).values for seed in (3, 4))
    assert np.array_equal(third, embedding.values) and not np.array_equal(third, fourth)


def test_a_parquet_file_reads_as_a_table_whose_rows_stand_in_any_order(embedding, tmp_path):
    reader = pytest.importorskip("pyarrow.parquet", reason="needs pyarrow: graphveil[parquet]")
    file = tmp_path / "town.parquet"
    embedding.save(file)
    table = reader.ParquetFile(file).read()
    assert table.column_names == ["user", *(f"e{place}" for place in range(16))]
    assert table["user"].to_pylist() == list(range(200))
    assert json.loads(table.schema.metadata[b"graphveil"])["statement"] == embedding.statement
    reader.write_table(table.sort_by([("user", "descending")]), file)
    assert np.array_equal(read_embedding(file).values, embedding.values)


@pytest.mark.parametrize("name", METHODS.own())
def test_every_method_but_structure_has_an_embedding_of_users(name):
    spec = experiment_of(name)
    if name == "structure":
        with pytest.raises(InputError, match="structure has no embedding for the task node: take another"):
            embed_experiment(spec)
    else:
        found = embed_experiment(spec)
        assert found.shape[0] == 200 and found.values.std() > 0


@pytest.mark.parametrize(
    "name", [name for name in METHODS.own() if name != "structure" and "link" in METHODS.find(name).can.tasks]
)
def test_links_are_embedded_from_those_of_training_alone(name):
    found = embed_experiment(experiment_of(name, task="link"))
    assert (found.task, found.shape[0]) == ("link", 200)
    assert found.edges == round(0.85 * gv.load("town", **SMALL)[0].edge_count)
    assert "known labels" not in found.statement


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("base", {}),
        ("lpgnn", {"label_epsilon": 1.5}),
        ("solitude", {"link_epsilon": 6.0}),
        ("base", {"mechanism": "gaussian", "epsilon": 0.5, "delta": 1e-5}),
    ],
)
def test_what_is_said_to_be_spent_is_what_the_ledger_says(name, options):
    spec = experiment_of(name, **options)
    ready = open_unit(RunUnit(spec))
    ready.method.run(ready.job)
    ledger = ready.ledger
    found = embed_experiment(spec)
    assert found.privacy == privacy_record(ledger)
    assert found.privacy.features.epsilon == ledger.total("features").epsilon
    for cost in (found.privacy.features, found.privacy.labels, found.privacy.links):
        assert cost is None or f"ε = {cost.epsilon:g}" in found.statement
    assert f"Reports are simulated with seed {spec.seed}" in found.statement


def test_private_links_and_labels_and_raw_features_are_said_to_be_what_they_are():
    found = embed_experiment(experiment_of("solitude", link_epsilon=6.0))
    assert found.edges is None
    assert "every link costs ε = 6" in found.statement and "rest on known labels" in found.statement
    found = embed_experiment(experiment_of("lpgnn", label_epsilon=1.0))
    assert "labels at ε = 1" in found.statement and "known labels" not in found.statement
    # Raw features claim no privacy.
    found = embed_experiment(experiment_of("nonprivate"))
    assert found.statement.endswith("raw features were read: this claims no privacy.")
    assert (found.privacy.total, found.epsilon, found.mechanism) == (None, None, None)
    labels = embed_experiment(experiment_of("nonprivate", label_epsilon=1.0)).statement
    assert "claims no privacy" in labels and "Besides, users reported labels at ε = 1" in labels


def test_a_method_that_needs_no_labels_embeds_a_graph_without_any_and_what_cannot_be_is_refused(
    means, monkeypatch
):
    found = gv.embed("means", *unlabelled(), epsilon=1.0)
    assert found.shape == (40, 8) and found.data == "unlabelled"
    assert found.privacy.features == Cost(epsilon=1.0)
    assert "rest on links besides" in found.statement
    with pytest.raises(InputError, match="base needs train users with a label"):
        gv.embed("base", *unlabelled(), epsilon=1.0)
    # Nobody can be asked for more than was declared.
    monkeypatch.setattr(means, "times", 2)
    with pytest.raises(BudgetError):
        gv.embed("means", *unlabelled(), epsilon=1.0)
    monkeypatch.setattr(means, "embed", lambda job: np.zeros((3, 2), dtype=np.float32))
    with pytest.raises(InputError, match="one row a user, 40, got shape"):
        gv.embed("means", *unlabelled(), epsilon=1.0)


def test_fewer_columns_are_the_truncated_svd_of_all(embedding):
    reduced = embed_experiment(SPEC, dims=4)
    left, singular, _ = np.linalg.svd(embedding.values.astype(float), full_matrices=False)
    assert (reduced.shape, reduced.reduced_from) == ((200, 4), 16)
    assert np.allclose(np.abs(reduced.values), np.abs(left[:, :4] * singular[:4]), atol=1e-4)
    assert reduced.privacy == embedding.privacy
    # All columns keep all products.
    values = np.random.default_rng(0).normal(size=(30, 50)).astype(np.float32)
    whole = reduce_columns(values, 30)
    assert np.allclose(whole @ whole.T, values @ values.T, atol=1e-3)


def test_options_without_meaning_are_refused():
    wrong = [(dims, "dims must be an integer of at least 1") for dims in (0, -1, True, 1.5)]
    wrong.append((17, "200 x 16 numbers cannot be reduced to 17 dims: give at most 16"))
    check_refused(lambda dims: embed_experiment(SPEC, dims=dims), wrong)
    wrong = [("town", {name: 1}, f"leave {name} out") for name in ("runs", "control")]
    wrong.append((unlabelled()[0], {}, "give a graph together with its users"))
    check_refused(lambda data, more: gv.embed("base", data, epsilon=1.0, **more), wrong)


def test_a_write_that_fails_leaves_the_old_file_and_no_other(embedding, tmp_path, monkeypatch):
    file = tmp_path / "town.npz"

    def failing(error):
        def cut_off(stream, **_):
            stream.write(b"half")
            raise error

        monkeypatch.setattr(artefacts.np, "savez", cut_off)

    embedding.save(file)
    before = file.read_bytes()
    failing(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        embedding.save(file)
    failing(OSError(28, "No space left on device"))
    with pytest.raises(InputError, match=r"cannot be written \(No space left on device\)"):
        embedding.save(file)
    assert [found.name for found in tmp_path.iterdir()] == ["town.npz"] and file.read_bytes() == before


def test_a_file_that_cannot_be_written_is_refused(embedding, tmp_path):
    (tmp_path / "folder.npz").mkdir()
    cases = [
        ("town.csv", "town.csv has the unsupported format .csv: use .npz or .parquet"),
        ("nowhere/town.npz", "nowhere is not a folder"),
        ("folder.npz", "folder.npz is a folder"),
    ]
    check_refused(lambda name: embedding.save(tmp_path / name), cases)


@SUFFIXES
def test_a_file_that_is_none_is_refused(suffix, tmp_path):
    def read(content):
        (tmp_path / f"odd{suffix}").write_bytes(content)
        return read_embedding(tmp_path / f"odd{suffix}")

    contents = (b"", b"PK\x03\x04 half", b"PAR1 half PAR1", b"\x93NUMPY\x01\x00")
    words = "name a file that `graphveil embed` has written"
    check_refused(read, [(content, words) for content in contents])


def test_another_archive_or_table_is_refused(tmp_path):
    np.savez(tmp_path / "odd.npz", edges=[[0, 1]])
    wide = {"values": np.zeros((1 << 20, 24), np.float32), "about": np.array("{}")}
    np.savez_compressed(tmp_path / "wide.npz", **wide)
    assert (tmp_path / "wide.npz").stat().st_size < 200_000
    wrong = [("odd.npz", "holds no embedding"), ("none.npz", "is not there")]
    # What unpacks to far more than its size.
    much = "asks for 0.101 GB of memory, more than the 0.0671 GB .* `graphveil embed`"
    wrong.append(("wide.npz", re.compile(much)))
    check_refused(lambda name: read_embedding(tmp_path / name), wrong)
    arrow = pytest.importorskip("pyarrow", reason="needs pyarrow: graphveil[parquet]")
    from pyarrow import parquet

    parquet.write_table(arrow.table({"user": [0, 1], "e0": [0.5, 1.5]}), tmp_path / "odd.parquet")
    with pytest.raises(InputError, match="column 'e0' must be float32, got float64"):
        read_embedding(tmp_path / "odd.parquet")


def test_a_damaged_description_is_refused(embedding, tmp_path):
    def read(change):
        write_artefact(tmp_path / "town.npz", {"values": embedding.values}, {**embedding.about(), **change})
        return read_embedding(tmp_path / "town.npz")

    cases = [({"users": 7}, "one row a user, 7"), ({"seed": "x"}, "seed: "), ({"privacy": None}, "privacy: ")]
    check_refused(read, cases)
