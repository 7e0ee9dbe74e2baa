"""Line charts with logarithmic axes as SVG, on a card of their own, so that they can be read on light and dark pages."""

import math
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 820, 440
LEFT, RIGHT, TOP, BOTTOM = 84, 220, 56, 64
# Colors that people with any color vision can tell apart, and a shape for each.
STYLES = {
    "hand": ("#7a7a7a", "circle", "5 4"), "inline": ("#0072b2", "circle", ""), "async": ("#2ba3de", "square", ""),
    "plain": ("#009e73", "triangle", ""), "rmcp": ("#d55e00", "circle", ""), "rmcp-readme": ("#e69f00", "square", ""),
    "fastmcp": ("#b8558f", "triangle", ""), "typescript": ("#8a6d1d", "diamond", ""),
}
CSS = """
.card { fill: #ffffff; stroke: #d0d7de; } text { fill: #1f2328; font: 13px system-ui, sans-serif; }
.title { font-size: 16px; font-weight: 600; } .grid { stroke: #d8dee4; } .axis { stroke: #57606a; }
@media (prefers-color-scheme: dark) {
.card { fill: #161b22; stroke: #3d444d; } text { fill: #e6edf3; } .grid { stroke: #30363d; } .axis { stroke: #9198a1; } }
"""


def marker(shape, x, y, color):
    if shape == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{color}"/>'
    corners = {"square": [(-4, -4), (4, -4), (4, 4), (-4, 4)], "triangle": [(0, -5), (5, 4), (-5, 4)],
               "diamond": [(0, -5.5), (5.5, 0), (0, 5.5), (-5.5, 0)]}[shape]
    points = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in corners)
    return f'<polygon points="{points}" fill="{color}"/>'


def short(value):
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g} {letter}"
    return f"{value:g}"


def lines(title, x_label, y_label, series):
    """`series` is {name: (style, [(x, median, least, largest)])}."""
    points = [point for _, found in series.values() for point in found]
    xs = sorted({point[0] for point in points})
    low, high = min(point[2] for point in points), max(point[3] for point in points)
    bottom, top = math.floor(math.log10(low)), math.ceil(math.log10(high))
    right, floor = WIDTH - RIGHT, HEIGHT - BOTTOM

    def at_x(x):
        span = math.log(xs[-1] / xs[0]) or 1
        return LEFT + 14 + (right - LEFT - 28) * math.log(x / xs[0]) / span

    def at_y(y):
        return floor - (floor - TOP) * (math.log10(y) - bottom) / max(top - bottom, 1)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img">',
           f"<title>{escape(title)}</title><style>{CSS}</style>",
           f'<rect class="card" x="0.5" y="0.5" width="{WIDTH - 1}" height="{HEIGHT - 1}" rx="8"/>',
           f'<text class="title" x="{LEFT}" y="30">{escape(title)}</text>']
    ticks = [10.0**power for power in range(bottom, top + 1)]
    if len(ticks) <= 3:
        ticks += [digit * tick for tick in ticks[:-1] for digit in (2, 5)]
    for tick in ticks:
        y = at_y(tick)
        out.append(f'<line class="grid" x1="{LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>'
                   f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{short(tick)}</text>')
    for x in xs:
        out.append(f'<line class="axis" x1="{at_x(x):.1f}" x2="{at_x(x):.1f}" y1="{floor}" y2="{floor + 5}"/>'
                   f'<text x="{at_x(x):.1f}" y="{floor + 20}" text-anchor="middle">{short(x)}</text>')
    out.append(f'<path class="axis" fill="none" d="M{LEFT},{TOP} V{floor} H{right}"/>'
               f'<text x="{(LEFT + right) / 2}" y="{HEIGHT - 18}" text-anchor="middle">{escape(x_label)} (log)</text>'
               f'<text transform="translate(20 {(TOP + floor) / 2}) rotate(-90)" text-anchor="middle">{escape(y_label)} (log)</text>')
    for style, found in series.values():
        color, shape, dash = STYLES[style]
        path = " ".join(f"{at_x(x):.1f},{at_y(y):.1f}" for x, y, _, _ in found)
        if len(found) > 1:
            out.append(f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2" stroke-dasharray="{dash}"/>')
        for x, y, least, largest in found:
            if largest > least:
                out.append(f'<line x1="{at_x(x):.1f}" x2="{at_x(x):.1f}" y1="{at_y(least):.1f}" y2="{at_y(largest):.1f}" stroke="{color}"/>')
            out.append(marker(shape, at_x(x), at_y(y), color))
    # In the order of the lines at their right ends.
    for n, (name, (style, _)) in enumerate(sorted(series.items(), key=lambda item: -item[1][1][-1][1])):
        color, shape, dash = STYLES[style]
        x, y = right + 22, TOP + 12 + 24 * n
        out.append(f'<line x1="{x - 12}" x2="{x + 12}" y1="{y}" y2="{y}" stroke="{color}" stroke-width="2" stroke-dasharray="{dash}"/>'
                   f'{marker(shape, x, y, color)}<text x="{x + 20}" y="{y + 4}">{escape(name)}</text>')
    return "\n".join([*out, "</svg>", ""])
