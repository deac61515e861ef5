# SPDX-License-Identifier: Apache-2.0
"""arguments.py TOOL: what the command says to wrong arguments, and what it writes."""
import os
import pathlib
import sys
import tempfile

from support import expect, run, without_launcher

QUICK = ["--quiet", "--ranks", 2, "--steps", 1]

# Arguments, exit code, what stderr must hold.
WRONG = [
    (["demo", "--text", "no/such/file"], 1, ["no/such/file", "No such file", "--text FILE"]),
    (["demo", "--text", "."], 1, ["'.'", "--text FILE"]),
    (["demo", "--text", os.devnull], 1, ["has no line"]),
    (["demo", "--no-such-option"], 2, ["--no-such-option"]),
    (["demo", "--ranks", 0], 2, ["--ranks"]),
    (["demo", "--steps", "many"], 2, ["--steps"]),
    (["demo", "--ranks", 4, "--lines", 31], 1, ["31 lines", "--lines 32"]),
    (["demo", *QUICK, "--json", "no/such/folder/file"], 1, ["no/such/folder/file", "No such file"]),
    (["bench"], 1, ["2 ranks", "mpiexec"]),
    ([], 2, ["subcommand"]),
]


def check_plot(tool):
    """An SVG where there is gnuplot; without it one line that names the remedy."""
    with tempfile.TemporaryDirectory() as folder:
        svg = pathlib.Path(folder, "it's a plot.svg")
        done = run([tool, "demo", *QUICK, "--plot", svg], env=without_launcher())
        if "gnuplot is not installed" not in done.stderr:
            text = svg.read_text()
            expect("</svg>" in text and "local means" in text and "step" in text, "the drawing lacks its words")
        done = run([tool, "demo", *QUICK, "--plot", svg], env={**without_launcher(), "PATH": folder})
        expect(done.stderr.count("\n") == 1 and "apt install gnuplot" in done.stderr, f"without gnuplot: {done.stderr}")


def check_table(tool):
    out = run([tool, "demo", "--ranks", 2, "--steps", 1], env=without_launcher()).stdout
    for word in ("step", "one_process", "local_mean", "tokavg_pre", "tokavg_post", "exposed", "gradient norm"):
        expect(word in out, f"the table lacks {word}:\n{out}")
    expect(max(map(len, out.splitlines())) <= 100, "the table is wider than a terminal")


if __name__ == "__main__":
    tool = sys.argv[1]
    for arguments, code, words in WRONG:
        done = run([tool, *arguments], code, env=without_launcher())
        for word in words:
            expect(word in done.stderr, f"{arguments}: stderr lacks '{word}': {done.stderr}")
        expect(done.stdout == "", f"{arguments}: stdout is {done.stdout}")
    expect(run([tool, "--help"]).stdout.count("bench") > 0, "--help does not name the subcommands")
    run([tool, "--version"])
    check_plot(tool)
    check_table(tool)
