"""A build of the core that stops at the first wrong access, and may say which branches it took.

AddressSanitizer and UndefinedBehaviorSanitizer, with clang's coverage for libFuzzer or without it;
overflow of signed numbers is not allowed to wrap, and a writer's buffer can be accessed only where
bytes were reserved and stored. It lies in `.cache`, apart from the build in the
source folder.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from scripts import broker

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache" / "fuzz"
SANITIZED = ROOT / ".cache" / "sanitized"
SANITIZE = (
    "-g -fno-omit-frame-pointer -fno-wrapv -fsanitize=address,undefined"
    # Cython's own code calls functions through other types, and adds 0 to null pointers.
    " -fno-sanitize=function,pointer-overflow -fno-sanitize-recover=undefined"
)
COVERAGE = " -fsanitize=fuzzer-no-link"
SOURCES = ("*.pyx", "*.pxd", "_core/*/*", "_gen/*.h", "_gen/*.pxi", "_gen/*.pxd")


class MissingError(Exception):
    """Something that has to be installed first; the text says what."""


def compiler() -> str:
    """The newest clang there is."""
    names = ["clang", *(f"clang-{number}" for number in range(30, 12, -1))]
    path_of_clang = next((path for name in names if (path := shutil.which(name))), None)
    if path_of_clang is None:
        raise MissingError("clang is missing: install your system's package of that name")
    return path_of_clang


def has_runtime(clang: str) -> bool:
    """Whether it has the sanitizers' own code, which some systems have in another package."""
    command = [clang, "-shared", "-fPIC", "-x", "c", "-o", os.devnull, os.devnull]
    command += shlex.split(SANITIZE + COVERAGE)
    return subprocess.run(command, capture_output=True).returncode == 0


def checked_compiler() -> str:
    """The newest clang there is, with the sanitizers' code."""
    clang = compiler()
    if not has_runtime(clang):
        raise MissingError(
            f"{clang} has no code of the sanitizers: install {runtime_package(clang)} (Debian),"
            " or your system's package of compiler-rt"
        )
    return clang


def runtime_package(clang: str) -> str:
    """Debian's package of the sanitizers' code."""
    process = subprocess.run([clang, "-dumpversion"], capture_output=True, text=True, check=True)
    return f"libclang-rt-{process.stdout.split('.')[0].strip()}-dev"


def install() -> None:
    """Install Debian's clang, or the sanitizers' code of the clang that is there, as root."""
    try:
        checked_compiler()
    except MissingError:
        if shutil.which("apt-get") is None or os.geteuid() != 0:
            raise
    else:
        return
    apt("update")
    try:
        compiler()
    except MissingError:
        apt("install", "clang")
    clang = compiler()
    if not has_runtime(clang):
        apt("install", runtime_package(clang))
    checked_compiler()


def apt(command: str, *packages: str) -> None:
    """Run apt-get; what it prints is shown only where it fails."""
    options = ("-y", "--no-install-recommends") if packages else ()
    if packages:
        print(f"installing {' '.join(packages)} (Debian)", file=sys.stderr, flush=True)
    try:
        broker.apt(command, *options, *packages)
    except broker.BrokerError as error:
        raise MissingError(str(error)) from error


def newest_source() -> float:
    """When a source of the core last changed."""
    package = ROOT / "src" / "amqpcodec"
    return max(path.stat().st_mtime for pattern in SOURCES for path in package.glob(pattern))


def build(*, coverage: bool = True) -> Path:
    """Compile the core unless that was done since its last change; the folder with the modules."""
    cache = CACHE if coverage else SANITIZED
    library = cache / f"lib-{sys.version_info[0]}.{sys.version_info[1]}"
    folder = library / "amqpcodec"
    stamp = library / "built"
    if stamp.is_file() and stamp.stat().st_mtime >= newest_source():
        return folder
    clang = checked_compiler()
    print("building the instrumented core", file=sys.stderr, flush=True)
    environment = {
        **os.environ,
        "CC": clang,
        "LDSHARED": f"{clang} -shared",
        "CFLAGS": SANITIZE + (COVERAGE if coverage else ""),
        "AMQPCODEC_OPTIMIZE": "1",
        "AMQPCODEC_WERROR": "",
        # Bytes that no writer has reserved cannot be accessed: see _core/wire/promise.h.
        "AMQPCODEC_CHECKED_WRITES": "1",
    }
    command = [sys.executable, "setup.py", "--quiet", "build_ext"]
    command += ["--build-lib", str(library), "--build-temp", str(cache / "temp")]
    command += ["--parallel", str(os.cpu_count() or 1)]
    process = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    if process.returncode:
        raise MissingError(f"the instrumented core does not build:\n{process.stderr[-4000:]}")
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    assert list(folder.glob(f"_codec*{suffix}")), folder
    stamp.touch()
    return folder


def mutator() -> Path:
    """What libFuzzer finds as its mutator, compiled unless that was done since its last change."""
    source, library = Path(__file__).with_name("mutator.h"), CACHE / "mutator.so"
    if not library.is_file() or library.stat().st_mtime < source.stat().st_mtime:
        CACHE.mkdir(parents=True, exist_ok=True)
        command = [compiler(), "-shared", "-fPIC", "-O1", "-ldl", "-o", str(library), "-x", "c"]
        subprocess.run([*command, str(source)], check=True)
    return library


def runtime() -> Path:
    """The sanitizers' and libFuzzer's code, which has to be loaded before Python's."""
    try:
        import atheris
    except ImportError:
        raise MissingError(
            "atheris is missing: make fuzz installs it, where it has a wheel"
        ) from None
    return Path(atheris.path()) / "asan_with_fuzzer.so"


def environment(preload: str, largest: int = 0) -> dict[str, str]:
    """Of a process that runs the instrumented core, with the sanitizers' code loaded first.

    largest: MB of one allocation; one of more is refused, as where memory runs out. 0 for any.
    """
    return {
        **os.environ,
        "LD_PRELOAD": preload,
        # CPython frees little at its end, and a large request may fail as it does without us.
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:handle_segv=1"
        + (f":max_allocation_size_mb={largest}" if largest else ""),
        "UBSAN_OPTIONS": "print_stacktrace=1",
        # Every object gets an allocation of its own, with a red zone after it.
        "PYTHONMALLOC": "malloc",
        "ARROW_DEFAULT_MEMORY_POOL": "system",
        "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT))),
        "AMQPCODEC_DROPINS_RAISE": "1",
    }
