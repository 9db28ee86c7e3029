"""Canonical bytes are the same for the same thing, and docs/wire-format.md shows them."""

import hashlib
import json
import math
import struct
from pathlib import Path

import numpy as np

from graphveil import mechanism
from graphveil.channels.channel import canonical, digest

PAGE = (Path(__file__).parents[2] / "docs" / "wire-format.md").read_text(encoding="utf-8")


def test_a_float_is_the_digits_of_its_double_and_an_array_its_type_shape_and_digest():
    for value in (0.0, 1.0, -0.1, 1e300, math.pi, math.inf):
        assert json.loads(canonical(value)) == "f" + struct.pack(">d", value).hex()
    array = np.arange(6, dtype=np.int32).reshape(2, 3)
    expected = hashlib.sha256(struct.pack("<6q", *range(6))).hexdigest()
    assert json.loads(canonical(array)) == {"sha256": expected, "shape": [2, 3], "type": "<i8"}


def test_neither_order_nor_memory_layout_nor_number_types_matter_but_anything_else_does():
    table = np.arange(6.0).reshape(2, 3)
    one = {"a": table, "b": (1, np.int64(2)), "c": np.float32(0.5)}
    other = {"c": 0.5, "b": [1, 2], "a": np.asfortranarray(table)}
    assert digest(one) == digest(other)
    for changed in ({"a": 2}, {"a": 1.0}, {"b": 1}, {"a": True}, {"a": "1"}):
        assert digest(changed) != digest({"a": 1}), changed


def multibit():
    return mechanism("multibit", epsilon=1.0, dims=4, range=(0, 1))


def krr():
    return mechanism("krr", epsilon=1.0, classes=3)


def test_the_fingerprint_follows_from_the_bytes_on_the_page():
    shown = [line.strip() for line in PAGE.splitlines() if line.startswith("    {")]
    channel, whole = (
        next(line for line in shown if word in line) for word in ('"kind":"kary"', '"multibit"')
    )
    assert hashlib.sha256(channel.encode("ascii")).hexdigest() == krr().channel.fingerprint
    assert hashlib.sha256(whole.encode("ascii")).hexdigest() == multibit().fingerprint
    assert multibit().fingerprint in PAGE and krr().fingerprint in PAGE


def test_the_name_of_a_class_is_no_part_of_a_fingerprint():
    class Renamed(type(multibit())):
        pass

    found = multibit()
    again = Renamed(**{name: getattr(found, name) for name in found.__dataclass_fields__})
    assert again.fingerprint == found.fingerprint
