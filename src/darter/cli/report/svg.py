"""Charts as inline SVG: no script, no fonts or images from elsewhere, a tooltip on every mark."""

from __future__ import annotations

from html import escape

from darter.cli.report.charts import Chart, LineChart, RatioChart, StackChart
from darter.cli.report.scales import PARTS, Scale, colours, date_scale, date_text, number_text, spread_out, value_scale

WIDTH = 980
_TOP = 16
_ROW = 26


def svg_of(chart: Chart) -> str:
    """Return the chart as an ``<svg>`` element whose ``id`` is its key."""
    match chart:
        case LineChart():
            return _lines(chart)
        case StackChart():
            return _stack(chart)
        case RatioChart():
            return _ratios(chart)


def _lines(chart: LineChart) -> str:
    left, height, bottom = 74, 460, 52
    # The names of the lines stand to the right of the plot; a letter is at most 7.6 wide.
    right = 30 + 7.6 * max(len(series.name) for series in chart.series)
    xs = [x for series in chart.series for x, _ in series.points]
    ys = [y for series in chart.series for _, y in series.points]
    across = date_scale(xs) if chart.x_is_date else Scale(0.0, max(xs) * 1.01)
    up = value_scale(ys, chart.log_y)
    plot_width, plot_height = WIDTH - left - right, height - _TOP - bottom

    def x_of(value: float) -> float:
        return left + plot_width * across.place(value)

    def y_of(value: float) -> float:
        return _TOP + plot_height * (1 - up.place(value))

    parts = [_line(left, y_of(tick), left + plot_width, y_of(tick), "grid") for tick in up.ticks()]
    parts += [_text(left - 8, y_of(tick) + 4, number_text(tick), "end") for tick in up.ticks()]
    x_ticks = sorted(set(xs)) if len(set(xs)) <= 6 else across.ticks()
    x_text = date_text if chart.x_is_date else number_text
    parts += [_text(x_of(tick), height - bottom + 18, x_text(tick), "middle") for tick in x_ticks]
    parts.append(_line(left, height - bottom, left + plot_width, height - bottom, "axis"))
    parts.append(_text(left + plot_width / 2, height - 10, chart.x_label, "middle", "label"))
    parts.append(_upright(16, _TOP + plot_height / 2, chart.y_label))
    ends = [y_of(series.points[-1][1]) for series in chart.series]
    label_places = spread_out(ends, 17, _TOP + 6, height - bottom)
    for series, colour, end, place in zip(
        chart.series, colours([series.own for series in chart.series]), ends, label_places, strict=True
    ):
        path = " ".join(f"{x_of(x):.1f},{y_of(y):.1f}" for x, y in series.points)
        width = 3 if series.own else 1.6
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{width}"/>')
        for x, y in series.points:
            at = x_text(x) if chart.x_is_date else f"{x:g} {chart.x_label}"
            tip = f"{series.name}: {number_text(y)} {chart.y_label} ({at})"
            parts.append(_dot(x_of(x), y_of(y), 4 if series.own else 3, colour, tip))
        edge = x_of(series.points[-1][0])
        parts.append(
            f'<path d="M{edge + 6:.1f},{end:.1f} L{left + plot_width + 10},{place:.1f}" stroke="{colour}" '
            'stroke-width="0.8" fill="none" opacity="0.7"/>'
        )
        weight = ' font-weight="600"' if series.own else ""
        style = f'fill="{colour}"{weight}'
        parts.append(f'<text x="{left + plot_width + 14:.1f}" y="{place + 4:.1f}" {style}>{escape(series.name)}</text>')
    return _svg(chart, height, parts)


