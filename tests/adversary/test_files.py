"""Whatever file a command reads may be damaged, or written by an enemy: it is read, or refused in a sentence that names it."""

import json
import shutil
import warnings

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

import graphveil as gv
from graphveil import GraphveilError, Plan, learn
from graphveil.audit.candidate import read_plan
from graphveil.cli import status
from graphveil.client.held import read_held, read_links
from graphveil.collect.folder import CollectionSettings, write_settings
from graphveil.collect.folder import read_settings as read_collection
from graphveil.collect.public_graph import PublicGraph, read_public_graph
from graphveil.experiments import Experiment, Result
from graphveil.experiments.experiment_file import packaged, read_settings
from graphveil.experiments.model import train_model
from graphveil.experiments.results import read_results
from graphveil.experiments.store import ResultStore
from graphveil.experiments.study import read_sweep
from graphveil.experiments.unit import UnitResult
from graphveil.graphs.links import divide_edges
from graphveil.graphs.users import read_levels
from graphveil.methods.heterorr import read_attribute_numbers
from graphveil.methods.veil_model import read_weights
from graphveil.privacy.record import Cost, Privacy
from graphveil.scale import facts, load_whole, open_shards, shard_files, write_shards
from graphveil.scale.stored_reports import write_reports
from tests.adversary.damage import damages, headed
from tests.learn.graphs import targets_of

USERS = 20
ROW = np.array([0.8765432, 0.1234567, 0.7654321])
LABELS = Plan(mechanism="krr", epsilon=1.0, classes=4)


@pytest.fixture(scope="module")
def town():
    return gv.load("town", users=160)


def row(suffix):
    def make(folder, town):
        file = folder / f"row{suffix}"
        if suffix == ".npy":
            np.save(file, ROW)
        elif suffix == ".csv":
            file.write_text("a,b,c\n" + ",".join(map(str, ROW)) + "\n")
        else:
            file.write_text(json.dumps({"values": ROW.tolist(), "label": 1, "neighbours": [1, 2]}))
        return file, lambda: read_held(file)

    return make


def ids(folder, town):
    file = folder / "links.txt"
    file.write_text("anna\nbø\n")
    return file, lambda: read_links(file)


def levels(suffix):
    def make(folder, town):
        file = folder / f"levels{suffix}"
        if suffix == ".npy":
            np.save(file, np.arange(USERS) % 4 + 1)
        else:
            file.write_text("\n".join(str(user % 4 + 1) for user in range(USERS)))
        return file, lambda: read_levels(file, USERS)

    return make


def weights(folder, town):
    file, graph = folder / "weights.npz", town[0]
    classes = graph.class_count
    np.savez(file, weights=np.ones((classes, graph.feature_count)), bias=np.zeros(classes))
    return file, lambda: read_weights(file, graph)


def table(suffix, role, text=True):
    """A table of links or labels, which a collection and `graphveil graph shard` read."""

    def make(folder, town):
        names = [f"ü{user}" if text else user for user in range(USERS)]
        columns = {
            "links": {"source": names, "target": names[1:] + names[:1]},
            "labels": {"user": names, "label": [user % 3 for user in range(USERS)]},
        }
        for each, held in columns.items():
            if suffix == ".parquet":
                parquet.write_table(pyarrow.table(held), folder / f"{each}.parquet")
            else:
                lines = [",".join(map(str, cells)) for cells in zip(*held.values(), strict=True)]
                (folder / f"{each}.csv").write_text("\n".join([",".join(held), *lines]) + "\n")
        links, labels = folder / f"links{suffix}", folder / f"labels{suffix}"

        def read():
            out = folder / "sharded"
            shutil.rmtree(out, ignore_errors=True)
            failed = None
            for act in (
                lambda: read_public_graph(links, labels),
                lambda: shard_files(links, out, labels=labels, ids=text, partitions=2, partitioner="ranges"),
            ):
                try:
                    act()
                except GraphveilError as error:
                    failed = error
            if failed:
                raise failed

        return (links if role == "links" else labels), read

    return make


def graph_in_parts(folder, town):
    file = folder / "graph.npz"
    edges = np.array([[user, (user + 1) % USERS] for user in range(USERS)])
    np.savez(file, edges=edges, x=np.eye(USERS, 5), y=np.arange(USERS) % 2, range=[0.0, 1.0])

    def read():
        shutil.rmtree(folder / "out", ignore_errors=True)
        shard_files(file, folder / "out", partitions=2, partitioner="ranges")

    return file, read


