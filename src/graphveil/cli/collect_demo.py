"""graphveil collect demo: a collector, a thousand devices and two studies on this machine."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Annotated

import typer

from graphveil.checks import check_whole
from graphveil.cli.console import say
from graphveil.cli.interrupts import saying

FAILED = 1
STOPPED = "all processes and folders of it are gone, and the same command begins anew"


def collect_demo(
    devices: Annotated[int, typer.Option(help="How many people have a device.")] = 1000,
    processes: Annotated[int, typer.Option(help="How many processes hold devices.")] = 4,
) -> None:
    """Show a collection on this machine: a collector, devices in several processes, two rounds of togl, and veil with volunteers.

    Everything goes over HTTP. Each method is then given the same reports in one process: what it predicts must be equal, bit for bit.
    Nothing is kept.

    Example: graphveil collect demo --devices 400
    """
    check_whole(devices, "devices", least=200, most=100_000)
    check_whole(processes, "processes", least=1, most=64)
    # Processes that share a machine: threads inside each would only wait for one another. No number changes by it.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    from graphveil.collect.demo import DemoSize, run_demo

    with saying(STOPPED), _ending():
        equal = run_demo(DemoSize(devices, processes), say)
    if not equal:
        raise typer.Exit(FAILED)


@contextmanager
def _ending() -> Iterator[None]:
    """Whoever ends the process with SIGTERM has it cleaned up as by Ctrl-C."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
