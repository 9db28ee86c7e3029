"""The catalogue: what comes with the package, in the order in which users see it."""

from __future__ import annotations

import subprocess
import sys

ORDER = (
    "onebit laplace gaussian analytic-gaussian multibit piecewise square-wave hds duchi hybrid three-output pm-sub condensed "
    "latent ome featurerr item privunit ppm ppm-printed krr esw link-rr blink dprr lapgraph privhrg edgerr"
)


def test_mechanisms_are_listed_in_this_order_whatever_is_imported_first():
    for module in ("catalogue", "personal_builders", "registry"):
        code = (
            f"import graphveil.mechanisms.{module}; from graphveil.mechanisms import names; print(*names())"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == ORDER
