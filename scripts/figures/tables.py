"""Tables of what was measured: for the terminal, and for docs/reference/performance.md."""


def number(value):
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def ratio(value):
    return f"{value:.2f}" if value < 9.95 else f"{value:.1f}"


def spread(work):
    low, high = work.extent
    return f"{ratio(low)}–{ratio(high)}" if low < high else ""


def rounds(work):
    return str(len(work.ratios)) if work.ratios else "not kept"


def target(work):
    return f"{'≤' if work.at_most else '≥'} {work.target:g}" if work.target else ""


def middle(values):
    return sorted(values)[len(values) // 2] if values else None


def terminal(works):
    rows = [["work", "floor", "ours", "ratio", "spread", "target", "reached", "besides"]]
    for work in works:
        rows.append([work.name, number(middle(work.floor)), number(middle(work.ours)), ratio(work.ratio), spread(work),
                     target(work), {None: "", True: "yes", False: "NO"}[work.reached],
                     ", ".join(f"{name} {number(value)}" for name, value in work.besides.items())])
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)


def beside(work, texts):
    return ", ".join(f"{texts[name]} {number(value)}" for name, value in work.besides.items() if name in texts)


def markdown(pairs, texts):
    """`pairs`: (description, work); `texts`: the words for figures that are shown beside."""
    rows = ["| work | floor | doclock | ratio (spread) | rounds | target |", "|---|---|---|---|---|---|"]
    for described, work in pairs:
        floor, ours = (f"{number(middle(v))} {described['unit']}" if v else "–" for v in (work.floor, work.ours))
        both = f"{ratio(work.ratio)} ({spread(work)})" if spread(work) else ratio(work.ratio)
        mark = {None: "–", True: target(work), False: f"{target(work)}, **missed**"}[work.reached]
        others = beside(work, texts)
        rows.append(f"| {described['label']}{'<br>' + others if others else ''} | {floor} | {ours} | {both} | "
                    f"{rounds(work)} | {mark} |")
    return "\n".join(rows)