def kept_graph(folder, town):
    file = folder / "graph-1.npz"
    names = np.array([f"u{user}" for user in range(USERS)])
    PublicGraph(np.array([[0, 1]]), np.zeros(USERS, dtype=np.int64), names, ("a",)).write(file)
    return file, lambda: PublicGraph.read(file)


def embedding(suffix):
    def make(folder, town):
        file = folder / f"embedding{suffix}"
        gv.embed("base", *town, epsilon=1.0, settings={"epochs": 1}).save(file)
        return file, lambda: gv.read_embedding(file)

    return make


def model(folder, town):
    file = folder / "model.pt"
    spec = Experiment.of("base", "mine", epsilon=1.0, settings={"epochs": 2})
    gv.save(train_model(spec, given=town), file)
    return file, lambda: gv.load_model(file).predict(town[0])


def checkpoint(name):
    def make(folder, town):
        graph, users = town
        inputs = learn.tensor(users.raw.features.astype(np.float32))
        targets = targets_of(graph)

        class StoppedError(Exception):
            pass

        def fit(stop=None):
            def progress(done, most, loss):
                if done == stop:
                    raise StoppedError

            with learn.seeded(3), learn.one_thread():
                built = learn.build_backbone("gcn", inputs.shape[1], 4, graph.class_count)
                kept = learn.Checkpoints(folder / "kept", 2)
                schedule = learn.Schedule(epochs=5)
                learn.fit(built, inputs, learn.Topology(graph), targets, schedule, progress, checkpoints=kept)

        if name == "epoch":
            with pytest.raises(StoppedError):
                fit(3)
        else:
            fit()
        (file,) = (folder / "kept").rglob("*.pt")

        def read():
            damaged = file.read_bytes()
            shutil.rmtree(folder / "kept")
            file.parent.mkdir(parents=True)
            file.write_bytes(damaged)
            fit()

        return file, read

    return make


def shard(name):
    def make(folder, town):
        graph, users = town
        out = folder / "shards"
        shards = write_shards(graph, out, partitions=2, users=users, partitioner="ranges")
        number = np.argsort(shards.table(0, 2).original).astype(np.int32)
        reports = users.declare(9.0, seed=3).report(LABELS)
        write_reports(out, shards.manifest, LABELS, reports, number)

        def read():
            opened = open_shards(out)
            facts(opened)
            load_whole(out)
            for partition in range(opened.partition_count):
                opened.reports(LABELS).partition(partition)

        (file,) = sorted(out.glob(name))[:1]
        return file, read

    return make


def settings(suffix):
    def make(folder, town):
        file = folder / f"settings{suffix}"
        toml = '[tuned]\nmethod = "base"\n[settings]\nlr = 0.01\nepochs = 3\n'
        file.write_text(toml if suffix == ".toml" else '{"settings": {"lr": 0.01, "data": {"users": 3}}}')
        return file, lambda: read_settings(file, "base")

    return make


def plan(folder, town):
    file = folder / "plan.json"
    file.write_text(Plan(mechanism="multibit", epsilon=1.0, dims=4, range=(0, 1), sampled=2).to_json())
    return file, lambda: read_plan(file).build()


def sweep(folder, town):
    file = folder / "sweep.toml"
    shutil.copy(packaged("sweeps")["silence"], file)
    return file, lambda: read_sweep(file)


def attributes(folder, town):
    file = folder / "weights.csv"
    file.write_text("1.5\n2\n0\n")
    return file, lambda: read_attribute_numbers(file, 3, "weights")


def private_links(folder, town):
    file = folder / "private.csv"
    file.write_text("0,1\n2 3\n7\n")
    return file, lambda: divide_edges(town[0], str(file), 0)


def collection(folder, town):
    write_settings(folder, CollectionSettings(id="x", purpose="why", epsilon=2.0, dims=3, range=(0, 1)))
    return folder / "collection.toml", lambda: read_collection(folder)


def a_result():
    seconds = dict.fromkeys(("report", "denoise", "train", "total"), 0.1)
    privacy = Privacy(features=Cost(epsilon=1.0))
    parts = ("method", "control", "structure")
    units = tuple(UnitResult(part, 0, 0.5, "label propagation", privacy, seconds, 10.0) for part in parts)
    return Result.from_units(Experiment.of("base", "town", epsilon=1.0, runs=1), units)


