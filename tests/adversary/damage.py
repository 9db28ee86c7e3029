"""Damage to files: bytes that are changed, cut out or cut off, and what an enemy would write instead."""

import copy
import io
import json
import warnings
import zipfile

import numpy as np
import pyarrow
import torch
from pyarrow import parquet

# Text that breaks parsers: no UTF-8, nesting, huge numbers, signs that few expect.
SPLICED = [
    *(b"\xff\xfe", b"\x80", b"\xed\xa0\x80", b"\x00", b'"', b",", b"\r", b"\n", b"-", b"nan", b"1e999"),
    *(b"[" * 20_000, b'{"a":' * 20_000, b"9" * 30, b"9" * 5000, b"\xef\xbb\xbf", "\u2028²".encode()),
]
SHAPES = [
    *((1 << 62,), (10**12, 10**12), (-1,), (10**15, 0), (0, 10**15), (2.5,), (True,), ("a",), (), (1,) * 70),
    *((10**4000,), (3, 2), (1 << 31,), (None,), 5, "x"),
]
TYPES = [
    *("|O", "<c16", "<M8[D]", [("a", "<f8"), ("b", "|O")], ("<f8", (2,)), "|V0", "<U0", "|S8", "<U8", ">f8"),
    *("<f2", "|b1", "<u8", "nonsense", "", None, 7, [], "<f8, <f8", "<U999999999"),
]


# Values in the place of others, in JSON and in files of tensors.
VALUES = [
    *(None, True, -1, 0, 1, 2.5, 10**30, -(10**30), float("nan"), float("inf")),
    *("", "a", "\ud800", "\x00", [], {}),
    *([[]], [1, "a"], {"a": 1}, "x" * 300, [0] * 3, 1 << 40),
]
TENSORS = [
    *(torch.zeros(0), torch.zeros(()), torch.full((3,), float("nan")), torch.zeros(1).expand(1 << 40)),
    *(torch.ones(7, dtype=torch.bool), torch.arange(3), torch.zeros(2, 2, dtype=torch.complex64)),
    *(torch.zeros(3, dtype=torch.uint8), torch.zeros(2, 2).to_sparse(), torch.zeros(3, dtype=torch.bfloat16)),
]
COLUMNS = [
    *(lambda rows: [None] * rows, lambda rows: [1 << 62] * rows, lambda rows: [-5] * rows),
    *(lambda rows: [0.5] * rows, lambda rows: [float("nan")] * rows, lambda rows: ["ü"] * rows),
    *(lambda rows: [b"\xff"] * rows, lambda rows: [[1, 2]] * rows, lambda rows: [[None]] * rows),
    *(lambda rows: [{"a": 1}] * rows, lambda rows: [True] * rows, lambda rows: [[]] * rows),
    lambda rows: pyarrow.array([b"\xff"] * rows).view(pyarrow.string()),
    lambda rows: pyarrow.array(["a"] * rows).dictionary_encode(),
    lambda rows: pyarrow.array([1] * rows, pyarrow.timestamp("ns")),
    lambda rows: pyarrow.array([1] * rows, pyarrow.decimal128(38)),
    lambda rows: pyarrow.nulls(rows),
]


def changed(content, random):
    """Some bytes of a file changed, cut out, repeated, cut off, or other text put between them."""
    whole = bytearray(content)
    for _ in range(int(random.integers(1, 5))):
        place = int(random.integers(len(whole)))
        kind = int(random.integers(6))
        if kind == 0:
            whole[place] = int(random.integers(256))
        elif kind == 1:
            whole[place] ^= 1 << int(random.integers(8))
        elif kind == 2:
            del whole[place : place + int(random.integers(1, 40))]
        elif kind == 3:
            whole[place:place] = whole[place : place + int(random.integers(1, 40))]
        elif kind == 4:
            whole[place:place] = SPLICED[int(random.integers(len(SPLICED)))]
        else:
            del whole[max(1, place) :]
        whole = whole or bytearray(1)
    return bytes(whole)


def rezipped(content, random, damage=changed):
    """The same archive with one of its files damaged and its checksum right."""
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(stream, "w") as new:
        chosen = int(random.integers(len(old.namelist())))
        for place, name in enumerate(old.namelist()):
            held = old.read(name)
            new.writestr(name, damage(held, random) if place == chosen else held)
    return stream.getvalue()


def headed(shape, dtype, body=b"", fortran=False, version=1):
    """An .npy file whose header says anything at all."""
    text = repr({"descr": dtype, "fortran_order": fortran, "shape": shape}).encode() + b"\n"
    return (
        b"\x93NUMPY"
        + bytes([version, 0])
        + len(text).to_bytes(2 if version == 1 else 4, "little")
        + text
        + body
    )


def reheaded(content, random):
    """The values of an .npy file below another header."""
    body = content[-int(random.integers(1, 64)) :]
    shape = SHAPES[int(random.integers(len(SHAPES)))] if random.random() < 0.7 else (3,)
    dtype = TYPES[int(random.integers(len(TYPES)))] if random.random() < 0.7 else "<f8"
    return headed(shape, dtype, body, bool(random.integers(2)), int(random.integers(1, 5)))


def replanted(tree, random, values):
    """The same tree of dictionaries and lists with one leaf or branch replaced."""
    whole = copy.deepcopy(tree)
    above, key, here = None, None, whole
    while isinstance(here, (dict, list)) and here and (above is None or random.random() < 0.8):
        keys = list(here) if isinstance(here, dict) else range(len(here))
        above, key = here, keys[int(random.integers(len(keys)))]
        here = above[key]
    value = values[int(random.integers(len(values)))]
    if above is None:
        return value
    if isinstance(above, dict) and random.random() < 0.2:
        del above[key]
    else:
        above[key] = value
    return whole


def reworded(content, random):
    """A JSON file with another value somewhere."""
    return json.dumps(replanted(json.loads(content), random, VALUES)).encode()


def retrained(content, random):
    """A file of tensors with another value somewhere."""
    stream = io.BytesIO()
    torch.save(
        replanted(torch.load(io.BytesIO(content), weights_only=True), random, VALUES + TENSORS), stream
    )
    return stream.getvalue()


def retabled(content, random):
    """A Parquet file with another column somewhere, or one fewer, or the same one twice."""
    whole = parquet.read_table(io.BytesIO(content))
    place = int(random.integers(whole.num_columns))
    name = whole.column_names[place]
    kind = int(random.integers(len(COLUMNS) + 2))
    if kind < len(COLUMNS):
        held = COLUMNS[kind](whole.num_rows)
        held = pyarrow.array(held) if isinstance(held, list) else held
        whole = whole.set_column(place, name, held)
    elif kind == len(COLUMNS):
        whole = whole.remove_column(place)
    else:
        whole = whole.append_column(name, whole.column(place))
    stream = io.BytesIO()
    parquet.write_table(whole, stream)
    return stream.getvalue()


def damages(content, count, seed=0):
    """So many damaged versions of a file: an archive is also damaged within, an array gets other headers too."""
    random = np.random.default_rng(seed)
    ways = [changed]
    if content[:1] == b"{":
        ways += [reworded]
    if content[:4] == b"PAR1":
        ways += [retabled]
    if b"data.pkl" in content[:100]:
        ways += [rezipped, retrained]
    elif content[:2] == b"PK":
        ways += [rezipped, lambda held, by: rezipped(held, by, reheaded)]
    if content[:6] == b"\x93NUMPY":
        ways += [reheaded]
    for number in range(count):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield ways[number % len(ways)](content, random)
