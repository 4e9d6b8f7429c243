"""The inputs kept for each target: a file packed by xz, each input after its length in 4 bytes."""

from __future__ import annotations

import hashlib
import io
import lzma
from collections.abc import Iterable
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "corpus"
#: Bytes and inputs of one target that the repository keeps; the smallest inputs go first.
MOST_BYTES = 1_000_000
MOST_INPUTS = 1_000


def path_of(target: str) -> Path:
    """Where a target's inputs are kept."""
    return FOLDER / f"{target}.xz"


def load(target: str) -> list[bytes]:
    """The kept inputs of a target."""
    path = path_of(target)
    if not path.is_file():
        return []
    packed = io.BytesIO(lzma.decompress(path.read_bytes()))
    inputs = []
    while length := packed.read(4):
        inputs.append(packed.read(int.from_bytes(length)))
    return inputs


def unpack(inputs: Iterable[bytes], folder: Path) -> None:
    """Files as libFuzzer wants them, named by their content."""
    folder.mkdir(parents=True, exist_ok=True)
    for data in inputs:
        (folder / hashlib.sha1(data, usedforsecurity=False).hexdigest()).write_bytes(data)


def keep(target: str, folder: Path) -> int:
    """Write the inputs of a minimised folder to the repository; how many there were room for."""
    inputs = sorted({path.read_bytes() for path in folder.iterdir()}, key=lambda x: (len(x), x))
    selected_inputs: list[bytes] = []
    size = 0
    for data in inputs:
        size += len(data)
        if size > MOST_BYTES or len(selected_inputs) == MOST_INPUTS:
            break
        selected_inputs.append(data)
    write(target, selected_inputs)
    return len(selected_inputs)


def write(target: str, inputs: Iterable[bytes]) -> None:
    """Put these inputs, and no others, in a target's file."""
    FOLDER.mkdir(exist_ok=True)
    concatenation = b"".join(len(data).to_bytes(4) + data for data in inputs if data)
    path_of(target).write_bytes(lzma.compress(concatenation, preset=9 | lzma.PRESET_EXTREME))
