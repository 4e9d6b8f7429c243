"""Recordings that are being made: a pipe, a file that grows, an interface; and Ctrl-C.

What is read is handed on as it comes. After an interrupt we wait a moment for what the capture
program still holds back. Then the input ends for the reader, so that all that was read is shown. A
second interrupt ends the program at once.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from types import FrameType, TracebackType
from typing import IO, Any

from .errors import UsageError

__all__ = ["Cancelled", "Follow", "Interface", "Pipe", "is_live"]

#: How often a file is looked at that may have grown, in seconds.
POLL_SECONDS = 0.05
#: How often what waits for a recording hears of it, in seconds.
WAIT_SECONDS = 0.25
#: Bytes at the beginning and end of what was read that are compared: a file may be written anew
#: between two looks. A recording has the time of its first packet there.
COMPARED_BYTES = 64
#: How long a recorder may take to end that has closed its output or was asked to end, in seconds.
EXIT_SECONDS = 5.0
#: How long more is read after an interrupt, in seconds: capture programs and the kernel hand
#: packets on some time after they came.
DRAIN_SECONDS = 1.0
#: The smallest header of a recording: so much is needed to tell what it is.
MIN_HEADER_BYTES = 24


#: Ctrl-C, and what else asks a program to end: what it has started ends with it.
SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]


class Cancelled:
    """Whether Ctrl-C was pressed, or the program was asked to end."""

    def __init__(self) -> None:
        """Nothing is caught before it is entered."""
        self.pressed = False
        self.wake, self._press = os.pipe()
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Cancelled:
        """Takes the signal; of the main thread only, as Python wants it."""
        with contextlib.suppress(ValueError):
            for number in SIGNALS:
                self._before[number] = signal.signal(number, self._caught)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Gives it back."""
        for number, before in self._before.items():
            signal.signal(number, before)
        os.close(self.wake)
        os.close(self._press)

    def _caught(self, number: int, frame: FrameType | None) -> None:
        if self.pressed:
            raise KeyboardInterrupt
        self.pressed = True
        os.write(self._press, b"!")

    def wait(self, fd: int | None, seconds: float | None) -> bool:
        """Until there is something to read, or the time is over; False: it was pressed."""
        fds = [self.wake] if fd is None else [self.wake, fd]
        select.select(fds, [], [], seconds)
        return not self.pressed

    def watched(self, file: IO[bytes]) -> Any:
        """A file that ends when it is pressed."""
        return _Stoppable(file, self)


class _Stoppable:
    """A file that ends early on demand."""

    def __init__(self, file: IO[bytes], stop: Cancelled) -> None:
        self.file, self.stop = file, stop

    def read(self, size: int = -1) -> bytes:
        return b"" if self.stop.pressed else self.file.read(size)

    def readinto(self, room: memoryview) -> int:
        if self.stop.pressed:
            return 0
        return int(self.file.readinto(room))  # type: ignore[attr-defined]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)


class Pipe:
    """Standard input, or the output of another program: what is there is given at once."""

    def __init__(self, fd: int, name: str, stop: Cancelled) -> None:
        """name: what rows call it."""
        self.fd, self.name, self.stop = fd, name, stop
        self.begun = False
        #: Called while nothing is there to be read, and between two reads.
        self.on_wait: Callable[[], None] | None = None
        #: When reading ends, once it was interrupted: time.monotonic().
        self.deadline: float | None = None

    def read(self, size: int = -1) -> bytes:
        """What is there, at least one byte of it; nothing at the end."""
        chunk = self._some(size)
        while not self.begun and chunk and len(chunk) < MIN_HEADER_BYTES:
            more = self._some(size)
            if not more:
                break
            chunk += more
        self.begun = True
        return chunk

    def _some(self, size: int) -> bytes:
        while self._is_readable():
            if chunk := os.read(self.fd, size if size > 0 else 1 << 18):
                return chunk
            if self.ended():
                break
        return b""

    def _is_readable(self) -> bool:
        """Wait until there is something to read; False: nothing more is read."""
        while self.stop.wait(self.fd, None if self.on_wait is None else WAIT_SECONDS):
            if self.on_wait is not None:
                self.on_wait()
            if self.on_wait is None or select.select([self.fd], [], [], 0)[0]:
                return True
        if self.deadline is None:
            self.deadline = time.monotonic() + DRAIN_SECONDS
        return self._waits_until(self.deadline)

    def _waits_until(self, deadline: float) -> bool:
        """Whether there is something to read before a time."""
        seconds = deadline - time.monotonic()
        return seconds > 0 and bool(select.select([self.fd], [], [], seconds)[0])

    def ended(self) -> bool:
        """Whether nothing will follow what was read."""
        return True


