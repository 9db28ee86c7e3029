"""Commands that are killed at random moments: what they say that they have done, and whether all of that is true afterwards.

As a program, this runs one command and writes down what it says (`one`), or whole campaigns in forked processes, which have loaded
everything, so that a kill takes a moment: `sweep`, `paper`, `beside`, `delete` and `export`, see `CAMPAIGNS`.
"""

import json
import os
import random
import signal
import sys
import time
from functools import cache
from importlib import import_module
from pathlib import Path

from graphveil.cli import status
from graphveil.experiments import runner as runner_module
from graphveil.experiments import store as store_module
from graphveil.experiments.papers import find_paper
from graphveil.experiments.store import RESULTS, ResultStore, change, select
from graphveil.experiments.study import find_sweep
from graphveil.experiments.unit import UnitResult, parts_of
from graphveil.privacy.record import Privacy
from graphveil.settings import settings

BASE = """
method = "base"
data = "town"
[{0}.settings]
epochs = 1
data.users = 200
data.features = 16
data.telling = 4
data.labelled = 0.2
data.validated = 0.2
"""
# Sixty results of one run each.
SIXTY = f"""
title = "sixty runs"
[base]
{BASE.format("base")}
[[axes]]
field = "epsilon"
values = {[float(value) for value in range(1, 13)]}
[[axes]]
field = "settings.lr"
values = [0.01, 0.02, 0.03, 0.04, 0.05]
"""
# One result of six runs: other processes take long to start, and do so for each.
FEW = f"""
title = "few runs"
[base]
runs = 6
{BASE.format("base")}
[[axes]]
field = "epsilon"
values = [1.0]
"""
PAPER = f"""
title = "a paper"
source = "nobody"
[tables.one]
title = "a table"
[tables.one.base]
runs = 2
{BASE.format("tables.one.base")}
""" + "".join(
    f"""
[[tables.one.{what}]]
label = "{label}"
set = {{ {value} }}
{more}"""
    for what, label, value, more in (
        *(("columns", f"at {rate}", f"settings = {{ lr = {rate} }}", "") for rate in (0.01, 0.1)),
        *(
            ("rows", f"{epsilon}", f"epsilon = {epsilon}", 'printed = ["-", "-"]\n')
            for epsilon in (1.0, 2.0, 4.0, 8.0)
        ),
    )
)


