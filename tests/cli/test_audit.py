import importlib
import io
import json
import signal
import subprocess
import time
from contextlib import redirect_stderr, redirect_stdout

import pytest

from graphveil.audit.examine import Audit, StatedPrivacy
from graphveil.audit.findings import Step
from graphveil.cli import status
from graphveil.mechanisms import names
from graphveil.privacy.plan import Plan
from tests import interrupting
from tests.fixtures import started

# The command has the name of its module and hides it.
COMMAND = importlib.import_module("graphveil.cli.audit")
GOOD = """
from graphveil.channels import Claim, onebit
from graphveil.mechanisms import FeatureMechanism, PublicRange

def build(epsilon, dims, range):
    return FeatureMechanism("mine", Claim(epsilon), PublicRange.of(range), dims, dims, (onebit(epsilon / dims),), 1.0)
"""


@pytest.fixture
def instant(monkeypatch):
    """Audits that find nothing, at once."""
    asked = []

    def audit(subject, **settings):
        asked.append((subject, settings))
        return Audit(str(subject), StatedPrivacy(1.0), StatedPrivacy(0.99), ["all"], [])

    monkeypatch.setattr(COMMAND, "audit_mechanism", audit)
    return asked


MODEL = {"kind": "linear", "weights": [[3, -1, 0], [0, 2, 1], [-2, 0, 4]], "bias": [1, 0, -1]}
ASKED = {"of": "class", "classes": 2, "dims": 3, "range": (0, 1), "users": (3, 0), "lists": [[2, 0], [1, 2]]}
CLASS_PLAN = Plan(mechanism="krr", epsilon=2.0, model=MODEL, **ASKED)


def audited_once(audit):
    """An audit whose first findings serve every later call that asks for the same."""
    found = []

    def again(subject, *, random_bits, progress, **settings):
        if not found:
            found.extend([audit(subject, random_bits=random_bits, progress=progress, **settings), settings])
        assert settings == found[1]
        return found[0]

    return again


