#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""struct_ends.py FOLDER: a C table of the structs of layout.json that may grow: the shortest that a caller may have, which is that of
the version that brought it (v*/layout.json), and where each field of today ends. FOLDER is tests/abi.
"""
import json
import pathlib
import re
import sys

FOLDER = pathlib.Path(sys.argv[1])


def version(path):
    return [int(part) for part in re.findall(r"\d+", path.parent.name)]


def main():
    today = json.loads((FOLDER / "layout.json").read_text())["structs"]
    shortest = {}
    for path in sorted(FOLDER.glob("v*/layout.json"), key=version):
        for name, struct in json.loads(path.read_text())["structs"].items():
            shortest.setdefault(name, struct["size"])
    print("/* Written by tests/abi/struct_ends.py. */\n#include <stdint.h>\n")
    most = max(len(struct["fields"]) for struct in today.values())
    print(f"typedef struct struct_ends {{\n  const char *name;\n  uint32_t shortest, size, n_ends, ends[{most}];\n}} struct_ends_t;\n")
    print("static const struct_ends_t all_struct_ends[] = {")
    for name, struct in today.items():
        ends = [field["offset"] + field["size"] for field in struct["fields"].values()]
        # tokavg_array_t is frozen: it lies in other structs.
        if name != "tokavg_array_t":
            print(f'    {{"{name}", {shortest.get(name, struct["size"])}, {struct["size"]}, {len(ends)}, {{{", ".join(map(str, ends))}}}}},')
    print("};")


if __name__ == "__main__":
    main()
