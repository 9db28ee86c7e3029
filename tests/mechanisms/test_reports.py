"""Reports: the wire format byte for byte, round trips, and everything that can be wrong with a message."""

import json
import struct
import zlib
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphveil.channels.sampling import SeededBits
from graphveil.errors import InputError, MessageError
from graphveil.mechanisms import Reports
from tests.mechanisms.support import EVERYTHING, private, small
from tests.together import together

MULTIBIT = small("multibit", dims=300, sampled=2)
REPORTS = Reports(
    MULTIBIT,
    np.array([0, 2, 4, 6]),
    np.array([0, 299, 7, 8, 256, 257], dtype=np.int32),
    np.array([0, 1, 1, 1, 0, 0], dtype=np.uint8),
)


def sealed(body):
    """A message with the right checksum, whatever it says."""
    return body + struct.pack("<I", zlib.crc32(body))


def header(mechanism=MULTIBIT, **changed):
    """The first 64 bytes, field by field as the module's docstring lists them, with some changed."""
    fields = {"magic": b"GVRP", "version": 2, "flags": 3, "code_bytes": 1, "dim_bytes": 2, "users": 3}
    fields |= {"codes": 6, "dims": 300, "length": 2, "mark": bytes.fromhex(mechanism.fingerprint)}
    return struct.pack("<4sBBBBQQII32s", *(fields | changed).values())


BODY = struct.pack("<6H", 0, 299, 7, 8, 256, 257) + bytes([0, 1, 1, 1, 0, 0])
ABSENT = object()


# The wire format


def test_the_wire_format_is_as_documented_with_dimensions_and_without():
    assert REPORTS.to_bytes() == sealed(header() + BODY)
    laplace = small("laplace", dims=2)
    reports = Reports(laplace, np.array([0, 2]), None, np.array([513, 1], dtype=np.uint16))
    fields = {"flags": 2, "code_bytes": 2, "dim_bytes": 0, "users": 1, "codes": 2, "dims": 2, "length": 2}
    assert reports.to_bytes() == sealed(header(laplace, **fields) + struct.pack("<HH", 513, 1))
    lengths = struct.pack("<3I", 2, 2, 2)
    message = sealed(header(flags=1, length=0) + lengths + BODY)
    assert Reports.from_bytes(message, MULTIBIT) == REPORTS


# Round trips


@together("users", [0, 1, 4])
@pytest.mark.parametrize("name", EVERYTHING)
def test_bytes_and_json_come_back_as_they_were(name, users):
    found = small(name)
    reports = found.randomize(private(name, users), SeededBits(1))
    assert reports.users == users
    for back in (
        Reports.from_bytes(reports.to_bytes(), found),
        Reports.from_json(reports.to_json(), found),
        Reports.from_json(reports.to_json().encode(), found),
    ):
        assert back == reports
        assert back.codes.dtype == reports.codes.dtype
        assert (back.dims is None) == (reports.dims is None)
        assert np.array_equal(back.estimate().dense(), reports.estimate().dense())


@given(st.integers(0, 5), st.integers(1, 400), st.data())
def test_multibit_reports_of_any_shape_come_back(users, dims, data):
    found = small("multibit", dims=dims, sampled=data.draw(st.integers(1, min(dims, 9))))
    reports = found.randomize(np.zeros((users, dims)), SeededBits(data.draw(st.integers(0, 9))))
    assert Reports.from_bytes(reports.to_bytes(), found) == reports
    assert Reports.from_json(reports.to_json(), found) == reports


@pytest.mark.parametrize("name", [name for name in EVERYTHING if not small(name).shape.uneven])
@settings(max_examples=20)
@given(st.data())
def test_the_size_of_a_message_does_not_depend_on_values(name, data):
    found, sizes = small(name), set()
    for seed in range(3):
        held = np.array(data.draw(st.lists(st.integers(0, 1), min_size=6, max_size=6))).reshape(2, 3)
        held[:, 2] *= held[:, :2].sum(axis=1) < 2  # at most two ones, for item
        reports = found.randomize(1 + held[:, 0] if name in ("krr", "esw") else held, SeededBits(seed))
        sizes.add((len(reports.to_bytes()), str(reports.codes.dtype), tuple(reports.lengths.tolist())))
    assert len(sizes) == 1


# Damage


def reports_of(name):
    return small(name).randomize(private(name, 2), SeededBits(5))


@pytest.mark.parametrize("name", ["multibit", "laplace", "item", "krr"])
def test_every_changed_byte_and_every_truncation_is_noticed(name):
    reports = reports_of(name)
    message = reports.to_bytes()
    for place in range(len(message)):
        with pytest.raises(MessageError, match="truncated"):
            Reports.from_bytes(message[:place], reports.mechanism)
        for change in (1, 2, 0x80, 0xFF):
            damaged = bytearray(message)
            damaged[place] ^= change
            with pytest.raises(MessageError):
                Reports.from_bytes(bytes(damaged), reports.mechanism)