class Diary:
    """What commands have said so far, line by line.

    A line may be seen half written, and a kill may leave it so: each starts anew, and only those that have come to their end count.
    """

    def __init__(self, file):
        self.file = file

    def write(self, *words):
        line = os.open(self.file, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(line, ("\n" + json.dumps(words)).encode())
        os.close(line)

    def entries(self):
        text = self.file.read_text() if self.file.exists() else ""
        return [json.loads(line) for line in text.splitlines() if line.endswith("]")]

    def said(self, what):
        return {told for kind, told in self.entries() if kind == what}


def watched(diary, arguments):
    """Run a sweep or a paper as the command line does, and write down what it computes, and what it says is finished or kept."""
    compute, add_unit, add = runner_module.compute_unit, ResultStore.add_unit, ResultStore.add

    def run_unit(unit, *rest):
        diary.write("computes", unit.key)
        return compute(unit, *rest)

    def add_unit_and_tell(store, spec, unit):
        add_unit(store, spec, unit)
        diary.write("finished", spec.key(unit.part, unit.run))

    def add_and_tell(store, result):
        add(store, result)
        diary.write("kept", name_of(result.epsilon, result.experiment.settings))

    if "--jobs" not in arguments:
        # Other processes compute with their own, and nothing here could be sent to them.
        runner_module.compute_unit = run_unit
    ResultStore.add_unit, ResultStore.add = add_unit_and_tell, add_and_tell
    return status(arguments)


def name_of(epsilon, chosen):
    """What tells the results of a campaign apart."""
    return f"{epsilon} {chosen.get('lr')}"


@cache
def specs_of(file):
    """The experiments of a sweep or of a paper."""
    if "[[axes]]" in file.read_text():
        return [cell.experiment for cell in find_sweep(str(file)).cells]
    return [cell.experiment for table in find_paper(str(file)).tables for cell in table.cells]


@cache
def keys_of(file):
    """All units of a sweep or of a paper; structure is shared by several experiments."""
    return {
        spec.key(part, run) for spec in specs_of(file) for part in parts_of(spec) for run in range(spec.runs)
    }


def campaign(start, diary, file, seed, kills):
    """Kill what ``start`` starts so many times and start it again, then let it come to its end.

    A moment is that so many units are finished, and a few milliseconds more, or while it is still starting: no machine is too slow
    or too fast for it.
    """
    draw, last = random.Random(seed), len(keys_of(file)) - 4
    for moment in sorted(draw.randrange(last) for _ in range(kills)):
        assert killed_at(start(), diary, moment, draw), "it ended before it was killed"
        check_true(diary)
    assert os.waitstatus_to_exitcode(os.waitpid(start(), 0)[1]) == 0
    check_true(diary)
    check_whole(file)


def killed_at(child, diary, moment, draw):
    """Kill a process once so many units are finished; whether it had not ended before."""
    while len(diary.said("finished")) < moment:
        ended, state = os.waitpid(child, os.WNOHANG)
        if ended:
            assert os.waitstatus_to_exitcode(state) == 0
            return False
        time.sleep(0.002)
    time.sleep(draw.uniform(0, 0.05))
    os.kill(child, signal.SIGKILL)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def check_true(diary):
    """All that was said to be finished or kept is there, and nothing is there twice."""
    file = settings().cache / RESULTS
    (units,) = select(file, "SELECT setting, seed, part FROM units", ())
    assert len(set(units)) == len(units), "a unit is there twice"
    lost = diary.said("finished") - {setting for setting, _, _ in units}
    assert not lost, f"{len(lost)} units that were finished are lost"
    found = [name_of(record.epsilon, record.experiment.settings) for record in ResultStore(file).results()]
    assert len(set(found)) == len(found), "a result is there twice"
    lost = diary.said("kept") - set(found)
    assert not lost, f"{len(lost)} results that were kept are lost"
    assert select(file, "PRAGMA integrity_check", ()) in ([[("ok",)]], [[]])


def check_whole(file):
    """In the end all units and results are there, and they belong to each other."""
    store = settings().cache / RESULTS
    (units,) = select(store, "SELECT setting FROM units", ())
    assert {setting for (setting,) in units} == keys_of(file)
    records = ResultStore(store).results()
    by_name = {name_of(record.epsilon, record.experiment.settings): record for record in records}
    specs = specs_of(file)
    assert len(records) == len(by_name) == len(specs)
    for spec in specs:
        record = by_name[name_of(spec.budgets.epsilon, spec.settings)]
        runs = sorted(ResultStore(store).find_units(spec, ["method"]), key=lambda unit: unit.run)
        assert not record.interrupted
        assert list(record.runs) == [unit.score for unit in runs] and len(runs) == spec.runs


def check_computed_once(diary):
    """What was said to be finished was never computed again."""
    finished = set()
    for what, key in diary.entries():
        assert what != "computes" or key not in finished, "what was finished is computed again"
        finished |= {key} if what == "finished" else set()


def tiny_unit(unit, *_rest):
    """What stands for learning where only the store is looked at: a score that follows from what is asked for."""
    time.sleep(0.002)
    seconds = dict.fromkeys(("report", "denoise", "train", "total"), 0.002)
    return UnitResult(unit.part, unit.run, tiny_score(unit.key), "tiny", Privacy(), seconds, 1.0)


def tiny_score(key):
    return random.Random(key).random()


def forked(call):
    """A process that calls something and exits with what it returns; its number."""
    child = os.fork()
    if child == 0:
        # What it prints is nobody's concern.
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1)
        os._exit(call())
    return child


def sweep_campaign(folder, kills, text=SIXTY):
    """A sweep of sixty runs."""
    file, diary = folder / "many.toml", Diary(folder / "diary")
    file.write_text(text)
    arguments = ["sweep", str(file), "--out", str(folder / "many.svg"), "--json"]
    campaign(lambda: forked(lambda: watched(diary, arguments)), diary, file, 0, kills)
    check_computed_once(diary)
    assert (folder / "many.svg").read_text().rstrip().endswith("</svg>")
    if runner_module.compute_unit is tiny_unit:
        records = {name_of(record.epsilon, record.experiment.settings): record for record in kept_records()}
        for spec in specs_of(file):
            expected = [tiny_score(spec.key("method", run)) for run in range(spec.runs)]
            assert list(records[name_of(spec.budgets.epsilon, spec.settings)].runs) == expected


def paper_campaign(folder, kills):
    """The tables of a paper."""
    file, diary = folder / "paper.toml", Diary(folder / "diary")
    file.write_text(PAPER)
    page = folder / "page.html"
    arguments = ["paper", str(file), "--page", str(page), "--json"]
    campaign(lambda: forked(lambda: watched(diary, arguments)), diary, file, 1, kills)
    check_computed_once(diary)
    assert page.read_text().rstrip().endswith("</html>")


def beside_campaign(folder, kills):
    """A sweep that is killed, and another one on the same file that is not and does part of its work."""
    own, other, file = Diary(folder / "own"), Diary(folder / "other"), folder / "many.toml"
    file.write_text(SIXTY)

    def start(diary):
        figure = str(folder / f"{diary.file.name}.svg")
        return forked(lambda: watched(diary, ["sweep", str(file), "--out", figure, "--json"]))

    beside, draw, killed = start(other), random.Random(3), 0
    while killed < kills and killed_at(start(own), own, len(own.said("finished")) + draw.randint(0, 3), draw):
        killed += 1
        check_true(own)
    for child in (beside, start(own)):
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    for diary in (own, other):
        check_true(diary)
    check_whole(file)
    assert killed > 0


