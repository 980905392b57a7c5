# SPDX-License-Identifier: MIT
"""A roofline picture (SVG): where each node of a model stands against the limits of the machine.

Across: operations for each byte that the node touches; up: operations a second; both logarithmic.
The roofs are the measured peaks, the slopes the measured speeds of DRAM and of the caches. The area
of a dot is the node's share of the time; pointing at one shows more. Nodes without multiply-adds
are not drawn; how much time they take stands in the title. Colours follow the reader's light or
dark theme.
"""
import math
from html import escape

WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 860, 520, 70, 50, 190, 50
COLOURS = ["#2f7fc1", "#d1603d", "#3f9150", "#9a62cf", "#b8860b", "#7b8794"]  # on white and black
STYLE = """<style>
svg { --paper: #ffffff; --ink: #1f2328; --grid: #e3e6ea; --slope: #8a929b; }
@media (prefers-color-scheme: dark) {
  svg { --paper: #0d1117; --ink: #e6edf3; --grid: #2b323b; --slope: #7d8590; }
}
.paper { fill: var(--paper); }
text { fill: var(--ink); }
.grid { stroke: var(--grid); }
.slope { stroke: var(--slope); }
.roof { stroke: var(--ink); stroke-width: 1.5; }
circle { stroke: var(--paper); stroke-width: 0.7; }
</style>
"""


class Axis:
    """Logarithmic, from value lo at pixel a to value hi at pixel b."""

    def __init__(self, lo, hi, a, b):
        self.lo, self.hi, self.a, self.b = math.log10(lo), math.log10(hi), a, b

    def __call__(self, value):
        at = (math.log10(value) - self.lo) / (self.hi - self.lo)
        return self.a + (self.b - self.a) * min(1.0, max(0.0, at))

    def decades(self):
        return range(math.ceil(self.lo), math.floor(self.hi) + 1)


def points(rows):
    """(row, operations a byte, GOPS) of the rows that can be drawn."""
    return [(r, 2 * r["macs"] / r["bytes"], r["gops"]) for r in rows
            if r["macs"] and r["bytes"] and r["gops"]]


def limit(intensity, peak_gops, gbs):
    """GOPS that the machine allows at so many operations a byte."""
    return min(peak_gops, intensity * gbs)


def line(x0, y0, x1, y1, kind):
    return f'<line x1="{x0:.1f}" y1="{y0:.1f}" x2="{x1:.1f}" y2="{y1:.1f}" class="{kind}"/>'


def text(x, y, words, anchor="start", size=12, extra=""):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}"{extra}>'
            f"{escape(words)}</text>")


def grid(x, y):
    out = []
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    for d in x.decades():
        out += [line(x(10 ** d), TOP, x(10 ** d), bottom, "grid"),
                text(x(10 ** d), bottom + 18, f"{10.0 ** d:g}", "middle")]
    for d in y.decades():
        out += [line(LEFT, y(10 ** d), right, y(10 ** d), "grid"),
                text(LEFT - 6, y(10 ** d) + 4, f"{10.0 ** d:g}", "end")]
    turned = f' transform="rotate(-90 18 {HEIGHT / 2:.0f})"'
    return out + [text((LEFT + right) / 2, HEIGHT - 10, "operations a byte", "middle"),
                  text(18, HEIGHT / 2, "GOPS", "middle", extra=turned)]


def slopes(peaks):
    """(name, GB/s) of the kinds of memory, slowest first; one that is no faster is left out."""
    found = []
    for name, key in (("DRAM", "dram_gbs"), ("L3", "l3_gbs"), ("L2", "l2_gbs")):
        if (peaks.get(key) or 0) > (1.2 * found[-1][1] if found else 0):
            found.append((name, peaks[key]))
    return found


def roofs(peaks, kinds, x, y):
    out = []
    lo, hi, floor = 10 ** x.lo, 10 ** x.hi, 10 ** y.lo
    top = max(peaks[f"{kind}_gops"] for kind in kinds)
    for name, gbs in slopes(peaks):
        start, end = max(lo, floor / gbs), min(hi, top / gbs)
        out.append(line(x(start), y(start * gbs), x(end), y(end * gbs), "slope"))
        rise = y(start * gbs) - y(end * gbs)
        angle = -math.degrees(math.atan2(rise, x(end) - x(start)))
        at = start * (end / start) ** 0.3
        spot = f"{x(at):.1f} {y(at * gbs) - 5:.1f}"
        out.append(text(x(at), y(at * gbs) - 5, f"{name} {gbs:.0f} GB/s", "middle", 11,
                        f' transform="rotate({angle:.1f} {spot})"'))
    fastest = max([gbs for _, gbs in slopes(peaks)], default=1e-9)
    for kind in kinds:
        gops = peaks[f"{kind}_gops"]
        out.append(line(x(max(lo, gops / fastest)), y(gops), x(hi), y(gops), "roof"))
        out.append(text(WIDTH - RIGHT - 4, y(gops) - 5, f"{kind} {gops:.0f} GOPS", "end", 11))
    return out


def dots(drawn, peaks, x, y):
    out = []
    types = sorted({r["type"] for r, _, _ in drawn})
    for i, kind in enumerate(types):
        colour = COLOURS[i % len(COLOURS)]
        out.append(f'<circle cx="{WIDTH - RIGHT + 18}" cy="{TOP + 12 + 20 * i}" r="5" '
                   f'fill="{colour}"/>')
        out.append(text(WIDTH - RIGHT + 30, TOP + 16 + 20 * i, kind))
        for row, intensity, gops in (d for d in drawn if d[0]["type"] == kind):
            radius = 2 + 30 * math.sqrt(row["share"] or 0)
            kernels = ", ".join(s["kernel"] for s in row["steps"])
            roof = limit(intensity, peaks[f'{row["peak"]}_gops'], peaks["dram_gbs"])
            words = (f'{row["node"]}: {row["us"]:.0f} us, {gops:.1f} GOPS, '
                     f'{100 * row["of_peak"]:.0f} % of peak; from DRAM at most {roof:.0f} GOPS; '
                     f"{kernels}")
            out.append(f'<circle cx="{x(intensity):.1f}" cy="{y(gops):.1f}" r="{radius:.1f}" '
                       f'fill="{colour}" fill-opacity="0.5"><title>{escape(words)}</title>'
                       "</circle>")
    return out


def svg(title, per_op):
    """The picture of a --per-op report, or None when no node has multiply-adds to draw."""
    drawn, peaks = points(per_op["rows"]), per_op["peaks"]
    kinds = sorted({r["peak"] for r, _, _ in drawn if peaks[f'{r["peak"]}_gops']})
    if not kinds:
        return None
    top = max(peaks[f"{kind}_gops"] for kind in kinds)
    x = Axis(min(0.1, *(i for _, i, _ in drawn)), max(1000, *(i for _, i, _ in drawn)), LEFT,
             WIDTH - RIGHT)
    y = Axis(min(1, *(g for _, _, g in drawn)), 2 * max(top, *(g for _, _, g in drawn)),
             HEIGHT - BOTTOM, TOP)
    rest = 1 - sum(r["share"] or 0 for r, _, _ in drawn)
    head = f"{title}: {len(drawn)} nodes with multiply-adds; the others take {100 * rest:.0f} %"
    body = [text(LEFT, 26, head, size=15), *grid(x, y), *roofs(peaks, kinds, x, y),
            *dots(drawn, peaks, x, y)]
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
            f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif">\n' + STYLE +
            '<rect width="100%" height="100%" class="paper"/>\n' + "\n".join(body) + "\n</svg>\n")
