"""What a worker process does first: it meets the others, then works."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable
from datetime import timedelta
from multiprocessing.connection import Connection, wait
from typing import Any

import torch
from torch import distributed

from graphveil.engine.gloo import GlooWorld
from graphveil.errors import GraphveilError

# A worker waits so long for others before it gives up: they may be reading a large part.
PATIENCE = timedelta(hours=2)


def begin_work(
    end: Connection, rank: int, size: int, meeting: str, work: Callable[..., Any], task: Any
) -> None:
    """Meet the others of a world of ``size``, work, and send what comes of it, or why nothing does."""
    _end_with_parent()
    torch.set_num_threads(1)
    lock = threading.Lock()

    def say(kind: str, told: Any) -> None:
        with lock:
            end.send((kind, told))

    try:
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
        distributed.init_process_group(
            "gloo", init_method=f"file://{meeting}", rank=rank, world_size=size, timeout=PATIENCE
        )
        say("result", work(task, GlooWorld(), lambda what, share: say("progress", (what, share))))
        distributed.barrier()
    except GraphveilError as error:
        say("error", error)
    except (RuntimeError, OSError) as error:
        # A message that did not arrive: whoever should have sent it is gone.
        say("lost", str(error).splitlines()[0] if str(error) else type(error).__name__)


def _end_with_parent() -> None:
    """Watch the process that started this one: where it was killed, nobody else would stop this one."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True, name="ends with its parent").start()
