"""States that a release left behind: `python -m tests.capture.golden_states 0.1.0` writes them.

What a release writes, the next one reads (docs/versions.md). The states of each release stay in
tests/vectors/states; nobody writes those of an older release anew.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from amqpcodec import capture
from tests.paths import REPO
from tests.spark.frames import rotated
from tests.support.batches import rows_of

STATES = REPO / "tests" / "vectors" / "states"
#: Of states that are sealed with a key or encrypted.
KEY = b"a key of golden states"
#: Columns of both levels.
FIELDS = (
    *("file", "connection", "direction", "packet_offset", "position", "timestamp", "method"),
    *("channel", "error", "flags"),
)


@dataclass(frozen=True)
class Golden:
    """A state, and how the reader was made that gave it.

    recording: below the repository. stop: offset in the decompressed file up to which it had read.
    parts: the recording is cut into so many files of a rotation and the state stands after the
    first one; 1: it stands inside of a file. sealed: "plain", "keyed" or "encrypted".
    """

    name: str
    recording: str
    level: str
    stop: int
    parts: int = 1
    keylog: str | None = None
    sealed: str = "plain"

    def reader(self, paths: list[str]) -> Any:
        """A new reader with the arguments of the one that gave the state."""
        keylog = None if self.keylog is None else str(REPO / self.keylog)
        return capture.Reader(
            paths if self.parts > 1 else paths[0],
            level=self.level,
            fields=FIELDS,
            keylog=keylog,
            ports=PORTS.get(self.recording, (5672,)),
            order="none",
            batch_rows=25,
            files="rotation" if self.parts > 1 else "auto",
        )

    def files(self, folder: Path) -> list[str]:
        """Make the files that it reads; their names in the folder, where the caller has to be."""
        if self.parts == 1:
            return [Path(shutil.copy(REPO / self.recording, folder)).name]
        return [path.name for path in rotated(REPO / self.recording, folder, self.parts)]

    @property
    def key(self) -> bytes | None:
        """What state() and resume() are given."""
        return None if self.sealed == "plain" else KEY


_RECORDINGS = "tests/capture/recordings"
PORTS = {
    f"{_RECORDINGS}/tls_openssl.pcap.gz": (5671,),
    f"{_RECORDINGS}/websocket_azure.pcap.gz": (4430,),
    f"{_RECORDINGS}/amqp10_rabbit.pcap.gz": (5680,),
}
KOMBU = "demo/kombu_celery.pcap.gz"
TLS = f"{_RECORDINGS}/tls_openssl"
WEBSOCKET = f"{_RECORDINGS}/websocket_azure"
WANTED = (
    Golden("frames", KOMBU, "frame", 40_000),
    Golden("messages", KOMBU, "message", 60_001),
    Golden("keyed", KOMBU, "frame", 20_000, sealed="keyed"),
    Golden("encrypted", KOMBU, "frame", 20_000, sealed="encrypted"),
    Golden("rotation", KOMBU, "message", 0, parts=3),
    Golden("amqp10", f"{_RECORDINGS}/amqp10_rabbit.pcap.gz", "message", 9_000),
    Golden("tls", f"{TLS}.pcap.gz", "frame", 20_000, keylog=f"{TLS}_keys.log"),
    Golden("websocket", f"{WEBSOCKET}.pcap.gz", "frame", 12_000, keylog=f"{WEBSOCKET}_keys.log"),
)


def begin(golden: Golden, reader: Any) -> list[dict[str, Any]]:
    """The rows before the state."""
    return rows_of(reader.read(end=False) if golden.parts > 1 else reader.read(golden.stop))


def write(release: str) -> None:
    """Make the states of this release and the list of them."""
    folder = STATES / release
    folder.mkdir(parents=True)
    entries = []
    for golden in WANTED:
        with tempfile.TemporaryDirectory() as name:
            os.chdir(name)  # a state has the names of files
            paths = golden.files(Path(name))
            reader = golden.reader(paths[:1])
            begin(golden, reader)
            state = reader.state(golden.key, encrypt=golden.sealed == "encrypted")
        (folder / f"{golden.name}.state").write_bytes(state)
        entries.append(asdict(golden))
    (folder / "states.json").write_text(json.dumps(entries, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write the states of a release.")
    parser.add_argument("release")
    write(parser.parse_args().release)
