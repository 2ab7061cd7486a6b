"""A bar chart as SVG: one bar a peer, the spread as a line, the figure beside it."""

from html import escape

WIDTH, LEFT, RIGHT, ROW, TOP = 760, 190, 110, 34, 56


def bars(title: str, unit: str, rows, ours: str) -> str:
    """`rows`: (name, median, least, most), least first."""
    most = max((row[3] for row in rows), default=1) or 1
    scale = (WIDTH - LEFT - RIGHT) / most
    height = TOP + ROW * len(rows) + 14
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}" '
        'font-family="system-ui, sans-serif" font-size="13">',
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
        f'<text x="16" y="24" font-size="15" font-weight="600" fill="#111">{escape(title)}</text>',
        f'<text x="16" y="43" fill="#666">{escape(unit)}; the line is the spread</text>',
    ]
    for index, (name, median, low, high) in enumerate(rows):
        y = TOP + ROW * index
        colour = "#0f766e" if name == ours else "#94a3b8"
        middle = y + 12
        parts += [
            f'<text x="{LEFT - 10}" y="{middle + 5}" text-anchor="end" fill="#111">{escape(name)}</text>',
            f'<rect x="{LEFT}" y="{y}" width="{median * scale:.1f}" height="24" rx="2" fill="{colour}"/>',
            f'<line x1="{LEFT + low * scale:.1f}" x2="{LEFT + high * scale:.1f}" y1="{middle}" y2="{middle}" '
            'stroke="#111" stroke-width="1.5"/>',
            f'<text x="{LEFT + high * scale + 8:.1f}" y="{middle + 5}" fill="#111">{median:.1f}</text>',
        ]
    return "\n".join([*parts, "</svg>", ""])
