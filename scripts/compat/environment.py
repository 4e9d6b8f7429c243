"""The clients, pinned, in a virtual environment of their own, and their suites out of their sdists.

All of it lies below .cache/compat and is made once; nothing of it is committed. Another version of
a client than the pinned one is installed into a folder of its own, which comes before the
environment's packages on the path. Where an sdist has no tests, they come from the tag of the
client's repository that tests/dropins/versions.toml names; AMQPCODEC_REPOSITORIES may name a folder
with clones of the repositories, by the clients' names.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

from scripts.broker import REPO
from tests.dropins.versions import MATRIX, STACKS, fetch, folder, tag_of_tests

HOME = REPO / ".cache" / "compat"
PIP_SECONDS = 900

# The newest versions that the drop-ins know, and what stands on them.
CLIENTS = {
    **{client: versions[-1] for client, versions in MATRIX.items()},
    "kombu": "5.7.0",
    "aiormq": "7.2.4",
    "aio-pika": "10.2.1",
    "amqpstorm": "3.1.4",
}
# What the suites themselves import, and the limits of `run`. Not pinned: both halves of a
# comparison run with the same ones.
TOOLS = (
    "pytest>=9",
    "pytest-timeout",
    "pytest-rerunfailures",
    "pytest-freezer",
    "aiomisc-pytest>=2",
    "pytest-asyncio",
    "aiohttp",
    "websocket-client",
    "hypothesis",
    "msgpack",
    "pyyaml",
    "requests",
    "shortuuid",
    "timeout-decorator",
    "mock",
    "gevent",
    "tornado",
    "twisted",
    "setuptools",
)

# pytest and plugins that suites of 2022 run with: fixtures and `setup` as they were then.
OLD_TOOLS = (
    "pytest==7.4.4",
    "pluggy==1.6.0",
    "pytest-timeout==2.2.0",
    "pytest-rerunfailures==13.0",
    "pytest-freezer==0.4.8",
    "aiomisc==16.3.15",
)


class SetupError(Exception):
    """The environment cannot be made; the text says which step failed, and how."""


def call(*command: str | Path) -> None:
    """Run one step; its output is shown only when it fails."""
    words = [str(word) for word in command]
    process = subprocess.run(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=PIP_SECONDS,
    )
    if process.returncode:
        raise SetupError(f"{' '.join(words)} failed:\n{process.stdout[-3000:]}")


def requirements() -> list[str]:
    """What the environment holds, one requirement an entry."""
    return [f"{name}=={version}" for name, version in CLIENTS.items()] + list(TOOLS)


def python() -> Path:
    """The environment's interpreter; made on first use with the one that runs this."""
    folder = HOME / "venv"
    stamp = folder / "holds.txt"
    own = folder / "bin" / "python"
    contents = "\n".join([sys.version, *requirements()])
    if not (stamp.exists() and stamp.read_text() == contents and own.exists()):
        shutil.rmtree(folder, ignore_errors=True)
        call(sys.executable, "-m", "venv", folder)
        call(own, "-m", "pip", "install", "--quiet", *requirements())
        stamp.write_text(contents)
    return own


def _unpack_sdist(name: str, version: str, target: Path) -> None:
    fetched = HOME / "fetched" / name
    shutil.rmtree(fetched, ignore_errors=True)
    fetched.mkdir(parents=True)
    # no-binary for this one only: what builds its metadata may come as a wheel
    options = ("--quiet", "--no-deps", "--no-binary", name, "--dest", fetched)
    call(python(), "-m", "pip", "download", *options, f"{name}=={version}")
    [archive] = fetched.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        # As the library's manual has it for Pythons below 3.11.4, which know no filters.
        packed.extraction_filter = getattr(tarfile, "data_filter", lambda member, _: member)
        packed.extractall(fetched)
    [unpacked] = (path for path in fetched.iterdir() if path.is_dir())
    unpacked.rename(target)
    shutil.rmtree(fetched)


def _check_out(name: str, repository: str, tag: str, target: Path) -> None:
    clones = os.environ.get("AMQPCODEC_REPOSITORIES")
    address = (Path(clones).resolve() / name).as_uri() if clones else repository
    options = ("--quiet", "--depth", "1", "-c", "advice.detachedHead=false", "--branch", tag)
    partial = target.with_name(f".{target.name}.{os.getpid()}")
    shutil.rmtree(partial, ignore_errors=True)
    call("git", "clone", *options, address, partial)
    shutil.rmtree(partial / ".git")
    partial.rename(target)


def sources(name: str, version: str = "") -> Path:
    """The unpacked sources of one client with its tests; of the pinned version by default."""
    version = version or CLIENTS[name]
    target = HOME / "sources" / f"{name}-{version}"
    if not target.is_dir():
        target.parent.mkdir(parents=True, exist_ok=True)
        place = tag_of_tests(name, version)
        if place is None:
            _unpack_sdist(name, version, target)
        else:
            _check_out(name, *place, target)
    # The suite tests the installed package, which is the same; a copy in the current directory
    # would be a second one.
    for package in {name.replace("-", "_"), name.partition("-")[0]}:
        inside = target / package
        if inside.is_dir():
            inside.rename(target / f"{package}.not-imported")
    return target


def version_folder(client: str, version: str) -> Path:
    """Where a version of a client is installed; it is installed on first use.

    What stands on another client has that, and the tools of its time, in the same folder.
    """
    if client not in STACKS:
        fetch([(client, version)])
        return folder(client, version)
    place = HOME / "stacks" / f"{client}-{version}"
    if not place.is_dir():
        partial = place.with_name(f".{place.name}.{os.getpid()}")
        pins = (f"{client}=={version}", *STACKS[client][version], *OLD_TOOLS)
        options = ("--quiet", "--no-deps", "--no-compile", "--target", partial)
        call(python(), "-m", "pip", "install", *options, *pins)
        partial.rename(place)
    return place


def installed(name: str) -> Path:
    """Where a package of the environment lies."""
    code = f"import {name}, os; print(os.path.dirname({name}.__file__))"
    process = subprocess.run([python(), "-c", code], capture_output=True, text=True, check=True)
    return Path(process.stdout.strip())


def variables(first: Path | None = None) -> dict[str, str]:
    """The process environment for programs that run there and see this repository's package.

    first: a folder whose packages come before those of the environment.
    """
    parts = [first] if first else []
    parts += [REPO / "src", Path(__file__).parent / "plugin"]
    path = os.pathsep.join(map(str, parts))
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    own = {
        "PYTHONPATH": path,
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    return {**clean, **own}
