"""FILE.py:NAME and installed packages on the command line."""

import importlib

import pytest

from graphveil.audit.examine import Audit, StatedPrivacy
from graphveil.cli.options import default_file
from graphveil.experiments import Experiment
from tests.packages import install

pytestmark = pytest.mark.usefixtures("forget_outside")

CODE = """
import graphveil as gv
from graphveil.learn import MLP as Own
from graphveil.methods import Method
from graphveil.methods.base import Base

class Mine(Base):
    "Mine alone."
    name = "mine"
    summary = "of one's own"
    grid = {"hidden": (8, 16)}

class Nameless(Method):
    def learn(self, job):
        return None

def build(epsilon, dims, range):
    "One bit of every value."
    return gv.mechanism("onebit", epsilon=epsilon, dims=dims, range=range)

def few(users=300):
    return gv.load("town", users=users, features=16, telling=4, labelled=0.2, validated=0.2)

number = 3
"""


@pytest.fixture(autouse=True)
def folder(own_folder, python_file):
    python_file(CODE)
    return own_folder


FEW = "--data mine.py:few --epsilon 2 --set epochs=2"
RUN = f"run mine.py:Mine {FEW} --no-control"


def test_all_four_can_be_named_and_the_author_s_claim_is_told(call):
    printed = call(RUN, "--runs 1 --mechanism mine.py:build --backbone mine.py:Own").words
    assert "mine.py:Mine, mine.py:build, ε = 2" in printed
    claim = "What mine.py:build claims is its author's word, not the library's"
    assert f"{claim}: `graphveil audit mine.py:build` checks it." in printed
    # Nothing is told of the library's own.
    assert "author" not in call(RUN, "--runs 1").out


def test_the_audit_that_a_result_names_can_be_run(call, monkeypatch):
    def audit(subject, **settings):
        found.append(subject)
        return Audit("mine", StatedPrivacy(1.0), StatedPrivacy(1.0), [], [])

    found = []
    # The command has the name of its module and hides it.
    monkeypatch.setattr(importlib.import_module("graphveil.cli.audit"), "audit_mechanism", audit)
    assert call("audit mine.py:build --quick --json").json["holds"] is True
    assert [candidate(epsilon=2.0, dims=3, range=(0, 1)).claim.epsilon for candidate in found] == [2.0]


def test_several_processes_change_no_number(call):
    one, two = (call(RUN, f"--runs 2 --jobs {jobs} --json").json["runs"] for jobs in (1, 2))
    assert one == two


def test_a_search_writes_a_file_that_the_run_takes(call, folder):
    call("tune mine.py:Mine", FEW, "--runs 1")
    assert (folder / "Mine-few-eps2.toml").exists()
    call(RUN, "--runs 1 --settings Mine-few-eps2.toml")
    everything = {"mechanism": "mine.py:build", "backbone": "mine.py:Own"}
    spec = Experiment.of("mine.py:Mine", "town", epsilon=2.0, **everything)
    assert str(default_file(spec)) == "Mine-town-eps2-build-Own.toml"


def test_an_embedding_is_written_and_all_are_described(call):
    assert call("embed mine.py:Mine", FEW, "--out mine.npz --json").json["shape"] == [300, 16]
    printed = call("methods mine.py:Mine --settings").out
    assert "of one's own" in printed and "--set for mine.py:Mine" in printed and "ldpge" not in printed
    (told,) = call("mechanisms mine.py:build --json").json["mechanisms"]
    about = {"subject": "features", "trust": "local", "summary": "One bit of every value."}
    assert told == {"name": "mine.py:build", **about}
    assert call("data info mine.py:few --json").json["users"] == 300


PLACES = {
    "method": "run {} --data town --epsilon 1",
    "mechanism": "run base --data town --epsilon 1 --mechanism {}",
    "backbone": "run base --data town --epsilon 1 --backbone {}",
    "data": "run base --epsilon 1 --data {}",
}
MISTAKES = [
    ("nowhere.py:Mine", "there is no file 'nowhere.py'"),
    ("mine.py:Nobody", "mine.py has no 'Nobody': it has "),
    ("mine.py:number", "mine.py:number "),
    ("mine.py", "in a file is named PATH.py:NAME"),
    ("broken.py:Mine", "broken.py cannot be imported: ZeroDivisionError: division by zero"),
    ("exits.py:Mine", "exits.py cannot be imported: SystemExit: 7"),
    ("wrong.py:Mine", "wrong.py cannot be imported: SyntaxError"),
]


@pytest.mark.parametrize("place", PLACES)
def test_a_mistake_is_told_in_one_line(place, folder, refuses):
    (folder / "broken.py").write_text("1 / 0\n")
    (folder / "exits.py").write_text("raise SystemExit(7)\n")
    (folder / "wrong.py").write_text("def Mine(:\n")
    refuses([(PLACES[place].format(name), said) for name, said in MISTAKES])


def test_a_method_without_a_name_or_a_backbone_s_wrong_output_is_a_mistake(folder, refuses):
    (folder / "layers.py").write_text(
        "import torch\n\nclass Wide(torch.nn.Linear):\n"
        "    def __init__(self, inputs, hidden, outputs):\n        super().__init__(inputs, outputs + 1)\n"
        "    def forward(self, x, edge_index):\n        return super().forward(x)\n"
    )
    wrong = [
        ("run mine.py:Nameless --data town --epsilon 1", "mine.py:Nameless has no name"),
        (f"{RUN} --runs 1 --backbone layers.py:Wide", "layers.py:Wide must return floats of shape"),
    ]
    refuses(wrong)


POINTS = {"graphveil.methods": {"theirs": "Mine"}, "graphveil.mechanisms": {"bits": "build"}}


def test_what_packages_offer_is_listed_and_run(folder, monkeypatch, call):
    install(folder, monkeypatch, POINTS, CODE)
    assert "theirs" in [each["name"] for each in call("methods --json").json["methods"]]
    assert "bits" in [each["name"] for each in call("mechanisms --json").json["mechanisms"]]
    assert "`graphveil audit bits`" in call("run theirs --mechanism bits", FEW, "--runs 1 --no-control").words


def test_a_broken_package_is_warned_of_beside_the_list_and_a_mistake_where_it_is_asked_for(
    folder, monkeypatch, call
):
    install(folder, monkeypatch, POINTS, "1 / 0\n")
    broken = "the package of-a-test 1.5 cannot be loaded"
    for command in ("methods", "mechanisms"):
        told = call(f"{command} --json")
        assert told.json[command]
        assert told.err.startswith("Warning: the ") and broken in told.err
    said = f"{broken}: ZeroDivisionError"
    assert said in call("run theirs --data town --epsilon 1", ends=2).err