def results(suffix):
    def make(folder, town):
        store = ResultStore(folder / "results.sqlite")
        store.add(a_result())
        if suffix == ".sqlite":
            return store.file, lambda: read_results([store.file])
        file = folder / "results.json"
        file.write_text(a_result().to_json())
        return file, lambda: read_results([file])

    return make


KINDS = {
    "row.npy": row(".npy"),
    "row.csv": row(".csv"),
    "row.json": row(".json"),
    "ids": ids,
    "levels.npy": levels(".npy"),
    "levels.txt": levels(".txt"),
    "weights.npz": weights,
    "links.csv": table(".csv", "links"),
    "links.parquet": table(".parquet", "links"),
    "numbered-links.csv": table(".csv", "links", text=False),
    "numbered-links.parquet": table(".parquet", "links", text=False),
    "labels.csv": table(".csv", "labels"),
    "labels.parquet": table(".parquet", "labels"),
    "graph-in-parts.npz": graph_in_parts,
    "kept-graph.npz": kept_graph,
    "embedding.npz": embedding(".npz"),
    "embedding.parquet": embedding(".parquet"),
    "model.pt": model,
    "epoch.pt": checkpoint("epoch"),
    "end.pt": checkpoint("end"),
    "shards/graph.json": shard("graph.json"),
    "shards/users.parquet": shard("part-*/users.parquet"),
    "shards/edges.parquet": shard("part-*/edges.parquet"),
    "shards/held.parquet": shard("users/part-*.parquet"),
    "shards/plan.json": shard("reports/*/plan.json"),
    "shards/reports.parquet": shard("reports/*/part-*.parquet"),
    "settings.toml": settings(".toml"),
    "settings.json": settings(".json"),
    "plan.json": plan,
    "sweep.toml": sweep,
    "attributes.csv": attributes,
    "private-links.csv": private_links,
    "collection.toml": collection,
    "results.json": results(".json"),
    "results.sqlite": results(".sqlite"),
}


# What these say may be wrong where it can be read: an error is then about the graph or the model.
READ_FIRST = [
    "weights.npz",
    "labels.csv",
    "labels.parquet",
    "graph-in-parts.npz",
    "model.pt",
    "shards/graph.json",
]


def failures(kind, folder, town, count, seed=0):
    """What was wrong about reading damaged files of a kind: an error of another class, without the file's name, or with a value of a row."""
    file, read = KINDS[kind](folder, town)
    content = file.read_bytes()
    read()
    wrong, refused = [], 0
    for number, damaged in enumerate(damages(content, count, seed)):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(damaged)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                read()
        except GraphveilError as error:
            refused += 1
            if str(folder) not in str(error) and file.name not in str(error) and kind not in READ_FIRST:
                wrong.append(f"{number} is not named: {error}")
            if any(str(value)[2:] in str(error) for value in ROW):
                wrong.append(f"{number} shows a private value: {error}")
        except Exception as error:  # noqa: BLE001 -- whatever it is, it is a failure
            wrong.append(f"{number}: {type(error).__name__}: {str(error)[:200]}")
    assert refused, "no damaged file was refused"
    return wrong


@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_file_is_read_or_refused(kind, tmp_path, town):
    assert failures(kind, tmp_path, town, 150) == []


def test_a_command_ends_with_a_sentence_and_status_2(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "row.npy").write_bytes(headed((1 << 50,), "<f8", ROW.tobytes()))
    (tmp_path / "levels.npy").write_bytes(b"PK\x03\x04")
    (tmp_path / "settings.json").write_bytes(b"[" * 10**5)
    run = ["run", "ppgnn", "--data", "town", "--epsilon", "1", "--runs", "1"]
    for arguments, file in (
        (["answer", "--server", "http://localhost:1", "--row", "row.npy"], "row.npy"),
        ([*run, "--levels", "4", "--level-distribution", "levels.npy"], "levels.npy"),
        ([*run, "--settings", "settings.json"], "settings.json"),
    ):
        assert status(arguments) == 2, arguments
        said = capsys.readouterr().err
        assert said.lstrip().startswith("Error: ") and file in said and "Traceback" not in said
