"""What a worker process does first: it meets the others, then works."""

from __future__ import annotations

import os
import threading
import traceback
from collections.abc import Callable
from datetime import timedelta
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch
from torch import distributed

from graphveil.engine.gloo import GlooWorld, left_alone
from graphveil.engine.processes import begin_process
from graphveil.errors import GraphveilError

# A worker waits so long for others before it gives up: they may be reading a large part.
PATIENCE = timedelta(hours=2)


def begin_work(
    end: Connection,
    rank: int,
    size: int,
    meeting: str,
    digests: dict[Path, str],
    work: Callable[..., Any],
    task: Any,
) -> None:
    """Meet the others of a world of ``size``, work, and send what comes of it, or why nothing does.

    ``digests`` are those of files that may be run: they must be as they were when this began.
    """
    begin_process(digests)
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
    except Exception as error:  # noqa: BLE001 -- whatever it is, it is told there
        lost = left_alone(error)
        say("lost" if lost else "fault", str(error).splitlines()[0] if lost else traceback.format_exc())
