"""A process with little memory, in which a file is read."""

import subprocess
import sys

import pytest

resource = pytest.importorskip("resource", reason="memory cannot be limited here")

LIMITED = """
import resource, sys, warnings
from pathlib import Path
import numpy, scipy.sparse, graphveil as gv
from graphveil import InputError
{before}
path = Path(sys.argv[1])
warnings.simplefilter("error")
taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
most = taken + (int(sys.argv[2]) << 20)
resource.setrlimit(resource.RLIMIT_AS, (most, most))
try:
    {call}
except InputError as error:
    print(error)
"""


def refused_in_small_memory(code, path, megabytes=256):
    """What the refusal of a file says where reading it, by imports and a call of ``path``, may take so many megabytes."""
    before, _, call = code.rpartition("; ")
    ran = subprocess.run(
        [sys.executable, "-c", LIMITED.format(before=before, call=call), str(path), str(megabytes)],
        check=False,
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout
