"""The catalogue: what comes with the package, in the order in which users see it."""

from __future__ import annotations

import subprocess
import sys

ORDER = (
    "onebit laplace gaussian analytic-gaussian multibit piecewise square-wave hds duchi hybrid three-output pm-sub condensed "
    "latent ome featurerr item privunit ppm ppm-printed krr esw link-rr blink dprr lapgraph privhrg edgerr"
)

# Each is imported first in a process that has nothing of graphveil.
CODE = """
import os, numpy, scipy.sparse
for module in ("catalogue", "personal_builders", "registry"):
    if not os.fork():
        __import__(f"graphveil.mechanisms.{module}")
        from graphveil.mechanisms import names
        print(*names(), flush=True)
        os._exit(0)
    os.wait()
"""


def test_mechanisms_are_listed_in_this_order_whatever_is_imported_first():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [ORDER] * 3
