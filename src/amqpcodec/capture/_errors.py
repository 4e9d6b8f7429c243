"""What is wrong with a capture."""

from __future__ import annotations

import os


class CaptureError(ValueError):
    """The file is no capture, neither pcap nor pcapng, or it is empty. file: its name."""

    def __init__(self, text: str, file: str = "") -> None:
        """file: as rows would call it; "" where that is not known."""
        super().__init__(text)
        self.file = file


def no_capture(file: str, fault: str | None = None) -> CaptureError:
    """The error of a file that is none. fault: what kept it from being decompressed."""
    name = file or "the file"
    return CaptureError(f"{name}: {fault or 'neither pcap nor pcapng'}", file)


class CaptureWarning(UserWarning):
    """Something about the files that makes rows incomplete: the text says what, and how many."""


class StateError(ValueError):
    """What Reader.resume() was given is no state that it can go on from: the text says why."""


class ReaderExhausted(RuntimeError):
    """The rows of a reader were read already, or reading ended with an error: the text says which.

    Open the capture again; ``capture.dataset`` and ``scan_captures`` do so for each query.
    """


def refuse_fork(owner: int) -> None:
    """Raise RuntimeError where this is another process than the one that a reader belongs to."""
    if owner != os.getpid():
        raise RuntimeError(
            f"this reader belongs to the process {owner} and cannot go on in its fork"
            f" {os.getpid()}: both would share the position of the open file, and each would miss"
            " what the other reads; open the capture again in this process"
        )
