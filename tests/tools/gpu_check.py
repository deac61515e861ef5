# SPDX-License-Identifier: Apache-2.0
"""gpu_check.py arguments SCRIPT | flow SCRIPT BUILD_DIR: scripts/gpu-check without a GPU.

flow: a folder of the programs for the emulator, and a stand-in for nvidia-smi, take the place of a GPU's."""
import json
import os
import pathlib
import re
import sys
import tempfile
import unittest.mock

from support import expect, run

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "bench" / "gpu")]
from check import machine, parts, runner  # noqa: E402

SMI = "#!/bin/sh\necho 'Emulated GPU, 1.2.3, 9.0, 1024, 1000'\n"
PARTS = ("bad_weights", "refusals", "streams", "kernels", "large", "examples", "bench", "sanitizer")
STEPS = ["bad_weights", "refusals", "streams", "kernels.count", "large.count", "large.scale", "examples.sgd", "examples.premulsum",
         "bench", "sanitizer.memcheck.bench", "sanitizer.synccheck.bench"]
EMULATOR_ALONE = {"choice", "dead_stream", "failing_calls", "free"}  # what only an emulator can be made to do
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
    (folder / "tests" / "data").mkdir(parents=True)
    (folder / "tests" / "data" / "contract.jsonl").symlink_to(ROOT / "tests" / "data" / "contract.jsonl")
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


GPU = {"name": "A GPU", "driver": "1", "compute_capability": "9.0", "memory_mib": "1", "free_mib": "1"}
MACHINES = (  # what Plan asks a machine for: a bare one, and two that have everything
    {"nccl": None, "torch_python": None, "mpiexec": (None, "no mpiexec is here"), "sanitizer": None},
    {"nccl": "", "torch_python": "/usr/bin/python3", "mpiexec": ("/usr/bin/mpiexec", "openmpi"), "sanitizer": "/bin/compute-sanitizer"},
    {"nccl": "/lib", "torch_python": "/usr/bin/python3", "mpiexec": ("/usr/bin/mpiexec", "mpich"), "sanitizer": "/bin/compute-sanitizer"},
)


def steps_on(found, folder, suffix, gpus, quick):
    with unittest.mock.patch.multiple(machine, **{name: unittest.mock.Mock(return_value=value) for name, value in found.items()}):
        plan = parts.Plan(folder, {"suffix": suffix}, folder / "out", [GPU] * gpus, quick)
        plan.environment()
        return plan.steps(parts.PARTS)


def check_steps(steps):
    """What holds on every machine."""
    names = [step.name for step in steps]
    expect(len(set(names)) == len(names), f"a name is used twice: {names}")
    expect([part for part in parts.PARTS if part not in {step.part for step in steps}] == [], f"a part has no step: {names}")
    order = [parts.PARTS.index(step.part) for step in steps]
    expect(order == sorted(order), f"steps are not in the order of PARTS: {names}")
    expect(order[-2:] == [parts.PARTS.index("bench"), parts.PARTS.index("peers")], "speed does not come last")
    for step in steps:
        words = [str(word) for word in [step.command[0], *step.command[1:], *step.environment, *step.environment.values()]]
        expect(all(words) and "None" not in words, f"{step.name}: {words}")
        one = step.environment.get("CUDA_VISIBLE_DEVICES") or step.environment.get("CUDA_EMULATOR_DEVICES")
        expect(step.part != "mpi" or (one is not None and "," not in one), f"{step.name}: {step.environment}")


def every_part(folder):
    """Each part is made once for each machine; and each program is somewhere in them."""
    for found in MACHINES:
        for suffix, gpus, quick in (("gpu", 1, False), ("gpu", 2, True), ("emulated", 1, False)):
            check_steps(steps_on(found, folder, suffix, gpus, quick))
    for bare in steps_on(MACHINES[0], folder, "gpu", 1, False):
        needs = bare.part in ("mpi", "sanitizer", "peers", "lent", "examples") or "nccl" in bare.name
        expect(bool(bare.skip) == needs, f"{bare.name} on a bare machine: skipped for {bare.skip!r}")
    used = {str(word) for found in MACHINES[1:] for step in steps_on(found, folder, "emulated", 2, False) for word in step.command}
    for path in folder.glob("bin/cuda_*_emulated"):
        known = f"bin/{path.name}" in used or str(path) in used or path.name[len("cuda_"):-len("_emulated")] in EMULATOR_ALONE
        expect(known, f"no step runs {path.name}")


def outcome(folder, seconds, **step):
    running = runner.Runner(folder, folder / "out", seconds, {})
    running.run([runner.Step("a.step", ["/bin/sh", "-c", step.pop("script")], **step)])
    return running.records[0]["status"]


def over_time(folder):
    """What runs out of its own time has failed; what the run had no time for was left out."""
    expect(outcome(folder, 60, script="sleep 20", limit_s=0.3) == "failed", "a step without an end did not fail")
    expect(outcome(folder, 3.3, script="sleep 20", limit_s=60) == runner.LEFT_OUT, "a step that was cut off was not left out")
    expect(outcome(folder, 1, script="true", limit_s=60) == runner.LEFT_OUT, "a step was begun without time")
    step = runner.Step("sanitizer.x", [], 1, judge=parts._judge_sanitizer)
    expect(runner.judged(step, None, "")[0] == "failed", "a sanitizer without an end did not fail")
    found = "========= Error: Race reported"
    expect(outcome(folder, 3.3, script=f"echo '{found}'; sleep 20", limit_s=60, judge=parts._judge_sanitizer) == "failed",
           "what a sanitizer found was lost because there was no time for the rest")


def incomplete(script, folder, environment):
    """Not a success, and the last line says what is missing."""
    out = folder / "short"
    done = run([script, "--from", folder, "--out", out, "--seconds", "1", "--only", "refusals", "--only", "bench"], 3, env=environment)
    last = "0 passed, 0 failed, 0 skipped; INCOMPLETE, no time was left for refusals, bench"
    expect(done.stdout.splitlines()[-1] == last, f"the last line is {done.stdout.splitlines()[-1]}, not {last}")


def flow(script, build):
    build = pathlib.Path(build)
    with tempfile.TemporaryDirectory() as name:
        folder, out = pathlib.Path(name, "folder"), pathlib.Path(name, "out")
        folder.mkdir()
        emulated(folder, build)
        tools = pathlib.Path(name, "tools")
        tools.mkdir()
        environment = with_tools(tools, nvidia_smi=SMI, compute_sanitizer=SANITIZER)
        every_part(folder)
        over_time(folder)
        incomplete(script, folder, environment)
        only = [word for part in PARTS for word in ("--only", part)]
        done = run([script, "--from", folder, "--out", out, "--quick", *only], 1, env=environment)
        merged = check_results(out, done.stdout)
        failed = [record["name"] for record in merged["steps"] if record["status"] == "failed"]
        expect(failed == ["sanitizer.racecheck.bench"], f"failed: {failed}\n{done.stdout}")
        markdown = run([script, "--report", out]).stdout
        expect(re.search(r"^\| G10 .*\|$", markdown, re.M), f"the report lacks G10:\n{markdown}")


if __name__ == "__main__":
    {"arguments": arguments, "flow": flow}[sys.argv[1]](*sys.argv[2:])
