"""The clients, pinned, in a virtual environment of their own, and their suites out of their sdists.

All of it lies below .cache/compat and is made once; nothing of it is committed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

from scripts.broker import REPO

HOME = REPO / ".cache" / "compat"
PIP_SECONDS = 900

# What the drop-ins are made for: the versions of the issue.
CLIENTS = {
    "amqp": "5.4.2",
    "kombu": "5.7.0",
    "pika": "1.4.4",
    "pamqp": "4.0.1",
    "aiormq": "7.2.4",
    "aio-pika": "10.2.1",
    "amqpstorm": "3.1.4",
    "azure-eventhub": "5.15.1",
    "azure-servicebus": "7.15.0",
    "rstream": "1.1.1",
}
# Those whose suites are in their sdists only; amqpstorm's are inside of the package.
SDISTS = ("amqp", "kombu", "aiormq", "aio-pika", "azure-eventhub", "azure-servicebus")
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
    "setuptools",
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


def sdist(name: str) -> Path:
    """The unpacked source distribution of one client."""
    target = HOME / "sdists" / f"{name}-{CLIENTS[name]}"
    if not target.is_dir():
        fetched = HOME / "fetched" / name
        shutil.rmtree(fetched, ignore_errors=True)
        fetched.mkdir(parents=True)
        # no-binary for this one only: what builds its metadata may come as a wheel
        requirement = f"{name}=={CLIENTS[name]}"
        options = ("--quiet", "--no-deps", "--no-binary", name, "--dest", fetched)
        call(python(), "-m", "pip", "download", *options, requirement)
        [archive] = fetched.glob("*.tar.gz")
        with tarfile.open(archive) as packed:
            # As the library's manual has it for Pythons below 3.11.4, which know no filters.
            packed.extraction_filter = getattr(tarfile, "data_filter", lambda member, _: member)
            packed.extractall(fetched)
        [folder] = (path for path in fetched.iterdir() if path.is_dir())
        target.parent.mkdir(parents=True, exist_ok=True)
        folder.rename(target)
        shutil.rmtree(fetched)
    # The suite tests the installed package, which is the same; a copy in the current directory
    # would be a second one.
    for package in {name.replace("-", "_"), name.partition("-")[0]}:
        inside = target / package
        if inside.is_dir():
            inside.rename(target / f"{package}.not-imported")
    return target


def installed(name: str) -> Path:
    """Where a package of the environment lies."""
    code = f"import {name}, os; print(os.path.dirname({name}.__file__))"
    process = subprocess.run([python(), "-c", code], capture_output=True, text=True, check=True)
    return Path(process.stdout.strip())


def variables() -> dict[str, str]:
    """The process environment for programs that run there and see this repository's package."""
    path = os.pathsep.join([str(REPO / "src"), str(Path(__file__).parent / "plugin")])
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    own = {
        "PYTHONPATH": path,
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    return {**clean, **own}
