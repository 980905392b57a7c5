# SPDX-License-Identifier: MIT
"""A scaling chart (SVG): runs per second over threads, one panel a model, one line a program.

Both axes are logarithmic, so a line that rises by one for each step to the right scales perfectly;
the thin line shows that for Quern. Colours follow the reader's light or dark theme.
"""
from roofline import COLOURS, STYLE, Axis, line, text

SIDES = [("ours", "Quern"), ("peer", "onnxruntime"), ("openvino", "OpenVINO")]
PANEL_W, PANEL_H, COLUMNS, HEAD, FOOT = 250, 190, 4, 60, 10
LEFT, RIGHT, TOP, BOTTOM = 58, 14, 26, 42


def lines_of(rows, model, form):
    """{side: [(threads, runs per second)]} of one model."""
    mine = sorted((r for r in rows if (r["model"], r["form"]) == (model, form)),
                  key=lambda r: r["threads"])
    found = {side: [(r["threads"], 1e3 / r[side]["min_ms"]) for r in mine if side in r]
             for side, _ in SIDES}
    return {side: points for side, points in found.items() if points}


def ticks(lo, hi):
    """Round numbers between two: 1, 2 and 5 times powers of ten, more of them where the two are
    near."""
    steps = (1, 2, 5) if hi / lo > 8 else (1, 1.5, 2, 3, 4, 5, 7)
    return [m * 10.0 ** d for d in range(-3, 7) for m in steps if lo <= m * 10.0 ** d <= hi]


def panel(model, found, left, top):
    threads = sorted({n for points in found.values() for n, _ in points})
    speeds = [v for points in found.values() for _, v in points]
    x0, x1 = left + LEFT, left + PANEL_W - RIGHT
    y0, y1 = top + PANEL_H - BOTTOM, top + TOP
    first, speed = found.get("ours", [(threads[0], speeds[0])])[0]
    ideal = speed * threads[-1] / first
    x = Axis(threads[0], max(2, threads[-1]), x0, x1)
    y = Axis(min(speeds) / 1.1, max(*speeds, ideal) * 1.1, y0, y1)
    out = [text((x0 + x1) / 2, top + 16, model, "middle", 13)]
    for n in threads:
        out += [line(x(n), y0, x(n), y1, "grid"), text(x(n), y0 + 15, str(n), "middle", 11)]
    for v in ticks(10 ** y.lo, 10 ** y.hi):
        out += [line(x0, y(v), x1, y(v), "grid"), text(x0 - 5, y(v) + 4, f"{v:g}", "end", 11)]
    middle, aside = (y0 + y1) / 2, left + 14
    out += [text((x0 + x1) / 2, y0 + 32, "threads", "middle", 11),
            text(aside, middle, "runs per second", "middle", 11,
                 f' transform="rotate(-90 {aside} {middle:.0f})"')]
    out.append(line(x(first), y(speed), x(threads[-1]), y(ideal), "slope"))
    for i, (side, name) in enumerate(SIDES):
        points = found.get(side, [])
        path = " ".join(f"{x(n):.1f},{y(v):.1f}" for n, v in points)
        out.append(f'<polyline points="{path}" fill="none" stroke="{COLOURS[i]}" '
                   'stroke-width="2"/>')
        out += [f'<circle cx="{x(n):.1f}" cy="{y(v):.1f}" r="3.5" fill="{COLOURS[i]}"><title>'
                f"{name}, {n} threads: {v:.4g} runs per second</title></circle>" for n, v in points]
    return out


def legend(rows):
    out, at = [], 20
    for i, (side, name) in enumerate(SIDES):
        if any(side in r for r in rows):
            out += [line(at, 43, at + 22, 43, f'" style="stroke:{COLOURS[i]};stroke-width:2'),
                    text(at + 28, 47, name)]
            at += 50 + 8 * len(name)
    return out + [line(at, 43, at + 22, 43, "slope"),
                  text(at + 28, 47, "Quern on one thread times the number of threads")]


def svg(rows, form):
    """The picture of one form of all models, or None when nothing was measured."""
    rows = [r for r in rows if r["form"] == form and any(side in r for side, _ in SIDES)]
    models = list(dict.fromkeys(r["model"] for r in rows))
    if not models:
        return None
    columns = min(COLUMNS, max(3, len(models)))
    width = columns * PANEL_W
    height = HEAD + -(-len(models) // columns) * PANEL_H + FOOT
    body = [text(20, 24, f"{form}: speed by threads", size=15), *legend(rows)]
    for i, model in enumerate(models):
        body += panel(model, lines_of(rows, model, form), i % columns * PANEL_W,
                      HEAD + i // columns * PANEL_H)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" font-family="sans-serif">\n' + STYLE +
            '<rect width="100%" height="100%" class="paper"/>\n' + "\n".join(body) + "\n</svg>\n")
