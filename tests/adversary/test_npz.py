"""A graph's file that was damaged or written by an enemy is loaded properly or refused in a sentence that names it."""

import io
import warnings
import zipfile

import numpy as np
import pytest

import graphveil as gv
from graphveil import InputError
from graphveil.files import MAX_GIGABYTES, read_arrays
from graphveil.graphs.npz import read_npz
from tests.adversary.damage import changed, rezipped
from tests.adversary.memory import refused_in_small_memory
from tests.together import together

USERS = 12
GOOD = {
    "edges": np.array([[user, (user + 1) % USERS] for user in range(USERS)]),
    "x": np.eye(USERS, 5, dtype=np.float32),
    "y": np.arange(USERS) % 2,
    "range": np.array([0.0, 1.0]),
    "binary": np.array(True),
    "feature_names": np.array(list("abcde")),
    **{part: np.arange(USERS) % 3 == place for place, part in enumerate(("train", "validation", "test"))},
}
SPARSE = {
    **{key: array for key, array in GOOD.items() if key != "x"},
    "x_indptr": np.arange(USERS + 1),
    "x_indices": np.zeros(USERS, dtype=int),
    "x_data": np.ones(USERS),
    "x_shape": np.array([USERS, 5]),
}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "graph.npz"


def packed(arrays, compressed=True):
    stream = io.BytesIO()
    (np.savez_compressed if compressed else np.savez)(stream, **arrays)
    return stream.getvalue()


