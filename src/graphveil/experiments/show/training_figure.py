"""How training went: losses over epochs, and the validation score wherever it got better."""

from __future__ import annotations

from graphveil.experiments.show.colours import FAINT
from graphveil.experiments.show.figure import HEIGHT, TITLE_SIZE, WIDTH, Drawing
from graphveil.experiments.show.line_styles import line_style
from graphveil.methods.outcome import TrainingCurve


def training_drawing(curve: TrainingCurve, title: str) -> Drawing:
    """Two panels: training and validation loss; the score on validation users of each epoch that was the best so far."""
    drawing = Drawing((1.6 * WIDTH, HEIGHT), 2, shared=False)
    losses, scores = drawing.axes
    epochs = range(1, len(curve.validation) + 1)
    losses.plot(epochs, curve.validation, label="validation loss", **line_style("method", flat=True))
    if curve.training:
        epochs = range(1, len(curve.training) + 1)
        losses.plot(epochs, curve.training, label="training loss", **line_style("control", flat=True))
    best, reached = zip(*curve.better, strict=True)
    scores.step(
        [epoch + 1 for epoch in best] + [len(curve.validation)],
        [100 * score for score in (*reached, reached[-1])],
        where="post",
        label="score of the best epoch so far",
        **line_style("method", 1, flat=True),
    )
    for axes in drawing.axes:
        axes.axvline(best[-1] + 1, color=FAINT.day, linestyle=":", label="the epoch that was taken")
        axes.set_xlabel("epoch")
    losses.set_ylabel("loss")
    scores.set_ylabel("validation users (%)")
    losses.set_title(title, fontsize=TITLE_SIZE)
    drawing.legend(columns=4, everywhere=True)
    return drawing