def test_every_changed_character_and_every_truncation_of_json_is_noticed():
    text = REPORTS.to_json()
    for place in range(len(text)):
        with pytest.raises(MessageError, match="no JSON"):
            Reports.from_json(text[:place], MULTIBIT)
        with pytest.raises(MessageError):
            Reports.from_json(text[:place] + "x" + text[place + 1 :], MULTIBIT)


def body(dims=(0, 1, 2, 3, 4, 5), codes=bytes(6), lengths=()):
    return struct.pack(f"<{len(lengths)}I6H", *lengths, *dims) + codes


@together(
    ("fields", "body", "expected"),
    [
        ({"magic": b"GVRQ"}, BODY, "does not start with"),
        ({"version": 1}, BODY, "version 1, graphveil reads 2"),
        ({"flags": 7}, BODY, "flags 7"),
        ({"code_bytes": 3}, BODY, "widths 3 and 2"),
        ({"dim_bytes": 0}, BODY, "widths 1 and 0"),
        ({"flags": 2}, BODY, "flags 2, widths 1 and 2"),
        ({"dims": 299}, BODY, "do not fit"),
        ({"length": 3}, BODY, "do not fit"),
        ({"users": 2}, BODY, "do not fit"),
        ({"users": 6, "length": 1}, BODY, "must hold 2 codes"),
        ({"mark": bytes(16)}, BODY, "another mechanism than multibit"),
        ({}, BODY + b"\0", "damaged: 87 bytes, its header says 86"),
        ({"users": 2**60, "codes": 0, "length": 0}, b"", None),
        ({"users": 2**60, "codes": 0, "length": 2}, b"", None),
        ({"codes": 0, "length": 0}, b"", "must hold 2 codes"),
        ({}, body((0, 300, 7, 8, 9, 10)), r"dimensions must lie in 0\.\.299"),
        ({}, body((0, 1, 8, 7, 9, 10)), "ascending and different"),
        ({}, body((0, 1, 7, 7, 9, 10)), "ascending and different"),
        ({}, body(codes=bytes([0, 0, 0, 0, 2, 0])), "codes must be below 2, got 2"),
        ({"flags": 1, "length": 0}, body(lengths=(1, 3, 2)), "must hold 2 codes"),
        ({"flags": 1, "length": 0}, body(lengths=(2, 2, 3)), "6 codes, lengths say 7"),
        ({"code_bytes": 2}, body(codes=bytes(12)), "multibit sends codes of 1 bytes, got uint16"),
        ({"flags": 2, "dim_bytes": 0}, bytes(6), "must name dimensions"),
    ],
)
def test_what_no_client_can_have_sent_is_refused_although_its_checksum_fits(fields, body, expected):
    with pytest.raises(MessageError, match=expected):
        Reports.from_bytes(sealed(header(**fields) + body), MULTIBIT)


def test_dimensions_where_none_are_named_are_refused():
    onebit = small("onebit", dims=2)
    fields = {"flags": 3, "dim_bytes": 1, "users": 1, "codes": 2, "dims": 2, "length": 2}
    with pytest.raises(MessageError, match="must not name dimensions"):
        Reports.from_bytes(sealed(header(onebit, **fields) + bytes([0, 1, 0, 0])), onebit)


@together("changed", [{"epsilon": 2.0}, {"sampled": 3}, {"range": (0, 2)}, {"dims": 299}, {"name": "duchi"}])
def test_another_mechanism_does_not_read_the_message(changed):
    other = small(**({"name": "multibit", "dims": 300, "sampled": 2} | changed))
    for read, message in ((Reports.from_bytes, REPORTS.to_bytes()), (Reports.from_json, REPORTS.to_json())):
        with pytest.raises(MessageError, match="another mechanism"):
            read(message, other)


@together("name", EVERYTHING)
def test_the_control_is_another_mechanism(name):
    reports = reports_of(name)
    with pytest.raises(MessageError, match="another mechanism"):
        Reports.from_bytes(reports.to_bytes(), reports.mechanism.blind())