def _stack(chart: StackChart) -> str:
    left, right, legend = 190, 70, 34
    height = _TOP + legend + _ROW * len(chart.bars) + 48
    across = value_scale([sum(values) for _, values in chart.bars], False)
    plot_width = WIDTH - left - right
    base = _TOP + legend + _ROW * len(chart.bars)
    parts = []
    for tick in across.ticks():
        x = left + plot_width * across.place(tick)
        parts += [_line(x, _TOP + legend - 4, x, base, "grid"), _text(x, base + 18, number_text(tick), "middle")]
    for number, (label, values) in enumerate(chart.bars):
        y = _TOP + legend + _ROW * number
        parts.append(_text(left - 10, y + 16, label, "end"))
        start = 0.0
        for part, value, colour in zip(chart.parts, values, PARTS, strict=True):
            x, width = left + plot_width * across.place(start), plot_width * across.place(value)
            tip = escape(f"{label}, {part}: {value:.1f} {chart.x_label}")
            parts.append(
                f'<rect x="{x:.1f}" y="{y + 3}" width="{max(width, 0.01):.2f}" height="{_ROW - 7}" fill="{colour}">'
                f"<title>{tip}</title></rect>"
            )
            start += value
        parts.append(_text(left + plot_width * across.place(start) + 6, y + 16, f"{start:.0f}", "start"))
    x = float(left)
    for part, colour in zip(chart.parts, PARTS, strict=True):
        parts.append(f'<rect x="{x:.0f}" y="{_TOP}" width="12" height="12" fill="{colour}"/>')
        parts.append(_text(x + 17, _TOP + 11, part, "start"))
        x += 34 + 6.4 * len(part)
    parts.append(_text(left + plot_width / 2, height - 8, chart.x_label, "middle", "label"))
    return _svg(chart, height, parts)


def _ratios(chart: RatioChart) -> str:
    left, right = 300, 70
    height = _TOP + _ROW * len(chart.rows) + 52
    low = min(0.9, *(row[1] for row in chart.rows)) - 0.03
    high = max(1.1, *(row[3] for row in chart.rows)) + 0.03
    across = Scale(low, high)
    plot_width = WIDTH - left - right
    base = _TOP + _ROW * len(chart.rows)
    parts = []
    for tick in across.ticks():
        x = left + plot_width * across.place(tick)
        parts += [_line(x, _TOP, x, base, "grid"), _text(x, base + 18, number_text(tick), "middle")]
    one = left + plot_width * across.place(1.0)
    parts.append(_line(one, _TOP, one, base, "axis"))
    for number, (label, least, ratio, most, judged) in enumerate(chart.rows):
        y = _TOP + _ROW * number + _ROW / 2
        colour = "#0b57d0" if judged else "#9aa5b1"
        start, end = (left + plot_width * across.place(value) for value in (least, most))
        tip = escape(f"{label}: {ratio:.3f} ({least:.3f} … {most:.3f})")
        parts.append(_text(left - 10, y + 4, label, "end"))
        parts.append(
            f'<rect x="{start:.1f}" y="{y - 3:.1f}" width="{max(end - start, 0.5):.1f}" height="6" rx="3" '
            f'fill="{colour}" opacity="0.35"><title>{tip}</title></rect>'
        )
        parts.append(_dot(left + plot_width * across.place(ratio), y, 5, colour, tip))
        parts.append(_text(WIDTH - right + 12, y + 4, f"{ratio:.3f}", "start"))
    parts.append(_text(left + plot_width / 2, height - 10, chart.x_label, "middle", "label"))
    return _svg(chart, height, parts)


def _svg(chart: Chart, height: float, parts: list[str]) -> str:
    return (
        f'<svg id="{escape(chart.key, quote=True)}" class="chart" viewBox="0 0 {WIDTH} {height:.0f}" role="img" '
        f'aria-label="{escape(chart.title, quote=True)}" xmlns="http://www.w3.org/2000/svg">{"".join(parts)}</svg>'
    )


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>'


def _text(x: float, y: float, text: str, anchor: str, kind: str = "tick") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{kind}">{escape(text)}</text>'


def _upright(x: float, y: float, text: str) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle" class="label" '
        f'transform="rotate(-90 {x:.1f} {y:.1f})">{escape(text)}</text>'
    )


def _dot(x: float, y: float, radius: float, colour: str, tip: str) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{colour}"><title>{escape(tip)}</title></circle>'
