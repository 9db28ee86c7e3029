"""SVG whose letters are letters: they can be read aloud, searched and copied, in the font of the page.

matplotlib draws letters as shapes unless a setting of the whole process says otherwise, and settings of the process are left alone.
"""

from __future__ import annotations

import codecs
import io
from typing import Any

from matplotlib.backends.backend_mixed import MixedModeRenderer
from matplotlib.backends.backend_svg import FigureCanvasSVG, RendererSVG


class LetterRenderer(RendererSVG):
    """Draws every text as a text."""

    def draw_text(
        self, gc: Any, x: float, y: float, s: str, prop: Any, angle: float, ismath: Any = False, mtext: Any = None
    ) -> None:  # fmt: skip
        """As matplotlib does it where ``svg.fonttype`` is none."""
        draw: Any = self._draw_text_as_text
        draw(gc, x, y, s, prop, angle, ismath, mtext)


class LetterCanvas(FigureCanvasSVG):
    """A canvas whose SVG is written by a `LetterRenderer`."""

    def print_svg(
        self, filename: Any, *, bbox_inches_restore: Any = None, metadata: Any = None, **_others: Any
    ) -> None:
        """Write the figure to an open file, in points; of what other canvases take, like a resolution, it needs nothing."""
        if not isinstance(filename, io.TextIOBase):
            filename = codecs.getwriter("utf-8")(filename)
        dpi = self.figure.dpi
        self.figure.dpi = 72
        width, height = self.figure.get_size_inches()
        letters: Any = LetterRenderer
        renderer = letters(72 * width, 72 * height, filename, image_dpi=dpi, metadata=metadata)
        mixed: Any = MixedModeRenderer(
            self.figure, width, height, dpi, renderer, bbox_inches_restore=bbox_inches_restore
        )
        self.figure.draw(mixed)
        mixed.finalize()
