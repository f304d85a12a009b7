#!/usr/bin/env python3
"""What a whole process costs: wall time, CPU time with the compilers it spawns, and peak memory, with an empty and with a filled kernel cache.

    bench/start.py build/release/bin [MODEL.gguf]      in-tree simulator; with TTSIM set, ttsim too
"""
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time


def measure(label, command, env):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    peak = 0
    while process.poll() is None:
        try:
            with open(f"/proc/{process.pid}/status") as status:
                peak = max([peak] + [int(l.split()[1]) for l in status if l.startswith("VmHWM")])
        except OSError:
            pass
        time.sleep(0.005)
    wall = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    last = process.stdout.read().strip().splitlines()[-1:]
    print(f"{label:44}{wall:8.2f} s wall{cpu:8.2f} s CPU{peak // 1024:7} MiB   {last[0][:70] if last else ''}", flush=True)
    if process.returncode:
        sys.exit(f"{' '.join(command)} failed")


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    folder, model = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None
    for device in ["sim"] + (["ttsim"] if os.environ.get("TTSIM") else []):
        cache = tempfile.mkdtemp(prefix="baretile-bench-")
        env = dict(os.environ, BARETILE_DEVICE=device, BARETILE_CACHE_DIR=cache)
        commands = [("hello", [f"{folder}/baretile", "hello"]), ("relu(x @ w)", [f"{folder}/bench_relu"])]
        if model:
            commands.append(("generate -n 2", [f"{folder}/baretile", "generate", model, "Hi", "--raw", "-n", "2"]))
        for name, command in commands:
            for state in ("cold cache", "warm cache"):
                measure(f"{device}: {name}, {state}", command, env)
        shutil.rmtree(cache)


if __name__ == "__main__":
    main()
