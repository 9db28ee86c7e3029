"""The idea of veil in one drawing: docs/veil.svg, written by `python -m docs.tables`."""

from __future__ import annotations

from html import escape

WIDTH, HEIGHT = 960, 560
# Colours of paper, ink, faint ink, boxes, what is private, what is public, by day and by night.
DAY = {"paper": "#ffffff", "ink": "#1c1c1c", "faint": "#5c5c5c", "box": "#f3f3f3"}
DAY |= {"private": "#b3402e", "public": "#1f63a8", "soft": "#c9dcf0"}
NIGHT = {"paper": "#161616", "ink": "#ececec", "faint": "#b4b4b4", "box": "#262626"}
NIGHT |= {"private": "#ff8d78", "public": "#7fb8f5", "soft": "#2c4a6b"}
ANCHORS = {"left": "start", "middle": "middle"}


def veil_figure() -> str:
    """The drawing as SVG, on a ground of its own, so that it can be read on light and on dark pages."""
    parts = [
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="10" class="paper"/>',
        *_teachers(),
        *_server(),
        *_device(),
        *_between(),
        *_after(),
    ]
    title = "veil: the server sends a public model and the open classes, a device answers with one randomized class"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{title}">',
            f"<style>{_style(DAY)} @media (prefers-color-scheme: dark) {{ {_style(NIGHT)} }}",
            "text { font: 15px system-ui, sans-serif; } .small { font-size: 13px; } .head { font-weight: 600; }",
            ".line { fill: none; stroke-width: 2; } .dash { stroke-dasharray: 5 4; }</style>",
            "<defs>",
            *(_head(kind) for kind in ("ink", "public", "private")),
            "</defs>",
            *parts,
            "</svg>",
        ]
    )


def _style(colours: dict[str, str]) -> str:
    fills = [f".{name} {{ fill: {colour}; }}" for name, colour in colours.items()]
    strokes = [f".on-{name} {{ stroke: {colour}; }}" for name, colour in colours.items()]
    return " ".join([*fills, *strokes])


def _head(kind: str) -> str:
    return (
        f'<marker id="to-{kind}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path d="M0 0 L10 5 L0 10 z" class="{kind}"/></marker>'
    )


def _text(x: float, y: float, words: str, kind: str = "ink", where: str = "left") -> str:
    return f'<text x="{x}" y="{y}" class="{kind}" text-anchor="{ANCHORS[where]}">{escape(words)}</text>'


def _box(x: float, y: float, width: float, height: float, edge: str = "faint", more: str = "") -> str:
    size = f'x="{x}" y="{y}" width="{width}" height="{height}"'
    return f'<rect {size} rx="8" class="box on-{edge} {more}" stroke-width="1.5"/>'


def _arrow(path: str, kind: str = "ink") -> str:
    return f'<path d="{path}" class="line on-{kind}" marker-end="url(#to-{kind})"/>'


def _teachers() -> list[str]:
    """Where the model comes from."""
    doors = (
        ("a public file", "trained elsewhere", "faint"),
        ("volunteers", "raw, by consent", "faint"),
        ("some of the users", "a report each, ε", "private"),
    )
    parts = [_text(24, 34, "Who teaches the model (one of three)", "ink head")]
    for place, (name, what, kind) in enumerate(doors):
        x = 24 + 156 * place
        parts += [
            _box(x, 48, 144, 56, kind, "dash" if kind == "private" else ""),
            _text(x + 72, 71, name, "ink", "middle"),
            _text(x + 72, 92, what, f"small {kind}", "middle"),
            _arrow(f"M{x + 72} 106 L{x + 72} 144"),
        ]
    return parts


