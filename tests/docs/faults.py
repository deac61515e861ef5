# SPDX-License-Identifier: Apache-2.0
"""docs/faults.md against the tests: every case that it names exists, and every case of tests/faults is named."""
import functools
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests"
CASE = re.compile(r'\bFAULT(?:_OF)?\(\s*"([^"]+)"')


def source(text):
    """A report without links, quotes and remarks: repository#number, or repository:place for what was read."""
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"\s*\(.*?\)", "", text).replace("`", "").strip()
    return text.replace(" ", ":").split("/")[-1]


def rows(page):
    """Each line of the tables: its reports and the cases that show it."""
    for number, line in enumerate(page.splitlines(), 1):
        if not line.startswith("| ") or line.startswith("| report |"):
            continue
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if len(cells) != 4 or not all(cells):
            yield number, None, None
            continue
        yield number, {source(report) for report in cells[0].split(", ")}, re.findall(r"`([^`]+): ([^`]+)`", cells[3])


@functools.cache
def cases_of(path):
    """The cases of a file, each with the reports that it is called after; None where names are only words in it."""
    if path.suffix == ".jsonl":
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        return {case["id"]: {source(origin) for origin in case["origin"].split(", ")} for case in lines}
    if path.parent == TESTS / "faults":
        return {name: {source(name)} for name in CASE.findall(path.read_text())}
    return None


def faults_of_row(reports, tests, named):
    if not tests:
        yield "names no test"
    own = set()
    for file, case in tests:
        path = TESTS / file
        if not path.is_file():
            yield f"tests/{file} does not exist"
            continue
        cases = cases_of(path)
        if cases is None:
            own |= reports  # a test of a whole part, not of one report
            if not re.search(rf"\b{re.escape(case)}\b", path.read_text()):
                yield f"tests/{file} has no {case}"
        elif case not in cases:
            yield f"tests/{file} has no case {case}"
        else:
            own |= cases[case]
            named.add((file, case))
    if tests and not own & reports:
        yield f"none of its cases is called after {', '.join(sorted(reports))}"


def check(page):
    """What is wrong, line by line."""
    named = set()
    n_rows = 0
    for number, reports, tests in rows(page):
        n_rows += 1
        if reports is None:
            yield f"line {number}: not four cells"
            continue
        for fault in faults_of_row(reports, tests, named):
            yield f"line {number}: {fault}"
    if n_rows == 0:
        yield "no table"
    for path in [*sorted((TESTS / "faults").glob("*.c")), TESTS / "data" / "faults.jsonl"]:
        for case in cases_of(path):
            if (str(path.relative_to(TESTS)), case) not in named:
                yield f"{path.relative_to(ROOT)}: no line names the case {case}"


def self_test():
    """Each kind of fault is found in a page that has it."""
    page = (ROOT / "docs" / "faults.md").read_text()
    shown = "`faults/cost.c: trl#3538`"
    broken = {"has no case": page.replace(shown, "`faults/cost.c: trl#1`"),
              "does not exist": page.replace(shown, "`faults/coast.c: trl#3538`"),
              "no line names": page.replace(shown, "`data/contract.jsonl: random-1`"),
              "is called after": page.replace("| trl#3538, ", "| "),
              "names no test": page.replace(shown, "nothing"),
              "not four cells": page.replace(shown, ""),
              "has no one_after": page.replace("nccl/sums.cpp: one_after_the_other", "nccl/sums.cpp: one_after")}
    for words, text in broken.items():
        if not any(words in fault for fault in check(text)):
            yield f"self-test: '{words}' was not found"


def main():
    faults = [*check((ROOT / "docs" / "faults.md").read_text()), *self_test()]
    for fault in faults:
        print(f"docs/faults.md: {fault}")
    print(f"docs/faults.md: {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
