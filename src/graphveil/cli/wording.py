"""Errors in the words of the command line: options where the library names arguments."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import fields

from graphveil.methods.terms import Budgets, Levels, Machine, Turnout, Volunteers

# Arguments that are options of the same name: those of all records that a spec has, and of the commands themselves.
TERMS = (Budgets, Levels, Turnout, Volunteers, Machine)
OWN = (
    "runs",
    "seed",
    "jobs",
    "engine",
    "workers",
    "checkpoint_every",
    "trials",
    "backbone",
    "task",
    "dims",
    "range",
    "partitions",
)
ARGUMENTS = (*(each.name for record in TERMS for each in fields(record)), *OWN)
PAIR = re.compile(r"(?<=give )range=\(([^,)]*), ([^)]*)\)")
# Where a word that is an argument cannot be anything else.
BEFORE = r"(?:(?<=give )|(?<=give a larger )|(?<=leave )|(?<=leave out ))"
AFTER = r"(?= (?:must|has no meaning|names|needs) )"


def command_words(message: str, names: Iterable[str] = ARGUMENTS) -> str:
    """A message with options in the place of arguments.

    >>> command_words("epsilon must be a positive finite number, got -1")
    '--epsilon must be a positive finite number, got -1'
    >>> command_words("mine has features but no public range: give range=(LOW, HIGH), or leave link_epsilon out")
    'mine has features but no public range: give --range LOW,HIGH, or leave --link-epsilon out'
    """
    message = PAIR.sub(r"--range \1,\2", message)
    for name in names:
        option = "--" + name.replace("_", "-")
        whole = rf"(?<![-.\w]){name}(?![-\w=.])"
        if "_" in name:
            message = re.sub(whole, option, message)
        else:
            message = re.sub(rf"^{whole}{AFTER}|{BEFORE}{whole}", option, message)
    return message