def _server() -> list[str]:
    """What the server knows before it asks: the model, and what graph and labels say of a user."""
    parts = [
        _box(24, 148, 456, 238),
        _text(40, 174, "Server: public knowledge", "public head"),
        _text(40, 202, "a small model f, in integers"),
        _text(40, 232, "graph and labels leave open what user u is:"),
    ]
    edges = (
        (96, 300, 60, 262),
        (96, 300, 148, 268),
        (96, 300, 62, 348),
        (148, 268, 60, 262),
        (96, 300, 150, 346),
    )
    parts += [f'<path d="M{a} {b} L{c} {d}" class="line on-faint"/>' for a, b, c, d in edges]
    for x, y, kind in ((60, 262, "public"), (148, 268, "public"), (62, 348, "private"), (150, 346, "box")):
        parts.append(f'<circle cx="{x}" cy="{y}" r="10" class="{kind} on-faint" stroke-width="1.5"/>')
    parts += [
        '<circle cx="96" cy="300" r="15" class="paper on-ink" stroke-width="2"/>',
        _text(96, 305, "u", "ink", "middle"),
    ]
    shares = (("A", 0.48, True), ("B", 0.40, True), ("C", 0.09, False), ("D", 0.03, False))
    for place, (name, share, left_open) in enumerate(shares):
        y = 256 + 30 * place
        parts += [
            _text(206, y + 15, name),
            f'<rect x="226" y="{y}" width="{260 * share:.0f}" height="20" rx="3" class="{"public" if left_open else "soft"}"/>',
            _text(236 + 260 * share, y + 15, f"{share:.0%}", "small faint"),
        ]
    parts += [
        _text(434, 276, "open:", "small public", "middle"),
        _text(434, 296, "A or B?", "public head", "middle"),
    ]
    return parts


def _device() -> list[str]:
    """What a device does with it."""
    bits = "0100110010110"
    parts = [
        _box(672, 148, 264, 238, "private"),
        _text(688, 174, "Device of user u", "private head"),
        _text(688, 204, "its own row x, which stays:"),
    ]
    for place, bit in enumerate(bits):
        kind = "private" if bit == "1" else "paper"
        parts.append(
            f'<rect x="{688 + 18 * place}" y="216" width="15" height="20" rx="2" class="{kind} on-private"/>'
        )
    return [
        *parts,
        _arrow("M804 240 L804 262", "private"),
        _text(804, 282, "f(x), in integers: rather B", "ink", "middle"),
        _arrow("M804 290 L804 312", "private"),
        _text(804, 332, "k-ary response at ε:", "ink", "middle"),
        _text(804, 352, "B with e^ε / (e^ε + 1), else A", "ink", "middle"),
        _text(804, 374, "answers once, whatever f is", "small private", "middle"),
    ]


def _between() -> list[str]:
    """The question and the answer."""
    return [
        _arrow("M482 220 L668 220", "public"),
        _text(576, 188, "the question", "public head", "middle"),
        _text(576, 208, "f, and {A, B} for u", "small public", "middle"),
        _arrow("M668 336 L484 336", "private"),
        _text(576, 326, "one class back", "private head", "middle"),
        _text(576, 356, "ε is the channel's alone", "small private", "middle"),
    ]


def _after() -> list[str]:
    """What the server does with the answers."""
    steps = (
        ("decode", "how often do validation", "users of each class say so?"),
        ("spread", "what neighbours' answers", "changed counts for u too"),
        ("weigh", "graph, answer, neighbours:", "weights by validation users"),
        ("guard", "no clearly lower loss?", "then structure, unchanged"),
    )
    parts = [_arrow("M252 388 L252 424"), _text(268, 412, "with everybody's answers", "small faint")]
    for place, (name, first, second) in enumerate(steps):
        x = 24 + 233 * place
        parts += [
            _box(x, 428, 213, 96),
            _text(x + 106, 454, name, "ink head", "middle"),
            _text(x + 106, 480, first, "small faint", "middle"),
            _text(x + 106, 500, second, "small faint", "middle"),
        ]
        if place:
            parts.append(_arrow(f"M{x - 19} 476 L{x - 3} 476"))
    return parts