def outcome(path):
    """Load a file: True if it is a graph, False if it is refused properly; anything else is raised."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            graph, users = gv.load(path, range=(0, 1))
    except InputError:
        return False
    assert graph.node_count == len(users)
    return True


HOSTILE = [
    np.array(3), np.array([]), np.array([1e300]), np.array([np.inf, -np.inf]), np.array([-1]), np.array([2**40] * USERS),
    np.array([10**12] * USERS), np.array([2**63] * USERS, dtype=np.uint64), np.array(["a"] * USERS), np.array(["9"] * 2),
    np.zeros((USERS, 0)), np.zeros((0, USERS)), np.zeros((0, 2), dtype=int), np.full((USERS, 5), np.nan), np.zeros((2, USERS), int),
    np.full((USERS, 2), -1), np.full((USERS, 2), 10**9), np.full((USERS, 2), 0.5), np.zeros((2, 2, 2)), np.ones(USERS, dtype=bool),
    np.zeros(USERS), np.full(USERS, np.nan), np.arange(USERS) / 2, np.full(USERS, 1e18), np.arange(USERS)[::-1], np.array([0, 1]),
    np.array([1, 0]), np.array([2**31, 2**31]), np.array([USERS, 10**12]), np.array([USERS, 2**62]), np.array([1 + 2j] * USERS),
    np.array(["2020-01-01"] * USERS, dtype="datetime64[D]"), np.zeros(USERS, dtype="S3"), np.zeros(USERS, dtype=[("a", int)]),
    np.zeros(USERS, dtype=np.float16), np.zeros(USERS, dtype=np.longdouble),
]  # fmt: skip


def swapped(arrays, random):
    """A whole file in which some arrays are others than they should be."""
    chosen = dict(arrays)
    for key in random.choice(list(arrays), int(random.integers(1, 3)), replace=False):
        chosen[key] = HOSTILE[int(random.integers(len(HOSTILE)))]
    return packed(chosen, compressed=False)


def campaign(kind, count):
    random = np.random.default_rng({"bytes": 1, "arrays": 2, "swapped": 3}[kind])
    sources = [
        (arrays, packed(arrays, compressed)) for arrays in (GOOD, SPARSE) for compressed in (True, False)
    ]
    for number in range(count):
        arrays, content = sources[number % len(sources)]
        if kind == "swapped":
            yield swapped(arrays, random)
        else:
            yield (changed if kind == "bytes" else rezipped)(content, random)


@pytest.mark.parametrize(("kind", "count"), [("bytes", 900), ("arrays", 600), ("swapped", 600)])
def test_every_damaged_file_is_loaded_or_refused(path, kind, count):
    found = []
    for content in campaign(kind, count):
        path.write_bytes(content)
        found.append(outcome(path))
    assert not all(found)
    assert any(found)


@pytest.mark.parametrize("arrays", [GOOD, SPARSE])
@pytest.mark.parametrize("compressed", [True, False])
def test_the_file_that_is_damaged_is_a_good_one(path, arrays, compressed):
    path.write_bytes(packed(arrays, compressed))
    assert outcome(path)


@together(
    ("arrays", "words"),
    [
        ({"edges": None}, "has no array 'edges'"),
        ({"edges": np.full((3, 2), USERS)}, f"edges must name users 0..{USERS - 1}"),
        ({"edges": np.full((3, 2), -1)}, f"edges must name users 0..{USERS - 1}"),
        ({"edges": np.zeros((2, 5), dtype=int)}, "transpose it"),
        ({"edges": np.zeros((3, 2))}, "pairs of integers"),
        ({"x": np.zeros(USERS)}, "x must be numbers, users x features"),
        ({"x": np.zeros((USERS + 1, 5))}, f"one row for each of {USERS} users"),
        ({"y": np.array(1)}, "one label a user"),
        ({"y": np.zeros(USERS, dtype=complex)}, "must hold numbers, booleans or words"),
        ({"binary": np.array([1, 0])}, "binary must be True or False"),
        ({"feature_names": np.array("abc")}, "one name a feature"),
        ({"train": np.zeros((0, USERS), dtype=bool)}, "the same shape"),
        ({"train": np.array(["a"] * USERS)}, "masks of True and False"),
        ({"range": np.array(["a", "b"])}, "range must be two numbers"),
        ({"note": np.array([{}], dtype=object)}, "note is not a graph's array"),
        *(
            ({"x": None, **SPARSE, "x_shape": np.array(shape)}, None)
            for shape in ([USERS, 10**12], [USERS, 2**62], [-1, 5], [10**12, 5], [USERS], [USERS, 5, 1])
        ),
    ],
)
def test_a_wrong_array_is_named_with_its_file(path, arrays, words):
    path.write_bytes(packed({key: array for key, array in {**GOOD, **arrays}.items() if array is not None}))
    with pytest.raises(InputError, match=words) as caught:
        read_npz(path)
    assert str(path) in str(caught.value)


def test_the_largest_class_number_is_taken_and_none_above_it(path):
    classes = [0, 1] * (USERS // 2 - 1)
    for label in (10**12, 2**63 - 1, 1 << 16):
        path.write_bytes(packed({**GOOD, "y": np.array([*classes, 0, label])}))
        with pytest.raises(InputError, match="without gaps"):
            gv.load(path)
    graph, _ = gv.from_arrays(GOOD["edges"], labels=[*classes, 0, (1 << 16) - 1])
    assert graph.class_count == 1 << 16


def declared(path, shape, dtype, held, claimed=None):
    """A file with an array of such a header, and so many bytes of zeros behind it, or so many as its directory claims."""
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": dtype, "fortran_order": False, "shape": shape})
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        with file.open("edges.npy", "w") as member:
            member.write(stream.getvalue())
            block = bytes(1 << 20)
            for _ in range(held >> 20):
                member.write(block)
        if claimed is not None:
            file.getinfo("edges.npy").file_size = len(stream.getvalue()) + claimed


def test_a_header_that_asks_for_more_than_the_file_holds_is_refused(path):
    declared(path, (10**15, 2), "<i8", 1 << 20)
    with pytest.raises(InputError, match="it is damaged"):
        read_arrays(path)


def test_the_limit_counts_what_is_unpacked_and_can_be_raised(path):
    declared(path, (1 << 21, 2), "<i8", 1 << 25)
    assert path.stat().st_size < 200_000
    with pytest.raises(InputError, match=r"asks for 0.0336 GB .* raise max_gigabytes"):
        gv.load(path, max_gigabytes=0.03)
    assert gv.load(path, max_gigabytes=0.04)[0].edge_count == 0
    assert MAX_GIGABYTES == 4.0


@pytest.mark.parametrize("limit", [0, -1, True, "4", float("nan")])
def test_a_limit_that_is_none_is_refused(path, limit):
    with pytest.raises(InputError, match="max_gigabytes must be a positive number"):
        read_npz(path, limit)


READ = "from graphveil.graphs.npz import read_npz; read_npz(path)"


def test_what_asks_for_gigabytes_is_refused_before_it_is_unpacked(path):
    declared(path, (9 << 25, 4), "<i8", 1 << 20, claimed=9 << 30)
    assert path.stat().st_size < 100_000
    assert "asks for 9.66 GB" in refused_in_small_memory(READ, path)
    path.write_bytes(packed({"edges": np.array([[0, 2**31 - 3]])}))
    assert "GB of memory" in refused_in_small_memory(READ, path)


def test_a_header_of_gigabytes_is_not_read(path):
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file,
        file.open("edges.npy", "w") as member,
    ):
        member.write(b"\x93NUMPY\x02\x00" + (1 << 30).to_bytes(4, "little"))
        block = b" " * (1 << 20)
        for _ in range(300):
            member.write(block)
    assert "header of edges.npy is too long" in refused_in_small_memory(READ, path)


def test_an_array_that_is_there_twice_is_refused(path):
    path.write_bytes(packed(GOOD))
    with zipfile.ZipFile(path, "a") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        file.writestr("y.npy", file.read("y.npy"))
    with pytest.raises(InputError, match="holds 'y' twice"):
        read_npz(path)
