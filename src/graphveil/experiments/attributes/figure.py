"""The best attributes as bars, beside what the control reaches."""

from __future__ import annotations

from pathlib import Path

from graphveil.experiments.attributes.comparison import LISTED, Comparison
from graphveil.experiments.runs.format import budget
from graphveil.experiments.show.colours import METHOD, RULE
from graphveil.experiments.show.figure import TITLE_SIZE, WIDTH, Drawing
from graphveil.experiments.show.line_styles import line_style

LONGEST_NAME = 24


def write_attribute_figure(comparison: Comparison, file: Path) -> None:
    """Draw the mean scores of the best attributes; those that are among the best without privacy stand out."""
    spec, top = comparison.spec, comparison.ranking.top
    chosen = comparison.ranking.order[:LISTED]
    truly = set(comparison.reference.order[:top].tolist())
    scores = comparison.ranking.mean
    drawing = Drawing((WIDTH, 1.6 + 0.27 * len(chosen)))
    axes = drawing.axes[0]
    for inside, colour in ((True, METHOD.day), (False, RULE.day)):
        places = [place for place, each in enumerate(chosen.tolist()) if (each in truly) == inside]
        if places:
            label = f"{'' if inside else 'not '}among the top {top} without privacy"
            axes.barh(places, scores[chosen[places]], color=colour, label=label)
    axes.axvline(
        comparison.control.mean.max(),
        label="the control's best (ε = 0)",
        **line_style("control", flat=True),
    )
    axes.axvline(comparison.null.mean(), label="one that says nothing, on average", **line_style("chance"))
    axes.set_yticks(range(len(chosen)), [_short(comparison.name(each)) for each in chosen.tolist()])
    axes.invert_yaxis()
    axes.set_xlim(left=0)
    axes.set_xlabel(f"score ({spec.full_settings().model_dump()['analysis']}), mean of {spec.runs} runs")
    axes.set_ylabel("attribute")
    title = f"attributes of {Path(spec.data).stem} at {budget(spec.budgets.epsilon)}"
    axes.set_title(title, fontsize=TITLE_SIZE)
    axes.grid(visible=False, axis="y")
    drawing.legend(columns=2)
    drawing.write(file)


def _short(name: str) -> str:
    """A name that fits beside a bar.

    >>> _short("a" * 30)
    'aaaaaaaaaaaaaaaaaaaaaaa…'
    """
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"
