"""Seeded mutations: how many small mistakes in the code a selection of tests sees.

    python -m tests.mutation FOLDER [--count 300] [--rooms channels ...] [--tests tests/channels ...]

1. Mutants are drawn from the source with a seed, the same number for every room and every operator as far as there are as many.
2. The tests run once, each part of them by itself, and say which of them reach which line.
3. Each mutant runs the tests that reach its line, in a copy of the project, until the first one fails.

Everything is kept in FOLDER, so that the same command goes on after an interruption. ``--mutants OTHER/mutants.jsonl`` takes the
mutants of another folder: a mutant is known by its file, the text of its line and its operator, so that it is found in another
version of the project (``--tree``) too. Processes that tests start are not seen by step 2.
"""

import argparse
import ast
import importlib.util
import itertools
import json
import math
import os
import queue
import random
import shutil
import subprocess
import sys
import time
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ("channels", "mechanisms", "privacy", "client", "methods")
# What a copy of the project needs not.
LEFT_OUT = (".git", ".venv", ".slow", ".mutants", "__pycache__", ".*_cache", ".hypothesis", "build", "dist")
KILLED, SURVIVED, TIMEOUT, NOT_COVERED, NOT_FOUND = (
    "killed",
    "survived",
    "timeout",
    "not covered",
    "not found",
)
# A single test that takes so many times as long as before, or so many seconds, hangs.
HANGS, LEAST_SECONDS = 10, 30.0
# Tests of one process, by the seconds that they took before: most mutants are killed in the first.
BATCHES = (5.0, 60.0, math.inf)
# Statuses of pytest: all passed, some failed, nothing ran. Another one is a process that broke, as a mutant may make it.
PASSED, FAILED, NOTHING_RAN = 0, 1, 5
ENVIRONMENT_COVERAGE, ENVIRONMENT_TESTS = "GRAPHVEIL_MUTATION_COVERAGE", "GRAPHVEIL_MUTATION_TESTS"


# --- What is changed ---

COMPARISONS = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
ARITHMETIC = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.MatMult: ast.Mult,
}


@dataclass(frozen=True)
class Mutant:
    """One change of one place: the ``nth`` place in a file whose line reads ``line`` and to which ``operator`` applies."""

    file: str
    line: str
    operator: str
    nth: int

    @property
    def room(self):
        return Path(self.file).parts[2]


@dataclass(frozen=True)
class Change:
    """What a mutant is in one version of a file: where it stands, and what stands there instead."""

    begin: int
    end: int
    text: str
    lines: range
    # Where the statement begins that it is in.
    statement: int

    def applied(self, source):
        return source[: self.begin] + self.text.encode() + source[self.end :]


def named(old, new):
    return f"{type(old).__name__} to {new.__name__}"


def replacements(node):
    """Yield what can stand in place of a node: the name of the operator, and source text."""

    def with_(**fields):
        changed = type(node)(**{**{name: getattr(node, name, None) for name in node._fields}, **fields})
        return f"({ast.unparse(ast.fix_missing_locations(changed))})"

    match node:
        case ast.Compare(ops=[op]):
            new = COMPARISONS[type(op)]
            yield f"comparison: {named(op, new)}", with_(ops=[new()])
        case ast.Constant(value=bool(value)):
            yield "boolean: negated constant", repr(not value)
        case ast.Constant(value=int() | float() as value):
            yield "constant: plus 1", f"({value!r} + 1)"
            yield "constant: minus 1", f"({value!r} - 1)"
        case ast.BinOp(op=op) if not (is_text(node.left) or is_text(node.right)):
            new = ARITHMETIC.get(type(op))
            if new is not None:
                yield f"arithmetic: {named(op, new)}", with_(op=new())
        case ast.BoolOp(op=op):
            new = ast.Or if isinstance(op, ast.And) else ast.And
            yield f"boolean: {named(op, new)}", with_(op=new())
        case ast.UnaryOp(op=ast.Not()):
            yield "boolean: removed not", f"({ast.unparse(node.operand)})"
        case ast.Raise():
            yield "statement: removed raise", "pass"
        case ast.Expr(value=ast.Call()):
            yield "statement: removed call", "pass"
        case ast.AugAssign() | ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield "statement: removed assignment", "pass"
        case ast.Return(value=value) if value is not None and not is_constant(value):
            yield "return: None", "return None"


