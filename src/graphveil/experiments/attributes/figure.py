"""The best attributes as bars, beside what the control reaches."""

from __future__ import annotations

from pathlib import Path

from graphveil.experiments.attributes.comparison import LISTED, Comparison
from graphveil.experiments.runs.format import budget, counted
from graphveil.experiments.runs.statistics import t_interval
from graphveil.experiments.show.colours import INK, METHOD, RULE
from graphveil.experiments.show.figure import TITLE_SIZE, WIDTH, Drawing
from graphveil.experiments.show.line_styles import line_style

LONGEST_NAME = 24


def write_attribute_figure(comparison: Comparison, file: Path) -> None:
    """Draw the best attributes to a file that `check_figure` has let pass."""
    attribute_drawing(comparison).write(file)


def attribute_drawing(comparison: Comparison) -> Drawing:
    """The mean scores of the best attributes, with 95% intervals; those that are among the best without privacy stand out."""
    spec, top = comparison.spec, comparison.ranking.top
    chosen = comparison.ranking.order[:LISTED]
    truly = set(comparison.reference.order[:top].tolist())
    scores = comparison.ranking.mean
    reaches = {each: _half_interval(comparison.ranking.scores[:, each].tolist()) for each in chosen.tolist()}
    drawing = Drawing((WIDTH, 1.6 + 0.27 * len(chosen)))
    axes = drawing.axes[0]
    for inside, colour in ((True, METHOD.day), (False, RULE.day)):
        places = [place for place, each in enumerate(chosen.tolist()) if (each in truly) == inside]
        if places:
            label = f"{'' if inside else 'not '}among the top {top} without privacy"
            half = [reaches[each] for each in chosen[places].tolist()]
            axes.barh(
                places,
                scores[chosen[places]],
                color=colour,
                label=label,
                xerr=half if spec.runs > 1 else None,
                ecolor=INK.day,
                capsize=2,
            )
    axes.axvline(
        comparison.control.mean.max(),
        label="the control's best (ε = 0)",
        **line_style("control", flat=True),
    )
    axes.axvline(comparison.null.mean(), label="one that says nothing, on average", **line_style("chance"))
    axes.set_yticks(range(len(chosen)), [_short(comparison.name(each)) for each in chosen.tolist()])
    axes.invert_yaxis()
    axes.set_xlim(left=0)
    interval = ", with 95% intervals" if spec.runs > 1 else ""
    axes.set_xlabel(
        f"score ({spec.full_settings().model_dump()['analysis']}), mean of {counted(spec.runs, 'run')}{interval}"
    )
    axes.set_ylabel("attribute")
    title = f"attributes of {Path(spec.data).stem} at {budget(spec.budgets.epsilon)}"
    axes.set_title(title, fontsize=TITLE_SIZE)
    axes.grid(visible=False, axis="y")
    drawing.legend(columns=2)
    return drawing


def _half_interval(scores: list[float]) -> float:
    """Half of the 95% t-interval of a mean over runs; 0 where there is one run."""
    found = t_interval(scores)
    return 0.0 if found.low is None or found.high is None else (found.high - found.low) / 2


def _short(name: str) -> str:
    """A name that fits beside a bar.

    >>> _short("a" * 30)
    'aaaaaaaaaaaaaaaaaaaaaaa…'
    """
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"
