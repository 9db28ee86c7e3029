"""What is refused, listed or audited loads no library that takes seconds: one process tells it of all commands."""

import json

from tests.cli import test_attributes, test_embed, test_predict
from tests.fixtures import printed_by

HEAVY = ["matplotlib", "optuna", "pyarrow", "torch"]
MISTAKES = [
    "run base --data town",
    "sweep ppgnn-h --out x.pdf",
    "paper nobody",
    "tune base --data town",
    "report nowhere.json",
    *(words for module in (test_attributes, test_embed, test_predict) for words, _ in module.MISTAKES),
]
CODE = """
import json, sys

def loaded(*names):
    return sorted(set(names) & set(sys.modules))

import graphveil.audit.check
told = [["the audit", loaded(*HEAVY, "scipy", "typer"), 0]]
before = loaded(*HEAVY)
from graphveil.cli import status
for words in CALLS:
    ended = status(words.split())
    told.append([words, [name for name in loaded(*HEAVY) if name not in before], ended])
    before = loaded(*HEAVY)
print(json.dumps(told))
"""


def test_nothing_that_takes_seconds_is_loaded_before_it_is_needed(own_folder):
    calls = [*MISTAKES, "results --epsilon 1"]
    code = CODE.replace("HEAVY", repr(HEAVY)).replace("CALLS", repr(calls))
    told = json.loads(printed_by(code, cwd=own_folder).splitlines()[-1])
    expected = [["the audit", [], 0], *([words, [], 2] for words in MISTAKES), [calls[-1], [], 0]]
    assert [each for each, right in zip(told, expected, strict=True) if each != right] == []
