# SPDX-License-Identifier: Apache-2.0
"""The goals as text for a terminal, or as Markdown."""
import statistics

from . import goals

HEAD = ("goal", "measured", "value", "limit", "value/limit", "")


def _number(value, unit):
    if abs(value) < 0.01 and value != 0:
        text = f"{value:.1e}"
    else:
        text = f"{value:.3f}" if abs(value) < 10 else f"{value:.1f}"
    return f"{text} {unit}".strip()


def _limit(row):
    return f"{'>=' if row['at_least'] else '<='} {row['limit']:g} {row['unit']}".strip()


def _cells(row):
    if row["value"] is None:
        return (row["goal"], row["what"], "-", _limit(row), "-", f"no data: {row['why']}")
    verdict = "met" if row["met"] else "NOT MET"
    return (row["goal"], row["what"], _number(row["value"], row["unit"]), _limit(row), f"{row['ratio']:.2f}", verdict)


def _facts(merged):
    if merged["quick"]:
        yield "A QUICK RUN: it shows that everything works. Its times mean nothing."
    machine, software = merged["machine"], merged["software"]
    yield f"{machine['cpu']} (family {machine['family']}), {machine['cores']} cores, {', '.join(machine['caches'])}"
    yield f"{machine['system']}; virtual machine: {machine['virtual']}"
    yield f"{software['compiler']}, {software['build_type']}; {software['mpi']}"
    yield f"tokavg {software['revision']}; {merged['date']}"


def noise_remark(noise):
    name = max(noise, key=lambda key: abs(noise[key]))
    middle = statistics.median(map(abs, noise.values()))
    return (f"A/A pairs: equal benchmarks differ by {100 * middle:.1f} % in the median and by up to "
            f"{100 * abs(noise[name]):.1f} % ({name}); a value that close to its limit is no statement.")


def _remarks(merged):
    if merged["noise"]:
        yield noise_remark(merged["noise"])
    if merged["load"] > merged["machine"]["cores"]:
        yield (f"Others were at work (load {merged['load']:.1f} on {merged['machine']['cores']} cores): "
               "what 2 threads gain, and all that waits for memory, is worth less than usual.")
    if merged["older"]:
        yield f"Measured earlier, perhaps with another revision: {', '.join(merged['older'])}."
    for note in (merged["peers"] or {}).get("notes", []):
        yield f"peers: {note}"


def text_of(checks):
    """The rows of goals.evaluate(), and the verdicts."""
    rows = [HEAD, *map(_cells, checks)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD) - 1)]
    lines = []
    for row in rows:
        goal, what, value, limit, ratio, verdict = row
        lines.append(f"{goal:{widths[0]}}  {what:{widths[1]}}  {value:>{widths[2]}}  {limit:>{widths[3]}}  "
                     f"{ratio:>{widths[4]}}  {verdict}".rstrip())
    lines.append("")
    return lines + [f"{goal:{widths[0]}}  {verdict}" for goal, verdict in goals.verdicts(checks).items()]


def markdown_of(checks):
    lines = [markdown_line((*HEAD[:-1], "verdict")), "|---|---|--:|--:|--:|---|", *(markdown_line(_cells(row)) for row in checks), ""]
    return [*lines, markdown_line(("goal", "verdict")), "|---|---|", *map(markdown_line, goals.verdicts(checks).items())]


def markdown_line(cells):
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def text(merged):
    remarks = list(_remarks(merged))
    lines = [*_facts(merged), "", *text_of(merged["goals"])]
    return "\n".join([*lines, *([""] + remarks if remarks else [])]) + "\n"


def markdown(merged):
    lines = [*(f"- {fact}" for fact in _facts(merged)), "", *markdown_of(merged["goals"]), ""]
    lines += [f"- {remark}" for remark in _remarks(merged)]
    return "\n".join(lines).rstrip() + "\n"