@pytest.fixture(scope="module")
def audits(tmp_path_factory):
    """What the command says of three subjects, each audited once: as JSON, and in words."""
    folder = tmp_path_factory.mktemp("audited")
    (folder / "mine.py").write_text(GOOD)
    (folder / "plan.json").write_text(CLASS_PLAN.to_json())
    mine, plan = f"{folder / 'mine.py'}:build", f"--plan {folder / 'plan.json'}"
    said = {}
    for name, subject in (("multibit", "multibit"), ("mine", mine), ("plan", plan)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(COMMAND, "audit_mechanism", audited_once(COMMAND.audit_mechanism))
            for form, more in (("json", "--json"), ("words", "")):
                out, err = io.StringIO(), io.StringIO()
                with redirect_stdout(out), redirect_stderr(err):
                    assert status(f"audit {subject} --quick --seed 1 {more}".split()) == 0
                said[name, form] = out.getvalue(), err.getvalue()
    return said


def test_a_claim_that_holds_exits_with_0_and_says_so(audits):
    out, _ = audits["multibit", "words"]
    assert "The claim of multibit holds." in out
    assert "0.99999999999909" in out


def test_json_is_one_object_and_nothing_else(audits):
    out, err = audits["multibit", "json"]
    assert json.loads(out)["holds"] is True
    assert len(out.splitlines()) == 1
    assert "multibit: exact epsilon of the tables" in err
    assert json.loads(audits["mine", "json"][0])["name"] == "mine"


def test_settings_reach_the_audit(instant, call):
    call("audit multibit --epsilon 2.5 --dims 30 --sampled 4 --full")
    (subject, settings), *_ = instant
    assert subject == "multibit"
    asked = {"epsilon": 2.5, "dims": 30, "sampled": 4, "quick": False, "random_bits": None}
    assert {name: settings[name] for name in asked} == asked


def test_one_mechanism_is_audited_in_full_and_all_of_them_quickly(instant, call):
    call("audit krr")
    call("audit --all")
    assert [settings["quick"] for _, settings in instant] == [False] + [True] * len(names())


def test_all_is_a_table_with_a_row_for_each_or_a_list(instant, call):
    out = call("audit --all").out
    assert all(name in out for name in names())
    assert [found["name"] for found in call("audit --all --json").json] == names()


def test_all_fails_if_one_does_not_hold(monkeypatch, call):
    def audit(subject, **settings):
        leaks = ["it tells everything"] if subject == "krr" else []
        return Audit(subject, StatedPrivacy(1.0), StatedPrivacy(0.99), [], leaks)

    monkeypatch.setattr(COMMAND, "audit_mechanism", audit)
    assert "krr: it tells everything" in call("audit --all", ends=1).out


def test_an_audit_that_ran_out_of_time_exits_with_1_and_does_not_say_that_it_holds(monkeypatch, call):
    late = Step("many users in one call", "its time was over before its end", unfinished=True)
    found = Audit("krr", StatedPrivacy(1.0), StatedPrivacy(0.99), [], [], [late], covers="7 classes")
    monkeypatch.setattr(COMMAND, "audit_mechanism", lambda *_, **__: found)
    out = call("audit krr", ends=1).out
    assert "is not known: the audit ran out of time" in out and "holds." not in out
    assert "Sizes covered\n  • 7 classes" in out


def test_all_leaves_out_what_refuses_the_settings_and_says_so(monkeypatch, call):
    def audit(subject, **settings):
        if subject == "gaussian":
            return refusing(subject, **settings)
        return Audit(subject, StatedPrivacy(20.0), StatedPrivacy(20.0), [], [])

    refusing = COMMAND.audit_mechanism
    monkeypatch.setattr(COMMAND, "audit_mechanism", audit)
    monkeypatch.setattr(COMMAND, "names", lambda: ["krr", "gaussian"])
    printed = call("audit --all --epsilon 20 --json --seed 1")
    assert [found["name"] for found in json.loads(printed.out)] == ["krr"]
    assert "not audited, gaussian: epsilon must be at most 1" in printed.err


MISTAKES = [
    ("", "name one mechanism, PATH.py:NAME, --plan FILE, or --all"),
    ("krr --plan x.json", "x.json cannot be read"),
    ("krr --collection c", "--collection keeps the full audit of a plan"),
    ("krr --minutes 0", "minutes must be a positive finite number, got 0"),
    ("--plan nowhere.json", "nowhere.json cannot be read"),
    ("krr --all", "leave out --all or 'krr'"),
    ("nope", "no mechanism is named 'nope': choose one of onebit"),
    ("krr --epsilon 0", "epsilon must be a positive finite number, got 0"),
    ("krr --epsilon nan", "epsilon must be a positive finite number, got nan"),
    ("krr --epsilon much", "Invalid value for '--epsilon'"),
    ("krr --dims 5 --sampled 2", "krr has no setting 'sampled'"),
    ("multibit --sampled 2", "sampled needs dims"),
    ("multibit --dims 3 --sampled 4", "sampled must be an integer from 1 to 3"),
    ("multibit --dims 0", "dims must be an integer of at least 1"),
    ("multibit --seed -1", "seed"),
    ("multibit --wrong", "No such option: --wrong"),
    ("nowhere.py:build", "there is no file 'nowhere.py'"),
    ("nowhere.py", "PATH.py:NAME"),
]


def test_a_mistake_is_one_line_and_exit_status_2(refuses):
    refuses(MISTAKES, "audit", printed=False)


def test_a_plan_that_asks_for_a_class_is_audited(audits):
    found = json.loads(audits["plan", "json"][0])
    assert (found["name"], found["claimed"]["epsilon"], found["finite"]) == ("krr", 2.0, True)
    assert found["not_covered"]
    printed, _ = audits["plan", "words"]
    assert "✓ the class that a public model gives" in printed
    assert "The claim of krr holds." in printed


def test_what_is_not_covered_comes_last_for_the_packages_own_and_first_for_code_from_outside(audits):
    protects, _, covered = audits["multibit", "words"][0].partition("Not covered")
    assert "It protects" in protects and "The claim of multibit holds. Its tables are proved" in covered
    first, second, *_, last = audits["mine", "words"][0].splitlines()
    assert first == "Not covered" and "evidence and not proof" in second
    assert last == "No fault was found in mine. That is evidence that its claim holds, not proof."


FILES = [
    ("def build(:", "build", "cannot be imported: SyntaxError"),
    (GOOD, "nope", "has no 'nope': it has build"),
    ("def build(epsilon):\n    return 3", "build", "must build a Mechanism, it returns int"),
]


def test_a_mistake_in_a_file_is_one_line_and_exit_status_2(tmp_path, refuses):
    for place, (text, name, words) in enumerate(FILES):
        path = tmp_path / f"mine{place}.py"
        path.write_text(text)
        refuses([(f"audit {path}:{name}", words)])
    (tmp_path / "plan.json").write_text('{"mechanism": "krr", "epsilon": -1, "classes": 3}')
    refuses([(f"audit --plan {tmp_path / 'plan.json'}", "the plan cannot be served")])


def test_an_interrupt_exits_with_130_and_no_traceback():
    with started(interrupting.COMMAND, "audit", "privunit", stdin=None, stderr=subprocess.PIPE) as process:
        line = process.stderr.readline()
        assert line.startswith("privunit: ")
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in err
