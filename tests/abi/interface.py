#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""interface.py FOLDER: the C source of a library that has every function which the headers in FOLDER declare, and none of their code.

It serves two ends: a program is linked to the interface of a frozen version, and abidiff compares the debug information of
two versions without the library's own types. tokavg_transport_open stands for the plugins, whose types no other function has.
"""
import importlib.machinery
import importlib.util
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def abi_layout():
    """scripts/abi-layout knows how to read the headers."""
    loader = importlib.machinery.SourceFileLoader("abi_layout", str(ROOT / "scripts" / "abi-layout"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("abi_layout", loader))
    loader.exec_module(module)
    return module


def main():
    abi = abi_layout()
    headers = abi.read_headers(pathlib.Path(sys.argv[1]))
    functions, types = abi.functions_and_types(headers)
    functions["tokavg_transport_open"] = types["tokavg_transport_open_t"].replace("(*)", "")
    for header in headers:
        print(f"#include <tokavg/{header}>")
    for name, signature in functions.items():
        result, parameters = re.fullmatch(r"(.*?)\s*\((.*)\)", signature).groups()
        print(f"\nTOKAVG_API {result} {name}({parameters}) {{ {'' if result == 'void' else 'return 0; '}}}")


if __name__ == "__main__":
    main()