def kept_records():
    return ResultStore(settings().cache / RESULTS).results()


def carry_out(arguments):
    """Run a command to its end, in a process of its own."""
    assert os.waitstatus_to_exitcode(os.waitpid(forked(lambda: status(arguments)), 0)[1]) == 0


def filled(folder):
    """The file with the results of a sweep, ten of them tagged."""
    (folder / "many.toml").write_text(SIXTY)
    sweep = ["sweep", str(folder / "many.toml"), "--out", str(folder / "many.svg"), "--json"]
    carry_out(sweep)
    tag = ["results", "--epsilon", "1", "--epsilon", "2", "--add-tag", "some", "--json"]
    carry_out(tag)
    return settings().cache / RESULTS


def killed_somewhere(arguments, kills, check):
    """Run a command to its end, and start it again and kill it at a random moment of its life, until so many kills came in time."""
    begin = time.monotonic()
    carry_out(arguments)
    life = time.monotonic() - begin
    check()
    draw, killed = random.Random(2), 0
    while killed < kills:
        child = forked(lambda: status(arguments))
        time.sleep(draw.uniform(0, life))
        os.kill(child, signal.SIGKILL)
        killed += os.WIFSIGNALED(os.waitpid(child, 0)[1])
        check()


def slow_change(file, *statements):
    """A change of many rows that takes some time for each."""

    def slowly(rows):
        for row in rows:
            time.sleep(0.01)
            yield row

    return change(file, *((statement, slowly(rows)) for statement, rows in statements))


def slowed(call):
    """The same, with some time before and after it."""

    def slow(*given):
        time.sleep(0.2)
        call(*given)
        time.sleep(0.2)

    return slow


def delete_campaign(folder, kills):
    """Results that are deleted: all of them with their tags, or none."""
    file = filled(folder)
    whole = ResultStore(file).results()
    chosen = [each.number for each in whole if each.epsilon in (1.0, 2.0, 3.0)]
    rest = [each for each in whole if each.number not in chosen]
    content = file.read_bytes()
    assert len(chosen) == 15
    seen = set()

    def check():
        kept = ResultStore(file).results()
        assert kept in (whole, rest), "some are deleted"
        (tags,) = select(file, "SELECT count(*) FROM tags", ())
        assert tags == [(10 if kept == whole else 0,)], "tags are left, or lost"
        assert select(file, "PRAGMA integrity_check", ()) == [[("ok",)]]
        seen.add(len(kept))
        if kept == rest:
            file.write_bytes(content)

    # Most of its life a command is in the midst of deleting.
    store_module.change = slow_change
    numbers = [str(number) for number in chosen]
    killed_somewhere(["results", *numbers, "--delete", "--yes"], kills, check)
    assert seen == {45, 60}


def export_campaign(folder, kills):
    """Results that are written to a file which is there: the old one or the whole new one."""
    filled(folder)
    # Most of its life a command is in the midst of writing.
    os.fsync, os.replace = slowed(os.fsync), slowed(os.replace)
    seen = set()
    for name in ("all.csv", "all.json", "all.parquet", "all.html"):
        file = folder / name
        arguments = ["results", "--out", str(file)]
        carry_out(arguments)
        new, old = file.read_bytes(), b"old"
        file.write_bytes(old)

        def check(file=file, new=new, old=old):
            now = file.read_bytes()
            assert now in (old, new), "half a file"
            seen.add(now == new)
            file.write_bytes(old)

        killed_somewhere(arguments, kills, check)
    assert seen == {True, False}
    assert list(folder.glob(".all.*.part")), "nothing was killed in the midst of writing"


CAMPAIGNS = {
    "sweep": sweep_campaign,
    "paper": paper_campaign,
    "beside": beside_campaign,
    "delete": delete_campaign,
    "export": export_campaign,
}


def run_campaign(name, how, folder, kills):
    """A campaign whose units learn (`real`) or only seem to (`tiny`)."""
    os.environ["GRAPHVEIL_CACHE"] = str(folder / "cache")
    # What commands would load again after every kill.
    for module in ("matplotlib.backends.backend_svg", "scipy.stats"):
        import_module(module)
    if how == "tiny":
        runner_module.compute_unit = tiny_unit
    else:
        import_module("graphveil.learn.backbones")
    CAMPAIGNS[name](folder, kills)


if __name__ == "__main__":
    if sys.argv[1] == "one":
        sys.exit(watched(Diary(Path(sys.argv[2])), sys.argv[3:]))
    run_campaign(sys.argv[1], sys.argv[2], Path(sys.argv[3]), int(sys.argv[4]))