def conditions(node):
    """Yield the conditions of a node, which can be negated."""
    if isinstance(node, ast.If | ast.While | ast.IfExp) and not isinstance(node.test, ast.UnaryOp):
        yield node.test


def is_text(node):
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
    )


def is_constant(node):
    return isinstance(node, ast.Constant)


def places(node, statement=None):
    """Yield each node of a tree that may change, with the statement it is in.

    Types and decorators are left out; positions inside f-strings are not reliable.
    """
    if isinstance(node, ast.JoinedStr):
        return
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        return
    # `zip(..., strict=True)` of what has one length by construction.
    if isinstance(node, ast.keyword) and node.arg == "strict":
        return
    statement = node if isinstance(node, ast.stmt) else statement
    if statement is not None:
        yield node, statement
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from places(child, statement)


def changes(file, source):
    """Return all changes of a file of Python by their mutants, those included that do not compile."""
    rows = source.splitlines(keepends=True)
    starts = [0, *itertools.accumulate(map(len, rows))]
    seen, found = Counter(), {}
    for node, statement in places(ast.parse(source)):
        wanted = [(node, *each) for each in replacements(node)]
        wanted += [
            (test, "boolean: negated condition", f"(not ({ast.unparse(test)}))") for test in conditions(node)
        ]
        for place, operator, text in wanted:
            line = rows[place.lineno - 1].decode().strip()
            mutant = Mutant(file, line, operator, seen[line, operator])
            seen[line, operator] += 1
            found[mutant] = Change(
                starts[place.lineno - 1] + place.col_offset,
                starts[place.end_lineno - 1] + place.end_col_offset,
                text,
                range(place.lineno, place.end_lineno + 1),
                statement.lineno,
            )
    return found


def is_another_program(changed, source):
    """Return whether changed source compiles, and to something else."""
    try:
        tree = ast.parse(changed)
        compile(tree, "mutant", "exec")
    except (SyntaxError, ValueError):
        return False
    return ast.dump(tree) != ast.dump(ast.parse(source))


def all_changes(tree, rooms):
    """Return the changes of all files of some rooms."""
    found = {}
    for room in rooms:
        for path in sorted((tree / "src" / "graphveil" / room).rglob("*.py")):
            found.update(changes(path.relative_to(tree).as_posix(), path.read_bytes()))
    return found


def draw(tree, found, count, seed):
    """Return ``count`` mutants that compile: rooms and kinds of operators take turns, and chance chooses among what is equal."""
    dice = random.Random(seed)
    groups = defaultdict(list)
    for mutant in sorted(found, key=lambda each: (each.file, each.line, each.operator, each.nth)):
        groups[mutant.room, mutant.operator.partition(":")[0]].append(mutant)
    by_room = defaultdict(list)
    for (room, _), group in sorted(groups.items()):
        dice.shuffle(group)
        by_room[room].append(group)
    turns = one_after_the_other(one_after_the_other(groups) for groups in by_room.values())

    def compiles(mutant):
        source = (tree / mutant.file).read_bytes()
        return is_another_program(found[mutant].applied(source), source)

    return list(itertools.islice(filter(compiles, turns), count))


def one_after_the_other(lists):
    rounds = itertools.zip_longest(*lists)
    return [each for one_round in rounds for each in one_round if each is not None]


# --- What pytest is asked: this module is also a plugin ---


class Coverage:
    """Records which test reaches which line, and how long it takes; one of each process."""

    def __init__(self, folder, config):
        import coverage

        self.worker = getattr(config, "workerinput", {}).get("workerid", "main")
        self.folder, self.seconds, self.failed = folder, Counter(), set()
        self.coverage = coverage.Coverage(
            data_file=str(folder / f".coverage.{self.worker}"),
            include=[f"*/graphveil/{room}/*" for room in ROOMS],
            config_file=False,
        )
        self.coverage.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        self.coverage.switch_context(item.nodeid)
        try:
            return (yield)
        finally:
            self.coverage.switch_context("")

    def pytest_runtest_logreport(self, report):
        self.seconds[report.nodeid] += report.duration
        if not report.passed:
            self.failed.add(report.nodeid)

    def pytest_sessionfinish(self):
        self.coverage.stop()
        self.coverage.save()
        passed = {test: seconds for test, seconds in self.seconds.items() if test not in self.failed}
        (self.folder / f"seconds.{self.worker}.json").write_text(json.dumps(passed))


