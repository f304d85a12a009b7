"""What pip calls to make the wheel (PEP 517): the two libraries, built with CMake, beside the Python files.

    pip install .
    pip install . --config-settings build-dir=build/release    takes that build instead of making one in build/python
"""

import base64
import hashlib
import os
import re
import subprocess
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TAG = "py3-none-linux_x86_64"


def _version():
    return re.search(r"project\(baretile VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]


def _metadata():
    return (
        f"Metadata-Version: 2.1\nName: baretile\nVersion: {_version()}\nLicense: Apache-2.0\nRequires-Python: >=3.9\n"
        "Summary: Tensors on Tenstorrent Blackhole\nProvides-Extra: numpy\nRequires-Dist: numpy; extra == 'numpy'\n"
    )


def _libraries(config):
    build = Path((config or {}).get("build-dir", ROOT / "build" / "python")).absolute()
    if not (build / "CMakeCache.txt").exists():
        options = ["-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DBARETILE_TESTS=OFF"]
        subprocess.run(["cmake", "-S", ROOT, "-B", build, *options], check=True)
    subprocess.run(["cmake", "--build", build, "--target", "baretile", "baretile_sim"], check=True)
    return [build / "lib" / "libbaretile.so.0", build / "lib" / "libbaretile_sim.so"]


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    files = {f"baretile/{p.name}": p.read_bytes() for p in sorted((ROOT / "python" / "baretile").glob("*.py"))}
    files |= {f"baretile/lib/{p.name}": p.read_bytes() for p in _libraries(config_settings)}
    info = f"baretile-{_version()}.dist-info"
    files[f"{info}/METADATA"] = _metadata().encode()
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: baretile\nRoot-Is-Purelib: false\nTag: {TAG}\n".encode()
    files[f"{info}/LICENSE"] = (ROOT / "LICENSE").read_bytes()
    record = ""
    for name, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(data)}\n"
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    wheel = f"baretile-{_version()}-{TAG}.whl"
    with zipfile.ZipFile(os.path.join(wheel_directory, wheel), "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return wheel