@together(
    ("changed", "expected"),
    [
        ({"format": "other"}, "format"),
        ({"version": 1}, "version 1"),
        ({"mechanism": "0" * 32}, "another mechanism"),
        ({"codes": [0, 1, 1, 1, 0]}, "5 codes, lengths say 6"),
        ({"codes": [0, 1, 1, 1, 0, 1]}, "checksum"),
        *(({"codes": [0, 1, 1, 1, 0, wrong]}, "does not fit") for wrong in (-1, 256)),
        *(({"codes": wrong}, "lists of integers") for wrong in ([0, 1, 1, 1, 0, 0.0], [[0, 1, 1, 1, 0, 0]])),
        *(({"codes": wrong}, "damaged") for wrong in (3, None)),
        ({"dims": []}, "0 dimensions do not fit 6 codes"),
        ({"dims": None}, "must name dimensions"),
        ({"dims": [0, 299, 7, 8, 256, 2**40]}, "does not fit"),
        *(({"lengths": wrong}, "lists of integers") for wrong in ([2, 2, 2.0], ["2", "2", "2"])),
        ({"lengths": [6]}, "must hold 2 codes"),
        ({"crc32": "none"}, "damaged"),
        ({"crc32": 1}, "checksum"),
        *(({missing: ABSENT}, missing) for missing in ("lengths", "dims", "codes", "crc32")),
    ],
)
def test_json_that_lies_or_misses_a_field_is_refused(changed, expected):
    fields = json.loads(REPORTS.to_json()) | changed
    with pytest.raises(MessageError, match=expected):
        Reports.from_json(json.dumps({k: v for k, v in fields.items() if v is not ABSENT}), MULTIBIT)


@together("text", ["", "3", "[]", "null", "{}", "[" * 100_000, b"\xff\xfe\xfa"])
def test_other_text_is_no_report(text):
    with pytest.raises(MessageError, match="damaged"):
        Reports.from_json(text, MULTIBIT)


# In memory


def test_a_row_is_one_users_report_and_repr_says_who_reports_what():
    row = REPORTS.row(1)
    assert (row.users, row.dims.tolist(), row.codes.tolist()) == (1, [7, 8], [1, 1])
    assert REPORTS.nbytes == 4 * 8 + 6 * 4 + 6
    assert repr(REPORTS) == "Reports(multibit, 3 users, 6 codes of uint8)"


@together("name", EVERYTHING)
def test_joined_reports_come_in_order(name):
    found = small(name)
    reports = found.randomize(private(name, 4), SeededBits(2))
    assert Reports.join([reports.row(user) for user in range(4)]) == reports


def test_what_cannot_be_joined_or_said_twice_is_refused():
    other = small("multibit", epsilon=2.0, dims=300, sampled=2).randomize(np.zeros((1, 300)))
    with pytest.raises(MessageError, match="different mechanisms"):
        Reports.join([REPORTS, other])
    with pytest.raises(InputError, match="at least one report"):
        Reports.join([])
    with pytest.raises(InputError, match="then say who has not answered"):
        Reports.join([REPORTS, REPORTS.answered_by(np.ones(3, dtype=bool))])
    some = REPORTS.answered_by(np.ones(3, dtype=bool))
    for reports, who in ((some, np.ones(3, dtype=bool)), (REPORTS, np.ones(2, dtype=bool))):
        with pytest.raises(InputError, match="who answers must be said once"):
            reports.answered_by(who)
    with pytest.raises(MessageError, match="3 reports came of 4 users who answered"):
        replace(REPORTS, answered=np.ones(4, dtype=bool)).check()


def test_equality_looks_at_everything():
    assert replace(REPORTS) == REPORTS
    for changed in (
        {"mechanism": MULTIBIT.blind()},
        {"dims": None},
        {"dims": REPORTS.dims[::-1]},
        {"codes": 1 - REPORTS.codes},
        {"indptr": np.array([0, 3, 4, 6])},
    ):
        assert replace(REPORTS, **changed) != REPORTS, changed
    assert REPORTS != "reports"
    one, other = (REPORTS.answered_by(np.array(who)) for who in ([True, True, False], [True, False, True]))
    assert one != other and one != REPORTS


def test_reports_of_those_who_answer_are_theirs():
    some = REPORTS.answered_by(np.array([True, False, True]))
    assert (some.users, some.asked, some.places.tolist()) == (2, 3, [0, 2])
    assert some.dims.tolist() == [0, 299, 256, 257]
    assert some.codes.tolist() == [0, 1, 0, 0]
    some.check()
    nobody = REPORTS.answered_by(np.zeros(3, dtype=bool))
    assert (nobody.users, nobody.asked) == (0, 3)
    assert nobody.estimate().shape == (3, 300)


def test_an_estimate_has_an_empty_row_for_whoever_is_silent():
    who = np.array([True, False, True])
    whole, some = REPORTS.estimate(), REPORTS.answered_by(who).estimate()
    assert some.shape == whole.shape
    assert np.diff(some.indptr).tolist() == [2, 0, 2]
    assert np.array_equal(some.dense()[who], whole.dense()[who])
    assert (some.dense()[1] == some.offset).all()
    mechanism = small("laplace", dims=2)
    reports = mechanism.randomize(np.zeros((2, 2)), SeededBits(0))
    some = reports.answered_by(np.array([False, True])).estimate()
    assert some.indices.tolist() == [0, 1]
    assert np.array_equal(some.dense()[1], reports.estimate().dense()[1])
