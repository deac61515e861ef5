#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reports what scripts/bench measured, against the goals.

report.py DIR --merge BUILD_DIR   merges the raw files of DIR into DIR/results.json, draws plots, writes and prints the table
report.py DIR                     prints the table of DIR/results.json
report.py DIR --markdown          prints it as Markdown
"""
import argparse
import json
import pathlib
import sys

from evaluation import goals, plots, results, table

ROOT = pathlib.Path(__file__).resolve().parent.parent


def merge(folder, build):
    merged = results.merge(folder, build, ROOT)
    answers = results.Results(merged)
    merged["goals"] = goals.evaluate(answers)
    merged["noise"] = goals.noise(answers)
    (folder / "results.json").write_text(json.dumps(merged, indent=1) + "\n")
    (folder / "table.txt").write_text(table.text(merged))
    for line in plots.draw(answers, folder):
        print(line)
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, metavar="DIR")
    parser.add_argument("--merge", type=pathlib.Path, metavar="BUILD_DIR")
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    if options.merge:
        merge(options.folder, options.merge)
    file = options.folder / "results.json"
    if not file.exists():
        sys.exit(f"report: there is no {file}; scripts/bench makes it")
    merged = results.load(file)
    print(table.markdown(merged) if options.markdown else table.text(merged), end="")


if __name__ == "__main__":
    main()
