"""What is wrong with a capture."""

from __future__ import annotations


class CaptureError(ValueError):
    """The file is no capture, neither pcap nor pcapng, or it is empty. file: its name."""

    def __init__(self, text: str, file: str = "") -> None:
        """file: as rows would call it; "" where that is not known."""
        super().__init__(text)
        self.file = file


def no_capture(file: str) -> CaptureError:
    """The error of a file that is none."""
    return CaptureError(f"neither pcap nor pcapng: {file or 'the file'}", file)


class CaptureWarning(UserWarning):
    """Something about the files that makes rows incomplete: the text says what, and how many."""


class StateError(ValueError):
    """What Reader.resume() was given is no state that it can go on from: the text says why."""
