# SPDX-License-Identifier: Apache-2.0
"""gpu_check.py arguments SCRIPT | flow SCRIPT BUILD_DIR: scripts/gpu-check without a GPU.

flow: a folder of the programs for the emulator, and a stand-in for nvidia-smi, take the place of a GPU's."""
import json
import os
import pathlib
import re
import sys
import tempfile

from support import expect, run

SMI = "#!/bin/sh\necho 'Emulated GPU, 1.2.3, 9.0, 1024, 1000'\n"
PARTS = ("bad_weights", "refusals", "streams", "kernels", "large", "bench", "sanitizer")
STEPS = ["bad_weights", "refusals", "streams", "kernels.count", "large.count", "large.scale", "bench", "sanitizer.memcheck.bench",
         "sanitizer.synccheck.bench"]
SANITIZER = "#!/bin/sh\necho ran\ncase $2 in racecheck) exit 99;; esac\n"  # finds a race


def without_gpu(folder):
    """An environment in which no GPU is found, whatever this machine has."""
    return with_tools(folder, nvidia_smi="#!/bin/sh\nexit 0\n")


def with_tools(folder, **scripts):
    for name, script in scripts.items():
        path = pathlib.Path(folder, name.replace("_", "-"))
        path.write_text(script)
        path.chmod(0o755)
    return {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


def arguments(script):
    with tempfile.TemporaryDirectory() as folder:
        environment = without_gpu(folder)
        out = run([script, "--help"], env=environment).stdout
        for word in ("--build", "--from", "--out", "--quick", "--only", "--report"):
            expect(word in out, f"--help lacks {word}")
        done = run([script], 77, env=environment)
        expect("skipped: no GPU" in done.stdout and not done.stderr, f"without a GPU: {done.stdout}{done.stderr}")
        for wrong, words in ((["--from", folder], ["no folder made by gpu-check --build"]), (["--report", folder], ["results.json"]),
                             (["--from", folder, "--build", folder], ["exclude"]), (["--only", "nothing"], ["nothing", "contract"])):
            done = run([script, *wrong], 2, env=environment)
            expect(all(word in done.stderr for word in words), f"{wrong}: stderr is {done.stderr}")
        expect(os.listdir(folder) == ["nvidia-smi"], f"files were left behind: {os.listdir(folder)}")


def emulated(folder, build):
    """A folder like that of --build."""
    (folder / "bin").mkdir()
    programs = [build / "tests/cuda_kernels/cuda_kernels_count_emulated", build / "bench/gpu/emulated/tokavg_bench_emulated"]
    for path in [*build.glob("tests/cuda/cuda_*_emulated"), *programs]:
        (folder / "bin" / path.name).symlink_to(path)
    root = pathlib.Path(__file__).resolve().parent.parent.parent
    (folder / "tests" / "data").mkdir(parents=True)
    (folder / "tests" / "data" / "contract.jsonl").symlink_to(root / "tests" / "data" / "contract.jsonl")
    facts = {"suffix": "emulated", "revision": "abc", "compiler": "a compiler", "nvcc": "none", "architectures": "none"}
    (folder / "build.json").write_text(json.dumps(facts))


def check_results(out, stdout):
    merged = json.loads((out / "results.json").read_text())
    counts = merged["counts"]
    last = f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped"
    expect(stdout.splitlines()[-1] == last, f"the last line is {stdout.splitlines()[-1]}, not {last}")
    steps = {record["name"]: record for record in merged["steps"]}
    for name in STEPS:
        expect(name in steps, f"{name} is missing")
        expect(steps[name]["status"] == "passed" or steps[name]["reason"], f"{name}: {steps[name]}")
        expect(steps[name]["status"] == "skipped" or (out / "logs" / f"{name}.log").stat().st_size > 0, f"{name} has no log")
    expect(merged["gpus"][0]["name"] == "Emulated GPU" and merged["emulated"], f"the GPU is {merged['gpus']}")
    expect(all(("why" in row) == (row["value"] is None) for row in merged["goals"]), "a goal has neither data nor a reason")
    expect({row["goal"] for row in merged["goals"]} == {"G10", "G11"}, "not all goals are there")
    return merged


def flow(script, build):
    build = pathlib.Path(build)
    with tempfile.TemporaryDirectory() as name:
        folder, out = pathlib.Path(name, "folder"), pathlib.Path(name, "out")
        folder.mkdir()
        emulated(folder, build)
        tools = pathlib.Path(name, "tools")
        tools.mkdir()
        environment = with_tools(tools, nvidia_smi=SMI, compute_sanitizer=SANITIZER)
        only = [word for part in PARTS for word in ("--only", part)]
        done = run([script, "--from", folder, "--out", out, "--quick", *only], 1, env=environment)
        merged = check_results(out, done.stdout)
        failed = [record["name"] for record in merged["steps"] if record["status"] == "failed"]
        expect(failed == ["sanitizer.racecheck.bench"], f"failed: {failed}\n{done.stdout}")
        markdown = run([script, "--report", out]).stdout
        expect(re.search(r"^\| G10 .*\|$", markdown, re.M), f"the report lacks G10:\n{markdown}")


if __name__ == "__main__":
    {"arguments": arguments, "flow": flow}[sys.argv[1]](*sys.argv[2:])
