"""Do the archives hold what they should, and nothing else?

    python scripts/dist_check.py [--tag TAG] FILE...        sdists (.tar.gz) and wheels (.whl)

A build passes also without a file that only users miss: a stub, py.typed, a header that
happened to lie around. One line a fault; exit status 1 if there is any.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

#: Tracked by git, and of no use to who has the archive only.
NOT_IN_SDIST = (".ci/*", ".github/*", ".gitignore", ".pre-commit-config.yaml")
#: What setuptools adds to an sdist.
ADDED_TO_SDIST = ("PKG-INFO", "setup.cfg", "src/amqpcodec.egg-info/*")
#: Of the package's files, those that a wheel is made from but does not hold.
ONLY_SOURCE = ("*.pyx", "*.pxd", "*.pxi", "*.h", "*.c", "*/_core/*", "*/README.md")
#: What the build adds to the package's files, besides compiled modules.
BUILT_STUBS = {"amqpcodec/v0_8.pyi", "amqpcodec/v0_9.pyi"}


def repository() -> set[str]:
    """The files of the repository that belong to its distribution."""
    process = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    names = {
        name for name in process.stdout.decode().split("\0") if (ROOT / name).is_file() and name
    }
    return {name for name in names if not fits(name, NOT_IN_SDIST)}


def fits(name: str, patterns: tuple[str, ...]) -> bool:
    """Does a path fit one of the patterns? ``*`` stands for slashes too."""
    return any(fnmatch(name, pattern) for pattern in patterns)


def sdist_faults(names: set[str], repository_files: set[str]) -> Iterator[str]:
    """names: the files of an sdist, without its folder. wanted: those of the repository."""
    yield from (f"{name} is missing" for name in sorted(repository_files - names))
    extra = {name for name in names - repository_files if not fits(name, ADDED_TO_SDIST)}
    yield from (f"{name} does not belong there" for name in sorted(extra))


def wheel_faults(names: set[str], repository_files: set[str]) -> Iterator[str]:
    """names: the files of a wheel. wanted: those of the repository."""
    package = {name[4:] for name in repository_files if name.startswith("src/")}
    package = {name for name in package if not fits(name, ONLY_SOURCE)} | BUILT_STUBS
    contents = {name for name in names if ".dist-info/" not in name}
    core = {name for name in contents if re.fullmatch(r"amqpcodec/_\w+\.[^/]*(so|pyd)", name)}
    roots = sorted(
        name[4:-4] for name in repository_files if re.fullmatch(r"src/amqpcodec/_\w+\.pyx", name)
    )
    for root in roots:
        compiled = sorted(name for name in core if name.startswith(f"{root}."))
        if len(compiled) != 1:
            yield f"one compiled {root} is expected, not {compiled}"
    yield from (f"{name} is missing" for name in sorted(package - contents))
    yield from (f"{name} does not belong there" for name in sorted(contents - package - core))
    for name in ("LICENSE", "METADATA", "entry_points.txt"):
        if not any(re.search(rf"\.dist-info/(licenses/)?{name}$", path) for path in names):
            yield f"{name} is missing"


def debug_faults(path: Path) -> Iterator[str]:
    """Compiled modules of a wheel that hold debug symbols; ELF, which Linux has, alone shows it."""
    with zipfile.ZipFile(path) as archive:
        for name in sorted(archive.namelist()):
            if name.endswith(".so") and b"\0.debug_info\0" in archive.read(name):
                yield f"{name} holds debug symbols"


def members(path: Path) -> tuple[set[str], str]:
    """The files of an archive (an sdist's without its folder), and its version."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as archive:
            return set(archive.namelist()), path.name.split("-")[1]
    with tarfile.open(path) as archive:
        names = {member.name.partition("/")[2] for member in archive if member.isfile()}
    return names, path.name.removesuffix(".tar.gz").rpartition("-")[2]


def main(arguments: list[str] | None = None) -> int:
    """Look into every archive named."""
    parser = argparse.ArgumentParser(description="Look into sdists and wheels.")
    parser.add_argument("--tag", help="the tag to be released: v and the version")
    parser.add_argument("files", metavar="FILE", nargs="+", type=Path)
    options = parser.parse_args(arguments)
    repository_files = repository()
    count = 0
    for path in options.files:
        names, version = members(path)
        faults = wheel_faults if path.suffix == ".whl" else sdist_faults
        messages = list(faults(names, repository_files))
        if path.suffix == ".whl":
            messages += debug_faults(path)
        if options.tag is not None and options.tag != f"v{version}":
            messages.append(f"its version is {version}, and the tag {options.tag}")
        for fault in messages:
            print(f"{path.name}: {fault}", file=sys.stderr)
        print(f"{path.name}: {len(names)} files, {len(messages) or 'no'} faults")
        count += len(messages)
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
