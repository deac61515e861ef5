# SPDX-License-Identifier: Apache-2.0
"""Builds everything that a run needs into one folder."""
import json
import subprocess

MOST_MIB = 64  # what some ways to another machine carry
OPTIONS = ("-DCMAKE_BUILD_TYPE=Release", "-DTOKAVG_BUILD_GPU_CHECK=ON", "-DTOKAVG_BUILD_TESTS=ON", "-DTOKAVG_CUDA=ON",
           "-DTOKAVG_NCCL=ON", "-DTOKAVG_BUILD_TOOLS=OFF", "-DTOKAVG_BUILD_EXAMPLES=ON")


def build(root, folder, jobs):
    """Returns the folder of the run."""
    subprocess.run(["cmake", "-S", root, "-B", folder, *OPTIONS], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", folder, "--target", "gpu_check", *(["-j", jobs] if jobs else [])], check=True)
    made = folder / "gpu-check"
    facts = json.loads((made / "build.json").read_text())
    facts["revision"] = revision(root)
    (made / "build.json").write_text(json.dumps(facts, indent=1) + "\n")
    mib = sum(path.stat().st_size for path in made.rglob("*") if path.is_file() and not path.is_symlink()) / 2**20
    print(f"gpu-check: {made}: {mib:.0f} MiB")
    if mib > MOST_MIB:
        raise SystemExit(f"gpu-check: more than {MOST_MIB} MiB: fewer CMAKE_CUDA_ARCHITECTURES make it smaller")
    return made


def revision(root):
    done = subprocess.run(["git", "-C", str(root), "describe", "--always", "--dirty"], capture_output=True, text=True)
    return done.stdout.strip() or "unknown"
