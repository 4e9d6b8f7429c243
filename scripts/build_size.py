#!/usr/bin/env python3
"""How long the extension modules take to build from nothing, and how large each is.

It reports and judges nothing. The modules are built in a copy of the sources; those in place stay
as they are. The processor's time is that of all cores together.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
SOURCES = ("setup.py", "pyproject.toml", "README.md", "LICENSE", "spec", "src")
BUILT = shutil.ignore_patterns("__pycache__", "*.so", "*.pyd", "*.c", "*.egg-info")


def build(folder: Path) -> tuple[float, float, list[Path]]:
    """Seconds by the clock and of the processor, and the modules."""
    for name in SOURCES:
        source = REPO / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=BUILT)
        else:
            shutil.copy(source, folder / name)
    start = time.perf_counter()
    command = ["setup.py", "--quiet", "build_ext", "--build-lib", "lib"]
    command += ["--parallel", str(os.cpu_count() or 1)]
    subprocess.run([sys.executable, *command], cwd=folder, check=True)
    spent = time.perf_counter() - start
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    paths = (folder / "lib" / "amqpcodec").glob("_*.*")
    modules = sorted(path for path in paths if path.suffix in (".so", ".pyd"))
    return spent, used.ru_utime + used.ru_stime, modules


def stripped(module: Path) -> int:
    """Bytes without symbols and debug information."""
    if not shutil.which("strip"):
        return module.stat().st_size
    small = module.with_suffix(".stripped")
    shutil.copy(module, small)
    subprocess.run(["strip", str(small)], check=True)
    return small.stat().st_size


def main() -> None:
    """Build, and say what came of it."""
    with tempfile.TemporaryDirectory(prefix="amqpcodec-build-") as name:
        clock, seconds, modules = build(Path(name))
        sizes = {path.name.split(".")[0]: stripped(path) for path in modules}
    for module, size in sizes.items():
        print(f"{module:14} {size / 1e6:6.2f} MB stripped")
    print(f"{'together':14} {sum(sizes.values()) / 1e6:6.2f} MB stripped")
    print(
        f"built in {clock:.0f} s by the clock, {seconds:.0f} s of the processor "
        f"({os.cpu_count()} cores, load {os.getloadavg()[0]:.1f})"
    )


if __name__ == "__main__":
    main()
