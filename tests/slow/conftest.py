"""Runs what takes minutes in parts, keeps what has passed, and writes a page of it.

A part is a file: `make test-slow PART=audits` runs test_audits.py, `PART="audits devices"` both, and without PART all. What has passed
with the same source and the same tests is not run again, except with `AGAIN=1`. Results are kept in .slow/results.jsonl,
one line each, written when a test ends; .slow/summary.md is the page.
"""

import json
import re
import time
from collections import defaultdict
from hashlib import sha256
from pathlib import Path

import pytest

from graphveil.version import digest_of

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PASSED, FAILED, SKIPPED, NOT_RUN = "passed", "failed", "skipped", "not run"


def pytest_addoption(parser):
    group = parser.getgroup("slow", "tests that take minutes")
    group.addoption(
        "--part", default="", help="parts to run: names of files without test_, or how they begin"
    )
    group.addoption("--again", action="store_true", help="run what has passed, too")
    group.addoption("--results", type=Path, default=ROOT / ".slow", help="the folder where results are kept")


def part_of(nodeid):
    return Path(nodeid.partition("::")[0]).stem.removeprefix("test_")


def source():
    """Return what results depend on: the package, the tests and the exact versions of what both use."""
    parts = [digest_of(ROOT / name) for name in ("src", "tests", "benchmarks", "reproduce")]
    return sha256("".join([*parts, (ROOT / "constraints.txt").read_text()]).encode()).hexdigest()[:16]


class Results:
    """What ran, how long it took and what it showed; the last line of a test with the same source counts."""

    def __init__(self, folder, source):
        self.file, self.page, self.source = folder / "results.jsonl", folder / "summary.md", source
        self.kept, self.running = {}, {}
        lines = self.file.read_text().splitlines() if self.file.exists() else []
        for line in map(json.loads, lines):
            if line["source"] == source:
                self.kept[line["test"]] = line

    def passed(self, nodeid):
        return self.kept.get(nodeid, {}).get("outcome") == PASSED

    def add(self, report):
        """Take one report of a test; the last one, of its end, is written down."""
        line = self.running.setdefault(
            report.nodeid,
            {"test": report.nodeid, "source": self.source, "outcome": PASSED, "seconds": 0.0, "shown": []},
        )
        line["seconds"] = round(line["seconds"] + report.duration, 2)
        if report.failed:
            line["outcome"] = FAILED
            line["shown"].append(last_line(report.longreprtext))
        elif report.skipped:
            line["outcome"] = SKIPPED
            line["shown"].append(report.longrepr[2] if isinstance(report.longrepr, tuple) else "")
        if report.when == "teardown":
            line["shown"] += [value for name, value in report.user_properties if name == "shown"]
            self.kept[report.nodeid] = self.running.pop(report.nodeid)
            self.file.parent.mkdir(parents=True, exist_ok=True)
            with self.file.open("a") as file:
                file.write(json.dumps(line) + "\n")

    def summary(self, tests):
        """Return the page: a table of parts, and under each part its tests with what they showed."""
        parts = defaultdict(list)
        for nodeid in sorted({*tests, *self.kept}, key=lambda each: each.partition("::")[0]):
            missing = {"test": nodeid, "outcome": NOT_RUN, "seconds": 0.0, "shown": []}
            parts[part_of(nodeid)].append(self.kept.get(nodeid, missing))
        outcomes = (PASSED, FAILED, SKIPPED, NOT_RUN)
        table, details = [], []
        for part, lines in parts.items():
            seconds = sum(line["seconds"] for line in lines)
            counts = [sum(line["outcome"] == outcome for line in lines) for outcome in outcomes]
            table.append([part, *map(str, counts), duration(seconds)])
            told = [line for line in lines if line["shown"] or line["outcome"] == FAILED]
            if told:
                details += ["", f"## {part}", ""]
            for line in told:
                name = sentence(line["test"])
                details.append(f"- {line['outcome']}, {duration(line['seconds'])}: {name}")
                details += [f"    - {shown}" for shown in line["shown"] if shown]
        date = time.strftime("%Y-%m-%d %H:%M")
        head = ["# Slow tests", "", f"{date}, source {self.source}", ""]
        head += ["| part | passed | failed | skipped | not run | time |", "| --- |" + " ---: |" * 5]
        return "\n".join([*head, *(f"| {' | '.join(row)} |" for row in table), *details]) + "\n"


def last_line(text):
    """Return what an error says, without the place where it was raised."""
    said = [line[1:].strip() for line in text.splitlines() if line.startswith("E  ")]
    return said[0] if said else text.strip().rpartition("\n")[2]


def sentence(nodeid):
    """Return the name of a test as words."""
    name, bracket, case = nodeid.partition("::")[2].partition("[")
    return re.sub(r"^test_", "", name).replace("_", " ") + (f" ({case.removesuffix(']')})" if bracket else "")


def duration(seconds):
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}"


class Parts:
    """Chooses what runs, and keeps what became of it."""

    def __init__(self, config):
        self.wanted = re.split(r"[\s,]+", config.getoption("part").strip())
        self.again = config.getoption("again")
        self.results = Results(config.getoption("results"), source())
        self.tests = []

    def pytest_collection_modifyitems(self, config, items):
        slow = [item for item in items if item.path.is_relative_to(HERE)]
        for item in slow:
            # What takes minutes is not stopped after some.
            item.add_marker(pytest.mark.timeout(0))
        self.tests = [item.nodeid for item in slow]
        chosen = [item for item in slow if part_of(item.nodeid).startswith(tuple(self.wanted))]
        if slow and not chosen:
            parts = ", ".join(dict.fromkeys(map(part_of, self.tests)))
            raise pytest.UsageError(f"no part begins with {' or '.join(self.wanted)}; there are {parts}")
        left = [item for item in chosen if self.again or not self.results.passed(item.nodeid)]
        out = [item for item in slow if item not in left]
        if out:
            config.hook.pytest_deselected(items=out)
            items[:] = [item for item in items if item not in out]

    def pytest_runtest_logreport(self, report):
        self.results.add(report)

    def pytest_terminal_summary(self, terminalreporter):
        page = self.results.summary(self.tests)
        self.results.page.parent.mkdir(parents=True, exist_ok=True)
        self.results.page.write_text(page)
        terminalreporter.write("\n" + page)
        terminalreporter.write_line(f"\nwritten to {self.results.page}")

    def pytest_sessionfinish(self, session):
        # Nothing to run because all has passed is no failure.
        if session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and self.tests:
            session.exitstatus = pytest.ExitCode.OK


def pytest_configure(config):
    if not config.getoption("collectonly"):
        config.pluginmanager.register(Parts(config))


@pytest.fixture
def shows(record_property):
    """Say what a test showed, for the page."""
    return lambda *values: record_property("shown", " ".join(map(str, values)))
