#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""installed.py BUILD SOURCE FLAVOUR MPIFORT MPIEXEC LAUNCH RANKS: the example against an installed tokavg, twice.

By pkg-config with mpifort, and by find_package. Nothing of the build tree is named but to install from it.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

PROJECT = """cmake_minimum_required(VERSION 3.25)
project(trainer LANGUAGES C Fortran)
find_package(tokavg REQUIRED)
add_executable(trainer {sources})
target_link_libraries(trainer PRIVATE tokavg::fortran_{flavour})
"""


def run(*command, **options):
    print("+", " ".join(map(str, command)), flush=True)
    return subprocess.run([str(word) for word in command], check=True, **options)


def main():
    build, source, flavour, mpifort, mpiexec, launch, ranks = sys.argv[1:]
    sources = [f"{source}/examples/fortran/{name}.f90" for name in ("check", "pre_scaling")]
    with tempfile.TemporaryDirectory() as folder:
        prefix = pathlib.Path(folder, "prefix")
        run("cmake", "--install", build, "--prefix", prefix, stdout=subprocess.DEVNULL)
        config = next(prefix.glob("**/tokavg_fortran.pc")).parent
        environment = dict(os.environ, PKG_CONFIG_PATH=str(config), LD_LIBRARY_PATH=str(config.parent))
        flags = run("pkg-config", "--cflags", "--libs", f"tokavg_fortran_{flavour}", env=environment, text=True,
                    capture_output=True).stdout.split()
        assert not any(flag.startswith(f"-I{build}") or flag.startswith(f"-L{build}") for flag in flags), flags
        run(mpifort, *sources, *flags, "-o", "by_pkg_config", cwd=folder)
        run(launch, flavour, mpiexec, ranks, 60, f"{folder}/by_pkg_config", env=environment)

        project = pathlib.Path(folder, "project")
        project.mkdir()
        (project / "CMakeLists.txt").write_text(PROJECT.format(sources=" ".join(sources), flavour=flavour))
        run("cmake", "-B", "build", f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_Fortran_COMPILER={mpifort}", cwd=project,
            stdout=subprocess.DEVNULL)
        run("cmake", "--build", "build", cwd=project, stdout=subprocess.DEVNULL)
        run(launch, flavour, mpiexec, ranks, 60, project / "build/trainer", env=environment)

        # Another compiler builds the modules anew from the installed sources.
        shared = prefix / "share/tokavg/fortran"
        order = ["types", "c", "errors", "arrays", "label_sets", "handles", "steps", "results", "losses",
                 "cross_entropies", "scaling", "contexts"]
        modules = [shared / f"tokavg_{name}.f90" for name in order] + [shared / "tokavg.f90", shared / "tokavg_mpi.f90"]
        run(mpifort, *modules, *sources, f"-L{config.parent}", "-ltokavg", "-o", "from_source", cwd=folder)
        run(launch, flavour, mpiexec, ranks, 60, f"{folder}/from_source", env=environment)


main()
