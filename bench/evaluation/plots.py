# SPDX-License-Identifier: Apache-2.0
"""Three drawings of a run, with gnuplot."""
import shutil
import subprocess

from .results import NoData

# Colours of Okabe and Ito, which people with any colour vision can tell apart; points differ too.
STYLE = """
set encoding utf8
set grid linecolor rgb "#dddddd"
set border 3 linecolor rgb "#444444"
set tics nomirror
set key outside bottom center horizontal
set rmargin 4
set style line 1 linewidth 2 pointtype 7 linecolor rgb "#0072b2"
set style line 2 linewidth 2 pointtype 5 linecolor rgb "#d55e00"
set style line 3 linewidth 2 pointtype 9 linecolor rgb "#009e73"
set style line 4 linewidth 2 pointtype 13 linecolor rgb "#777777"
"""


def _block(name, rows):
    return f"${name} << END\n" + "\n".join(" ".join(map(str, row)) for row in rows) + "\nEND\n"


def _draw(path, width, height, body):
    terminal = f'set terminal svg size {width},{height} font "sans-serif,14" background rgb "white"\nset output "{path.name}"\n'
    # Run in the folder, so that no path needs quoting.
    subprocess.run(["gnuplot"], input=terminal + STYLE + body + "\nset output\n", text=True, check=True, cwd=path.parent)


def _pairs():
    """Kernel and yardstick, as the axis calls them and by name."""
    for size in ("512KiB", "8MiB", "256MiB"):
        for dtype in ("i32", "i64"):
            yield f"count {dtype} {size} / read", f"count/count/{dtype}/{size}", f"count/read/{dtype}/{size}"
    for run, yardstick in (("forward", "read"), ("gradient", "read_write")):
        for dtype in ("f32", "bf16", "f16"):
            kernel = f"cross_entropy/{run}/{dtype}/32000"
            yield f"{run} {dtype} / {yardstick.replace('_', '+')}", kernel, f"cross_entropy/{yardstick}/{dtype}/32000"
    yield "scale f32 / read+write", "scale/scale/f32/64MiB", "scale/read_write/f32/64MiB"
    for dtype in ("f32", "bf16", "f16"):
        yield f"forward {dtype} / exp", f"cross_entropy/forward/{dtype}/32000", f"cross_entropy/exp/{dtype}/2048"


def _kernels(results, path):
    targets = results.targets("kernels")
    rows = []
    for label, kernel, yardstick in _pairs():
        # By the element: an exponential is one of 32 bits, whatever the logits are.
        speeds = [results.ns_per_element(simd, yardstick) / results.ns_per_element(simd, kernel) for simd in targets]
        rows.append((f'"{label}"', *speeds))
    bars = ", ".join(f'$data using {i + 2}:xtic(1) linestyle {i + 1} title "{simd}"' for i, simd in enumerate(targets))
    _draw(path, 1000, 560, _block("data", rows) + f"""
set title "Speed as a share of that of the yardstick (cross entropy: V = 32000)"
set style data histogram
set style histogram clustered gap 1
set style fill solid 0.9 border -1
set boxwidth 0.9
set yrange [0:*]
set xtics rotate by 40 right
set bmargin 11
set lmargin 12
plot {bars}, 1 with lines dashtype 2 linecolor rgb "#444444" notitle
""")


def _growth(results, path):
    simd = results.best_simd("growth")

    def rows(sizes, names, value):
        return [(size, *(value(simd, name.format(size), "growth") for name in names)) for size in sizes]

    vocabulary = rows([2**p for p in range(13, 19)], ("vocabulary/forward/f32/{}", "vocabulary/gradient/f32/{}"),
                      results.ns_per_element)
    tokens = rows([4**p for p in range(5, 11)], ("tokens/count/i64/{}", "tokens/loss/f32/{}"), results.ns)
    microbatches = rows([2**p for p in range(6)], ("microbatches/step/i64/{}",), results.ns)
    _draw(path, 1200, 460, _block("vocabulary", vocabulary) + _block("tokens", tokens) + _block("steps", microbatches) + """
set multiplot layout 1,3
set logscale x 2
set format x "2^{%L}"
set title "Cross entropy, f32, 64 MiB of logits"
set xlabel "vocabulary"
set ylabel "ns per logit"
set yrange [0:*]
plot $vocabulary using 1:2 with linespoints linestyle 1 title "forward", \\
     $vocabulary using 1:3 with linespoints linestyle 2 title "forward and gradient"
set title "Tokens of one call"
set xlabel "tokens"
set ylabel "µs"
set logscale y
set yrange [*:*]
set format y "10^{%L}"
plot $tokens using 1:($2/1000) with linespoints linestyle 1 title "count, 64-bit labels", \\
     $tokens using 1:($3/1000) with linespoints linestyle 2 title "losses, fixed point"
set title "A step of one rank"
set xlabel "microbatches of 4096 tokens"
unset logscale
unset format
set yrange [0:*]
plot $steps using 1:($2/1000) with linespoints linestyle 1 title "count each, reduce, wait"
unset multiplot
""")


def _reduction(results, path):
    modes = ("blocking", "iallreduce", "tokavg_pre", "tokavg_post")
    rows = []
    for ranks in sorted(map(int, results.merged["reduction"])):
        try:
            measured = results.reduction(ranks)["modes"]
        except NoData:
            continue  # refused: the table says so
        rows.append((ranks, *(100 * measured[mode]["exposed_fraction"] for mode in modes),
                     *(1e3 * measured[mode]["wait_seconds_worst"] for mode in modes)))
    if not rows:
        raise NoData("no reduction was measured, or every one refused")
    titles = ("blocking before the loss", "MPI_Iallreduce", "tokavg before backward", "tokavg after backward")
    styles = (4, 2, 1, 3)

    def lines(first):
        return ", ".join(f'$data using 1:{first + i} with linespoints linestyle {styles[i]} title "{title}" noenhanced'
                         for i, title in enumerate(titles))

    _draw(path, 1000, 460, _block("data", rows) + f"""
set multiplot layout 1,2
set logscale x 2
set xlabel "ranks"
set title "Exposed reduction"
set ylabel "% of a step"
plot {lines(2)}
set title "Waiting, worst rank"
set ylabel "ms per step"
set yrange [0:*]
plot {lines(6)}
unset multiplot
""")


def draw(results, folder):
    """Draws what there is; returns a line for each drawing, or for what is missing."""
    if not shutil.which("gnuplot"):
        return ["no plots: gnuplot is not installed (Debian: apt install gnuplot-nox)"]
    lines = []
    for name, draw_one in (("kernels", _kernels), ("growth", _growth), ("reduction", _reduction)):
        path = folder / f"{name}.svg"
        path.unlink(missing_ok=True)
        try:
            draw_one(results, path)
            lines.append(f"drawn: {path}")
        except NoData as why:
            lines.append(f"not drawn: {path.name}: {why}")
    return lines
