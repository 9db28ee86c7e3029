"""Settings of all tests: hypothesis draws the same examples in every run, so a failure can be repeated."""

import gc
import os
import sys
from collections import Counter

# Before anything imports torch: tests run in several processes, and threads of theirs would only wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from hypothesis import settings

from tests import watchdog

# What rooms share: a cache of one's own, files of Python, servers and processes.
pytest_plugins = ["tests.fixtures"]
SLOWEST = 10

settings.register_profile("graphveil", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("graphveil")


class TellsAtOnce:
    """Says why a test failed when it does, not at the end: a run that is stopped before would not."""

    def __init__(self, terminal):
        self.terminal = terminal

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.terminal.write_line(f"\n{report.nodeid}, {report.when}:\n{report.longreprtext}")


@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    # Processes that share the tests tell the one that prints.
    if terminal is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(TellsAtOnce(terminal))
    watchdog.start()


def pytest_terminal_summary(terminalreporter):
    """Print which files took longest, as far as there are enough of them."""
    took = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                took[report.nodeid.partition("::")[0]] += report.duration
    if len(took) > SLOWEST:
        terminalreporter.section(f"slowest {SLOWEST} of {len(took)} files")
        for file, seconds in took.most_common(SLOWEST):
            terminalreporter.write_line(f"{seconds:8.1f} s  {file}")


@pytest.fixture(autouse=True, scope="session")
def own_results(tmp_path_factory):
    """What calls from Python and devices keep is no concern of whoever runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRAPHVEIL_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("GRAPHVEIL_WITNESS", str(tmp_path_factory.mktemp("witness")))
        yield


@pytest.fixture(autouse=True, scope="module")
def imported_once():
    """What is there before a module's tests, torch above all, is not searched for garbage again and again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="module")
def one_thread_each():
    """Tests run beside each other: threads of torch that wait for a processor would take it from the others."""
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)


@pytest.fixture
def forget_outside():
    """What a test loads from files and packages is not there for the next one, nor what others have loaded for this one."""
    _forget_outside()
    yield
    _forget_outside()


def _forget_outside():
    from graphveil import plugins as outside
    from graphveil.graphs.load import LOADERS
    from graphveil.learn import BACKBONES
    from graphveil.mechanisms.registry import _entries
    from graphveil.methods import METHODS

    for file in outside._files.values():
        file.forget()
    outside._files.clear()
    for registry in (LOADERS, BACKBONES, _entries, METHODS):
        for name in list(registry._origins):
            registry.forget(name)
    for name in METHODS._taken:
        METHODS.forget(name)
    METHODS._taken.clear()
