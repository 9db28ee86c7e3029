"""Addresses, headers and bodies, as far as they are read."""

import asyncio

import pytest

from graphveil.collect.problems import ProblemError
from graphveil.collect.requests import GoneError, header, read_address, read_body
from tests.together import each


def read(parts, limit=10, headers=()):
    """A body that comes in parts; the last one ends it. How many parts were asked for."""
    left = [{"type": "http.request", "body": part, "more_body": True} for part in parts]
    if left:
        left[-1]["more_body"] = False

    async def receive():
        return left.pop(0) if left else {"type": "http.disconnect"}

    try:
        return asyncio.run(read_body(headers, receive, limit)), len(parts) - len(left)
    except ProblemError as error:
        return error.status, len(parts) - len(left)


def test_a_body_may_come_in_parts_until_it_is_too_long_by_what_is_told_or_read():
    assert read([b"ab", b"", b"cd"]) == (b"abcd", 3)
    assert read([b""]) == (b"", 1)
    assert read([b"x" * 10]) == (b"x" * 10, 1)
    assert read([b"x" * 6, b"x" * 5, b"x"]) == (413, 2)
    with pytest.raises(GoneError):
        read([])

    def found(told):
        return read([b"x"], headers=[(b"content-length", told)])

    long, none = (b"11", b"0" * 18 + b"11", b"9" * 5000), (b"", b"-1", b"1e9", b"\xb2", b" 99")
    assert {told: found(told) for told in long} == dict.fromkeys(long, (413, 0))
    assert {told: found(told) for told in none} == dict.fromkeys(none, (b"x", 1))


def test_the_first_header_counts_and_addresses_have_one_form():
    headers = [(b"a", b"1"), (b"b", b"2"), (b"b", b"3")]
    assert header(headers, b"b") == b"2" and header(headers, b"c") == b""

    def check(wrong):
        with pytest.raises(ProblemError):
            read_address(*wrong)

    own = "a" * 32
    assert read_address("1", own) == (1, own)
    each([("0", own), ("1\n", own), ("\u0661", own), ("1", "A" * 32), ("1", own + "\n"), ("", "")], check)
