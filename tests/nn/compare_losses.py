"""Runs a training program and holds the loss of every step to PyTorch's, recorded by tools/torch_losses.py.

    compare_losses.py TOLERANCE RECORDED PROGRAM [ARGUMENT...]      TOLERANCE: of a loss, relative to the first one

Prints a table. A program may stop before the recording ends. Exit code 77: BARETILE_DEVICE is ttsim, and TTSIM is not set.
"""
import os
import re
import subprocess
import sys
from pathlib import Path


def losses(text):
    return [float(x) for x in re.findall(r"^step \d+: loss (\S+)$", text, flags=re.M)]


if os.environ.get("BARETILE_DEVICE") == "ttsim" and not os.environ.get("TTSIM"):
    print("skipped: TTSIM is not set")
    sys.exit(77)
tolerance, recorded, *command = sys.argv[1:]
run = subprocess.run(command, stdout=subprocess.PIPE, text=True)
ours, theirs = losses(run.stdout), losses(Path(recorded).read_text())
print("| step | baretile | PyTorch | difference |\n|---|---|---|---|")
for step, (x, y) in enumerate(zip(ours, theirs)):
    print(f"| {step} | {x:.8f} | {y:.8f} | {x - y:+.1e} |")
if run.returncode != 0 or not ours or len(ours) > len(theirs):
    sys.exit(f"{command[0]} ended with {run.returncode} after {len(ours)} of {len(theirs)} steps")
far = max(abs(x - y) for x, y in zip(ours, theirs)) / theirs[0]
print(f"largest difference: {far:.1e} of the first loss, {float(tolerance):.1e} allowed")
sys.exit(far > float(tolerance))
