# SPDX-License-Identifier: Apache-2.0
"""The parts of a run, as steps. What is worth most comes first, what is right before what is fast: the time of the whole
run is limited."""
import os

from . import machine
from .runner import Step

PARTS = ("contract", "bad_weights", "gradients", "graph", "late_peer", "lent", "refusals", "replays", "streams", "kernels", "large", "examples",
         "mpi", "sanitizer", "bench", "peers")
EXAMPLES = ("sgd", "premulsum")
CASES = "tests/data/contract.jsonl"
SANITIZER_FOUND = 99  # our choice of exit code


class Plan:
    """A folder of programs, and what this machine has."""

    def __init__(self, folder, build, out, gpus, quick):
        self.folder, self.out, self.gpus, self.quick = folder, out, gpus, quick
        self.suffix = build["suffix"]
        self.nccl = "" if self.suffix == "emulated" else machine.nccl()

    def program(self, name):
        return f"bin/{name}_{self.suffix}"

    def choose(self, full, quick, emulated):
        return emulated if self.suffix == "emulated" else quick if self.quick else full

    def environment(self):
        """Several ranks of one process share a GPU here. Their kernels wait for each other: none may be loaded only when it
        is launched, which waits for the others, and each stream needs a queue of its own."""
        found = {"CUDA_MODULE_LOADING": "EAGER", "CUDA_DEVICE_MAX_CONNECTIONS": "32",
                 "TOKAVG_PLUGIN_PATH": str(self.folder / "lib")}
        if self.nccl:
            found["TOKAVG_NCCL_PATH"] = f"{self.nccl}/libnccl.so.2"
        return found

    def steps(self, parts):
        makers = (_contract, _programs, _kernels, _large, _examples, _mpi, _sanitizer, _bench, _peers)
        return [step for maker in makers for step in maker(self) if step.part in parts]


def _contract(plan):
    for way in ("self", "threads", "caller", "nccl", "nccl-own", "nccl-threads"):
        skip = "no libnccl.so.2 is here" if way.startswith("nccl") and plan.nccl is None else ""
        yield Step(f"contract.{way}", [plan.program("cuda_runner"), way, CASES], 60, skip=skip)


def _programs(plan):
    for name in ("bad_weights", "gradients", "graph", "late_peer", "lent", "refusals", "replays", "streams"):
        yield Step(name, [plan.program(f"cuda_{name}")], 60, skip=_no_lending(plan) if name == "lent" else "")


def _no_lending(plan):
    """NCCL has a rank a GPU, and one rank alone has nobody whom it could leave."""
    if plan.nccl is None:
        return "no libnccl.so.2 is here"
    return "it takes two GPUs, and one is here" if len(plan.gpus) < 2 and plan.suffix != "emulated" else ""


def _kernels(plan):
    """Each program of tests/cuda_kernels, whatever they are."""
    end = f"_{plan.suffix}"
    names = [path.name[len("cuda_kernels_"):-len(end)] for path in sorted(plan.folder.glob(f"bin/cuda_kernels_*{end}"))]
    for name in names or ["none"]:
        yield Step(f"kernels.{name}", [plan.program(f"cuda_kernels_{name}")], 100)


def _large(plan):
    limit = plan.choose([], ["--limit", 1 << 26], ["--limit", 20000])
    for what in ("count", "losses", "scale", "cross_entropy"):
        yield Step(f"large.{what}", [plan.program("cuda_large"), *limit, what], 60)


def _examples(plan):
    """Those that were built with the other programs."""
    for name in EXAMPLES:
        program = plan.program(f"cuda_example_{name}") if plan.suffix == "emulated" else f"bin/example_{name}"
        skip = "" if (plan.folder / program).exists() else "these programs were built without it"
        if name == "premulsum" and plan.nccl is None:
            skip = "no libnccl.so.2 is here"
        path = os.pathsep.join(filter(None, [plan.nccl, os.environ.get("LD_LIBRARY_PATH")]))
        environment = {"LD_LIBRARY_PATH": path} if path else {}
        yield Step(f"examples.{name}", [program], 60, environment, skip)


def _one_gpu(plan):
    """The first that this run may use, and for all processes."""
    first = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")[0] or "0"
    return {"CUDA_EMULATOR_DEVICES": "1"} if plan.suffix == "emulated" else {"CUDA_VISIBLE_DEVICES": first}


def _mpi(plan):
    """Two processes on one GPU, whose sums go over MPI."""
    path, flavour = machine.mpiexec()
    options = ["--oversubscribe", "--bind-to", "none"] if flavour == "openmpi" else ["-bind-to", "none"]
    environment = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                   "OMPI_MCA_btl_vader_single_copy_mechanism": "none", **_one_gpu(plan)}
    for name, program, arguments in (("bridge", "cuda_mpi_runner", ["bridge", CASES]),
                                     ("late_peer", "cuda_mpi_late_peer", ["bridge"])):
        program = plan.program(f"{program}_{flavour}") if path else ""
        skip = "" if path else flavour
        if path and not (plan.folder / program).exists():
            skip = f"these programs were built without {flavour}"
        elif path and (missing := machine.missing_libraries(plan.folder / program)):
            skip = f"{flavour} of this machine is another one: {', '.join(missing)} is not here"
        yield Step(f"mpi.{name}", [path or "mpiexec", *options, "-n", 2, plan.folder / program, *arguments], 60, environment, skip)


def _judge_sanitizer(code, output):
    if "Device not supported" in output:
        return "skipped", "compute-sanitizer does not support this device here"
    found = code == SANITIZER_FOUND or "========= Invalid" in output or "========= Error" in output
    if found:
        return "failed", "errors were reported"
    if code is None:
        return "failed", "its time was over; nothing was reported until then"
    return ("passed", "") if code == 0 else ("failed", f"exit code {code}")


def _sanitizer(plan):
    tool = machine.sanitizer()
    skip = "" if tool else "compute-sanitizer is not here"
    bench, tiny = plan.program("tokavg_bench"), ["--tiny", "count", "cross_entropy", "loss", "scale"]
    # Kernels that wait for another rank must not be held up one by one, so one rank alone.
    programs = {"memcheck": {"bench": [bench, *tiny], "streams": [plan.program("cuda_streams")],
                             "contract": [plan.program("cuda_runner"), "self", CASES]},
                "racecheck": {"bench": [bench, *tiny]},
                "synccheck": {"bench": [bench, *tiny]}}
    if plan.quick:
        programs = {check: {"bench": [bench, *tiny]} for check in programs}
    for check, commands in programs.items():
        options = ["--tool", check, "--target-processes", "all", "--report-api-errors", "no",
                   "--error-exitcode", SANITIZER_FOUND]
        for name, (program, *arguments) in commands.items():
            yield Step(f"sanitizer.{check}.{name}",
                       [tool or "compute-sanitizer", *options, plan.folder / program, *arguments], 60, skip=skip,
                       judge=_judge_sanitizer)


def _bench(plan):
    options = plan.choose([], ["--quick"], ["--tiny"])
    yield Step("bench", [plan.program("tokavg_bench"), *options, "--json", plan.out / "bench.json"], 120)


def _peers(plan):
    python = machine.torch_python()
    skip = "a quick run has no peers" if plan.quick else "" if python else "no python3 here has torch"
    script = plan.folder / "bench/gpu/peers.py"
    command = [python or "python3", "-B", script, "--library", plan.folder / "lib/libtokavg.so.1", "--json", plan.out / "peers.json"]
    yield Step("peers", command, 120, skip=skip)
