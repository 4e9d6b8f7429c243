"""The inputs kept for each target: a text file, one input a line in hexadecimal digits."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "corpus"
#: Bytes and inputs of one target that the repository keeps; the smallest inputs go first.
MOST_BYTES = 48_000
MOST_INPUTS = 400


def path_of(target: str) -> Path:
    """Where a target's inputs are kept."""
    return FOLDER / f"{target}.hex"


def load(target: str) -> list[bytes]:
    """The kept inputs of a target."""
    path = path_of(target)
    return [bytes.fromhex(line) for line in path.read_text().split()] if path.is_file() else []


def unpack(inputs: Iterable[bytes], folder: Path) -> None:
    """Files as libFuzzer wants them, named by their content."""
    folder.mkdir(parents=True, exist_ok=True)
    for data in inputs:
        (folder / hashlib.sha1(data, usedforsecurity=False).hexdigest()).write_bytes(data)


def keep(target: str, folder: Path) -> int:
    """Write the inputs of a minimised folder to the repository; how many there were room for."""
    inputs = sorted({path.read_bytes() for path in folder.iterdir()}, key=lambda x: (len(x), x))
    kept: list[bytes] = []
    size = 0
    for data in inputs:
        size += len(data)
        if size > MOST_BYTES or len(kept) == MOST_INPUTS:
            break
        kept.append(data)
    FOLDER.mkdir(exist_ok=True)
    path_of(target).write_text("".join(f"{data.hex()}\n" for data in kept if data))
    return len(kept)
