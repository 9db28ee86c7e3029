"""Whether a graph is on this machine, and what to do where it is not."""

from __future__ import annotations

import re
from pathlib import Path

from graphveil.graphs.load import TOWNS
from graphveil.graphs.store import find
from graphveil.outside import is_reference

NOT_HERE = "not here"
# What `not_here` says, wherever it stands in a text.
SENTENCE = re.compile(
    rf"(?P<data>\S+) is {NOT_HERE}: `graphveil data get (?P=data)`, or put (?P=data)\.npz into the folder that "
    "GRAPHVEIL_DATA names"
)


def not_here(data: str) -> str:
    """What to do about a graph that is not on this machine; empty where it is."""
    if data in TOWNS or find(data) is not None or Path(data).is_file() or is_reference(data):
        return ""
    return f"{data} is {NOT_HERE}: `graphveil data get {data}`, or put {data}.npz into the folder that GRAPHVEIL_DATA names"


def sentences_of(text: str) -> list[str]:
    """What a text says to do about graphs that are not here, in its order."""
    return [found[0] for found in SENTENCE.finditer(text)]


def briefly(text: str) -> str:
    """A text that says which graphs are not here, but not what to do about it; of a single such sentence two words are left.

    >>> briefly("Left out: lastfm is not here: `graphveil data get lastfm`, or put lastfm.npz into the folder that "
    ... "GRAPHVEIL_DATA names.")
    'Left out: lastfm is not here.'
    """
    if SENTENCE.fullmatch(text):
        return NOT_HERE
    return SENTENCE.sub(lambda found: f"{found['data']} is {NOT_HERE}", text)