def pytest_configure(config):
    folder = os.environ.get(ENVIRONMENT_COVERAGE)
    # Where workers run the tests, there is nothing to see in the process that gives them out.
    gives_out = getattr(config.option, "numprocesses", None) and not hasattr(config, "workerinput")
    if folder and not gives_out:
        config.pluginmanager.register(Coverage(Path(folder), config))
    # What runs must be the copy, whatever is installed.
    found = importlib.util.find_spec("graphveil").origin
    assert Path(found).is_relative_to(config.rootpath), f"{found} is not in {config.rootpath}"


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    if file := os.environ.get(ENVIRONMENT_TESTS):
        order = {test: at for at, test in enumerate(json.loads(Path(file).read_text()))}
        items[:] = sorted(
            (item for item in items if item.nodeid in order), key=lambda item: order[item.nodeid]
        )


def tests_command(tree, *words, **environment):
    """Return the command and the environment that run tests in a copy of the project."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.mutation", "-p", "no:cacheprovider", *words]
    paths = [str(tree), str(tree / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
    return command, {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **environment}


# --- Which tests reach which line ---


def measure(tree, folder, parts, processes):
    """Run each part of the tests once; what was measured is not measured again."""
    for part in parts:
        kept = folder / "coverage" / part.replace("/", "-")
        if (kept / "done").exists():
            continue
        shutil.rmtree(kept, ignore_errors=True)
        kept.mkdir(parents=True)
        parallel = ["-n", str(processes), "--dist", "loadfile"] if processes > 1 else []
        command, environment = tests_command(tree, *parallel, part, **{ENVIRONMENT_COVERAGE: str(kept)})
        begun = time.monotonic()
        with open(kept / "log", "w") as log:
            status = subprocess.run(
                command, cwd=tree, env=environment, stdout=log, stderr=log, check=False
            ).returncode
        print(f"{part}: measured in {time.monotonic() - begun:.0f} s, status {status}", flush=True)
        if status not in (PASSED, FAILED):
            sys.exit(f"{part} could not be run: {kept / 'log'}")
        (kept / "done").touch()


class Reach:
    """Which tests reach a line, and how long each takes."""

    def __init__(self, tree, folder):
        import coverage

        self.tree, self.seconds, self.by_file = tree, {}, {}
        for file in (folder / "coverage").glob("*/seconds.*.json"):
            for test, seconds in json.loads(file.read_text()).items():
                self.seconds[test] = max(seconds, self.seconds.get(test, 0.0))
        self.data = []
        for file in (folder / "coverage").glob("*/.coverage.*"):
            data = coverage.CoverageData(str(file))
            data.read()
            self.data.append(data)

    def lines_of(self, file):
        """Return the tests of every line of a file; what runs while it is imported has none."""
        if file not in self.by_file:
            tests = defaultdict(set)
            for data in self.data:
                for line, contexts in data.contexts_by_lineno(str(self.tree / file)).items():
                    tests[line].update(contexts)
            self.by_file[file] = tests
        return self.by_file[file]

    def tests(self, mutant, change):
        """Return the tests that reach a change, by file: the fastest file first, and in it the fastest test.

        What runs while a module is imported is seen by every test that runs anything of that module.
        """
        lines = self.lines_of(mutant.file)
        found = set().union(*(lines.get(line, ()) for line in change.lines)) or set(
            lines.get(change.statement, ())
        )
        if "" in found:
            found = set().union(*lines.values())
        files = defaultdict(list)
        for test in found & self.seconds.keys():
            files[test.partition("::")[0]].append(test)
        by_time = [sorted(tests, key=lambda test: (self.seconds[test], test)) for tests in files.values()]
        return sorted(by_time, key=lambda tests: (sum(map(self.seconds.get, tests)), tests))


# --- What the tests see ---


def batches(files, seconds):
    """Divide files of tests, the fastest first, into few processes."""
    limits, batch, total = iter(BATCHES), [], 0.0
    limit = next(limits)
    for tests in files:
        took = sum(seconds[test] for test in tests)
        if batch and total + took > limit:
            yield batch
            batch, limit = [], next(limits)
        batch = batch + tests
        total += took
    if batch:
        yield batch


def try_out(tree, mutant, change, files, seconds, most_seconds):
    """Run the tests that reach a mutant until one fails, and return what became of it."""
    if not files:
        return {"status": NOT_COVERED}
    path, of = tree / mutant.file, sum(map(len, files))
    original, until, ran = path.read_bytes(), time.monotonic() + most_seconds, 0
    try:
        write_source(path, change.applied(original))
        for tests in batches(files, seconds):
            if time.monotonic() > until:
                break
            status, by = run_tests(tree, tests, seconds, until)
            if status != SURVIVED:
                return {"status": status, "by": by}
            ran += len(tests)
        return {"status": SURVIVED, "ran": ran, "of": of}
    finally:
        write_source(path, original)


def run_tests(tree, tests, seconds, until):
    """Run tests in one process until one fails: whether the code survived, and which test says otherwise."""
    slowest = max(LEAST_SECONDS, HANGS * max(seconds[test] for test in tests))
    selected = tree / "mutation-tests.json"
    selected.write_text(json.dumps(tests))
    files = list(dict.fromkeys(test.partition("::")[0] for test in tests))
    words = ["-x", "--tb=line", "-p", "timeout", f"--timeout={slowest:.0f}", *files]
    command, environment = tests_command(tree, *words, **{ENVIRONMENT_TESTS: str(selected)})
    limit = max(0.0, until - time.monotonic()) + slowest
    try:
        done = subprocess.run(
            command, cwd=tree, env=environment, capture_output=True, text=True, check=False, timeout=limit
        )
    except subprocess.TimeoutExpired:
        return TIMEOUT, ""
    if done.returncode in (PASSED, NOTHING_RAN):
        return SURVIVED, ""
    said = done.stdout + done.stderr
    failed = [line for line in said.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    by = failed[0].split(" - ")[0].partition(" ")[2] if failed else said.strip()[-200:]
    return (TIMEOUT if "Timeout (>" in said else KILLED), by


def write_source(path, source):
    """Write a file of Python; what was compiled of it does not count any more, even within a second."""
    path.write_bytes(source)
    Path(importlib.util.cache_from_source(str(path))).unlink(missing_ok=True)


def read_lines(file):
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def copy_of(tree, folder):
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(tree, folder, ignore=shutil.ignore_patterns(*LEFT_OUT), symlinks=True)
    # An earlier version of the project has not this plugin.
    shutil.copyfile(__file__, folder / "tests" / "mutation.py")
    return folder


def run(arguments):
    folder, project = arguments.folder.resolve(), arguments.tree.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    found = all_changes(project, arguments.rooms)
    kept = folder / "mutants.jsonl"
    if arguments.mutants:
        shutil.copyfile(arguments.mutants, kept)
    elif not kept.exists():
        drawn = draw(project, found, arguments.count, arguments.seed)
        kept.write_text("".join(json.dumps(asdict(mutant)) + "\n" for mutant in drawn))
    mutants = [Mutant(**fields) for fields in read_lines(kept)]
    results = folder / "results.jsonl"
    done = {Mutant(**line["mutant"]) for line in read_lines(results)}
    # One copy for each process; its path is part of what was measured.
    trees = [copy_of(project, folder / f"tree-{number}") for number in range(arguments.jobs)]
    measure(trees[0], folder, arguments.tests or parts_of(project), arguments.jobs)
    reach, free = Reach(trees[0], folder), queue.SimpleQueue()
    for tree in trees:
        free.put(tree)

    sound, unsound = set(), set()

    def outcome(mutant):
        if mutant not in found:
            return {"mutant": asdict(mutant), "status": NOT_FOUND}
        begun, tree, change = time.monotonic(), free.get(), found[mutant]
        try:
            while True:
                tests = [[test for test in file if test not in unsound] for file in reached[mutant]]
                became = try_out(
                    tree, mutant, change, list(filter(None, tests)), reach.seconds, arguments.seconds
                )
                by = became.get("by")
                # A test that fails without the mutant too says nothing; each is asked once.
                if by not in reach.seconds or by in sound:
                    break
                status, _ = run_tests(tree, [by], reach.seconds, time.monotonic() + arguments.seconds)
                (sound if status == SURVIVED else unsound).add(by)
            after = change.applied((tree / mutant.file).read_bytes()).decode().splitlines()
        finally:
            free.put(tree)
        took = round(time.monotonic() - begun, 1)
        at = change.lines[0]
        return {"mutant": asdict(mutant), **became, "at": at, "after": after[at - 1].strip(), "seconds": took}

    left = [mutant for mutant in mutants if mutant not in done]
    reached = {mutant: reach.tests(mutant, found[mutant]) for mutant in left if mutant in found}
    with ThreadPoolExecutor(arguments.jobs) as pool, results.open("a") as file:
        for line in pool.map(outcome, left):
            file.write(json.dumps(line) + "\n")
            file.flush()
            print(f"{line['status']}: {line['mutant']['file']}: {line['mutant']['line']}", flush=True)
    page = summary(mutants, read_lines(results))
    (folder / "summary.md").write_text(page)
    print(page)
    for tree in trees:
        shutil.rmtree(tree, ignore_errors=True)


def parts_of(project):
    """Return the parts that all tests are measured in: each folder, and the files beside them."""
    tests = project / "tests"
    folders = {file.relative_to(tests).parts[0] for file in tests.rglob("test_*.py")} - {"slow"}
    return [f"tests/{name}" for name in sorted(folders)]


def summary(mutants, lines):
    """Return a page: how many mutants of each room were seen, and which were not."""
    statuses = (KILLED, TIMEOUT, SURVIVED, NOT_COVERED, NOT_FOUND)
    became = {Mutant(**line["mutant"]): line for line in lines}
    counts = defaultdict(Counter)
    for mutant in mutants:
        if mutant in became:
            for room in (mutant.room, "all"):
                counts[room][became[mutant]["status"]] += 1
    page = ["# Mutants", "", f"| room | {' | '.join(statuses)} | share seen |", "| --- |" + " ---: |" * 6]
    for room, count in sorted(counts.items(), key=lambda item: (item[0] == "all", item[0])):
        tried = count.total() - count[NOT_FOUND]
        share = f"{(count[KILLED] + count[TIMEOUT]) / tried:.1%}" if tried else ""
        numbers = " | ".join(str(count[status]) for status in statuses)
        page.append(f"| {room} | {numbers} | {share} |")
    left = len(mutants) - len(became.keys() & set(mutants))
    if left:
        page += ["", f"{left} of {len(mutants)} mutants were not tried yet."]
    for status in (SURVIVED, NOT_COVERED, NOT_FOUND):
        those = [line for mutant, line in became.items() if line["status"] == status and mutant in mutants]
        if those:
            page += ["", f"## {status.capitalize()}", ""]
        for line in sorted(those, key=lambda line: (line["mutant"]["file"], line.get("at", 0))):
            mutant = line["mutant"]
            ran = f", {line['ran']} of {line['of']} tests ran" if line.get("ran") != line.get("of") else ""
            page.append(f"- {mutant['file']}:{line.get('at', '?')}, {mutant['operator']}{ran}")
            page += ["", f"      - {mutant['line']}", f"      + {line.get('after', '')}", ""]
    return "\n".join(page).rstrip() + "\n"


def main(words=None):
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutation", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="where everything is kept")
    parser.add_argument("--count", type=int, default=300, help="so many mutants are drawn")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rooms", nargs="+", default=ROOMS, help="folders of src/graphveil")
    parser.add_argument("--mutants", type=Path, help="the mutants.jsonl of another folder")
    parser.add_argument("--tests", nargs="+", help="parts of the tests; each is measured by itself")
    parser.add_argument("--tree", type=Path, default=ROOT, help="the project, this one if not said")
    parser.add_argument("--jobs", type=int, default=2, help="so many processes at once")
    parser.add_argument("--seconds", type=float, default=600.0, help="the most that one mutant may take")
    run(parser.parse_args(words))


if __name__ == "__main__":
    main()