class Follow(Pipe):
    """A file that grows; it ends when it is interrupted, truncated or replaced.

    Attributes:
        replaced: why it ended, where another recording stands under its name now; or "".
    """

    def __init__(self, path: str, stop: Cancelled) -> None:
        """Opens it."""
        super().__init__(os.open(path, os.O_RDONLY), path, stop)
        self.replaced = ""
        self._offset = 0
        #: The first bytes and those before _offset: they stay, unless the file is written anew.
        self._first = self._last = b""

    def _some(self, size: int) -> bytes:
        if self.replaced or self._is_truncated():
            return b""
        data = super()._some(size)
        self._offset += len(data)
        self._first += data[: COMPARED_BYTES - len(self._first)]
        self._last = (self._last + data[-COMPARED_BYTES:])[-COMPARED_BYTES:]
        return data

    def ended(self) -> bool:
        """Whether nothing follows; it may grow until Ctrl-C, and for a moment after it."""
        if not self.stop.wait(None, POLL_SECONDS):
            time.sleep(POLL_SECONDS)
        return self._is_truncated() or self._is_renamed()

    def _is_truncated(self) -> bool:
        """Whether it was truncated, and perhaps written anew from its beginning."""
        if os.fstat(self.fd).st_size < self._offset:
            self.replaced = "it was truncated"
        elif not (self._stays(0, self._first) and self._stays(-len(self._last), self._last)):
            self.replaced = "it was truncated and written anew"
        return bool(self.replaced)

    def _stays(self, place: int, data: bytes) -> bool:
        """Whether bytes are what they were; a place below 0 counts from what was read last."""
        start = place if place >= 0 else self._offset + place
        return os.pread(self.fd, len(data), start) == data

    def _is_renamed(self) -> bool:
        """Whether another file has its name now, and it has been read to its end."""
        try:
            here = os.stat(self.name)
        except OSError:
            return False  # renamed, and the next one is not there yet
        own = os.fstat(self.fd)
        # What was written before the other one took its name is read first.
        if os.path.samestat(here, own) or own.st_size > self._offset:
            return False
        self.replaced = "another file has its name now"
        return True


class Interface(Pipe):
    """What tcpdump or dumpcap records from an interface."""

    def __init__(self, interface: str, ports: Iterable[int], stop: Cancelled) -> None:
        """Starts it.

        Raises:
            UsageError: neither is installed.
        """
        fits = " or ".join(f"tcp port {port}" for port in ports)
        if program := shutil.which("tcpdump"):
            words = [program, "-q", "-n", "-U", "-s", "0", "-i", interface, "-w", "-", fits]
        elif program := shutil.which("dumpcap"):
            words = [program, "-q", "-i", interface, "-P", "-w", "-", "-f", fits]
        else:
            raise UsageError("--interface needs tcpdump or dumpcap: neither is installed")
        self.program, self.interface = os.path.basename(program), interface
        # In a session of its own: Ctrl-C is for us, and what it has recorded is read first.
        self.child = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        )
        assert self.child.stdout is not None
        super().__init__(self.child.stdout.fileno(), interface, stop)
        self.has_closed = False  # its output
        self.is_asked_to_end = False

    def _is_readable(self) -> bool:
        """As of a pipe; after an interrupt the program ends, and writes what it has."""
        if not self.is_asked_to_end:
            if super()._is_readable():
                return True
            self.is_asked_to_end = True
            self.child.terminate()
            self.deadline = time.monotonic() + EXIT_SECONDS
        assert self.deadline is not None
        return self._waits_until(self.deadline)

    def ended(self) -> bool:
        """Whether nothing will follow what was read."""
        self.has_closed = True
        return True

    def finish(self) -> None:
        """End the program. Raises UsageError: it had ended by itself, with an error."""
        if self.has_closed:  # it is about to end, and says why
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.child.communicate(timeout=EXIT_SECONDS)
        ours = self.is_asked_to_end or self.child.poll() is None
        if self.child.poll() is None:
            self.child.kill() if self.is_asked_to_end else self.child.terminate()
        _, stderr = self.child.communicate()
        if not ours and self.child.returncode:
            words = stderr.decode("utf-8", "replace").strip().splitlines() or ["it gave no reason"]
            raise UsageError(f"--interface {self.interface}: {self.program}: {words[-1]}")


def is_live(path: str) -> bool:
    """Whether it is standard input, and no file that is there already."""
    if path != "-":
        return False
    try:
        return not stat.S_ISREG(os.fstat(sys.stdin.fileno()).st_mode)
    except OSError:
        return False  # it is no file at all, as in tests
