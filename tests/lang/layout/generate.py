#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""generate.py LAYOUT_JSON: the C source of lang_layout, which knows the header's structs as the C compiler sees them."""
import json
import sys

layout = json.load(open(sys.argv[1]))
print("#include <stddef.h>\n#include <stdint.h>\n#include <string.h>\n#include <tokavg/tokavg.h>\n#include <tokavg/transport_plugin.h>\n")
print("int64_t lang_layout(const char *what);\n")
print("/* \"tokavg_array_t\": its size; \"tokavg_array_t.data\": an offset; anything else: -1. */")
print("int64_t lang_layout(const char *what) {")
for struct, facts in layout["structs"].items():
    print(f'  if (strcmp(what, "{struct}") == 0) return (int64_t)sizeof({struct});')
    for field in facts["fields"]:
        print(f'  if (strcmp(what, "{struct}.{field}") == 0) return (int64_t)offsetof({struct}, {field});')
print("  return -1;\n}")
