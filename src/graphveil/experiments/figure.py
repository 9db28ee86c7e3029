"""A figure that becomes an SVG element or a PNG file: the same content, the same bytes."""

from __future__ import annotations

import io
from contextlib import ExitStack
from typing import Any, Self

COLOURS = ("#1b6ca8", "#b8b8b8", "#3a7d44", "#c1440e", "#7b4fa3", "#8a6d3b")


class Drawing:
    """Panels side by side, to draw on inside ``with``; `svg` is what was drawn."""

    def __init__(self, size: tuple[float, float], panels: int = 1) -> None:
        self.size, self.panels = size, panels

    def __enter__(self) -> Self:
        import matplotlib

        matplotlib.use("svg")
        from matplotlib import pyplot

        self._stack = ExitStack()
        # Fixed ids and no date: the same results give the same file. Names are shown as they are, dollar signs too.
        fixed: dict[Any, Any] = {"svg.hashsalt": "graphveil", "svg.fonttype": "path"}
        fixed |= {"font.size": 11, "text.parse_math": False}
        self._stack.enter_context(pyplot.rc_context(fixed))
        self.figure, grid = pyplot.subplots(
            1, self.panels, figsize=self.size, sharey=self.panels > 1, squeeze=False
        )
        self.axes: list[Any] = list(grid[0])
        self._stack.callback(pyplot.close, self.figure)
        return self

    def legend(self, columns: int) -> None:
        """What the lines of the first panel are, below all panels."""
        handles, labels = self.axes[0].get_legend_handles_labels()
        self.figure.legend(
            handles, labels, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=columns, frameon=False
        )

    def svg(self) -> str:
        """The SVG element, as large as it must be."""
        self.figure.tight_layout()
        buffer = io.StringIO()
        self.figure.savefig(buffer, format="svg", metadata={"Date": None}, bbox_inches="tight")
        text = buffer.getvalue()
        return text[text.index("<svg") :]

    def png(self) -> bytes:
        """The same as pixels."""
        self.figure.tight_layout()
        buffer = io.BytesIO()
        self.figure.savefig(buffer, format="png", dpi=150, metadata={"Software": None}, bbox_inches="tight")
        return buffer.getvalue()

    def __exit__(self, *_: object) -> None:
        self._stack.close()
