#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cuda_standins.py SITE_PACKAGES FOLDER: lets a CUDA build of torch be imported where there is no GPU.

The torch of PyPI is linked with CUDA libraries that come in packages of 2.4 GB. Without a GPU none of their functions
is ever called, but the dynamic linker wants the files. This makes one small library for each that is missing, with the
names that torch asks for; each function answers 1, an error in all of these interfaces. Nothing that runs on the CPU
passes through them.
"""

import collections
import pathlib
import re
import subprocess
import sys


def readelf(option, path):
    return subprocess.run(["readelf", "-W", option, str(path)], check=True, capture_output=True, text=True).stdout


def needed(path):
    return re.findall(r"\(NEEDED\).*\[(.+)\]", readelf("-d", path))


def is_cuda(library):
    return re.match(r"lib(cu(blas|dart|dnn|fft|file|pti|solver|sparse)|nccl|nvrtc|nvshmem)", library) is not None


def version_files(path):
    """The library that each symbol version comes from: {"libcublas.so.13": "libcublas.so.13", "NVSHMEM": ...}."""
    files = {}
    source = None
    for kind, name in re.findall(r"(File|Name): (\S+)", readelf("-V", path)):
        if kind == "File":
            source = name
        else:
            files[name] = source
    return files


def wanted_symbols(path, missing):
    """Yields (library, version or "", symbol) for what the file wants from the missing libraries."""
    files = version_files(path)
    for name in re.findall(r" UND (\S+)", readelf("--dyn-syms", path)):
        symbol, _, version = name.partition("@")
        if version:
            if files.get(version) in missing:
                yield files[version], version, symbol
            continue
        for library in missing:
            stem = re.match(r"lib([A-Za-z]+)", library).group(1)
            if symbol.startswith(stem):
                yield library, "", symbol
                break


def write_library(folder, library, symbols):
    lines = [f"int {name}(void) {{ return 1; }}" for name in sorted({symbol for _, symbol in symbols})]
    versions = collections.defaultdict(set)
    for version, symbol in symbols:
        versions[version].add(symbol)
    unversioned = versions.pop("", set())
    command = ["cc", "-shared", "-fPIC", "-nostdlib", f"-Wl,-soname,{library}", "-o", str(folder / library)]
    if versions:
        script = folder / f"{library}.map"
        names = {version: "; ".join(sorted(symbols | unversioned)) for version, symbols in versions.items()}
        script.write_text("".join(f"{version} {{ global: {names[version]}; }};\n" for version in names))
        command.append(f"-Wl,--version-script={script}")
    source = folder / f"{library}.c"
    source.write_text("\n".join(lines) + "\n")
    subprocess.run([*command, "-w", str(source)], check=True)


def main():
    site, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    binaries = sorted(site.glob("torch/lib/*.so*"))
    # What the system may have is another version: only what came with this torch counts.
    present = {path.name for path in site.glob("nvidia/**/*.so*")}
    missing = sorted({name for path in binaries for name in needed(path) if is_cuda(name)} - present)
    # Longer names first, so that cusparseLt... is not taken for cusparse...
    missing.sort(key=len, reverse=True)
    symbols = collections.defaultdict(set)
    for path in binaries:
        for library, version, symbol in wanted_symbols(path, missing):
            symbols[library].add((version, symbol))
    for library in missing:
        write_library(folder, library, symbols[library])
    print(" ".join(missing) if missing else "none")


main()
