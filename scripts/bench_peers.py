"""Install what the benchmark compares with and pip does not have; say what cannot be installed.

    python -m scripts.bench_peers

That are programs and C libraries of Debian, which takes apt-get and root. A row without its peer
names it; so the exit status is 0 in any case.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from scripts import broker


@dataclass(frozen=True)
class Peer:
    """A peer, Debian's packages of it, and whether it is here."""

    name: str
    packages: tuple[str, ...]
    is_here: Callable[[], bool]


def links(header: str, library: str) -> bool:
    """Whether a C program can use the library."""
    compiler = os.environ.get("CC", "cc").split()
    command = [*compiler, "-x", "c", "-", "-o", os.devnull, f"-l{library}"]
    text = "#include <stddef.h>\n#include <stdint.h>\n"
    text += f"#include <{header}>\nint main(void) {{ return 0; }}\n"
    try:
        process = subprocess.run(command, input=text, text=True, capture_output=True, check=False)
    except OSError:
        return False
    return process.returncode == 0


PEERS = (
    Peer("tshark", ("tshark",), lambda: shutil.which("tshark") is not None),
    Peer("rabbitmq-c", ("librabbitmq-dev",), partial(links, "amqp.h", "rabbitmq")),
    Peer(
        "proton's C library",
        ("libqpid-proton11-dev",),
        partial(links, "proton/message.h", "qpid-proton"),
    ),
)


def missing() -> list[Peer]:
    """The peers that are not here."""
    return [peer for peer in PEERS if not peer.is_here()]


def main() -> int:
    """Exit status 0."""
    peers = missing()
    if peers and shutil.which("apt-get") and os.geteuid() == 0:
        try:
            broker.apt("update")
        except broker.BrokerError as error:
            print(error, file=sys.stderr)
        for peer in peers:
            print(f"installing {peer.name} (Debian: {' '.join(peer.packages)})")
            try:
                broker.apt("install", "-y", "--no-install-recommends", *peer.packages)
            except broker.BrokerError as error:
                print(error, file=sys.stderr)
    for peer in missing():
        print(
            f"without {peer.name}: install it (Debian: {' '.join(peer.packages)}), as root, "
            "for the rows that compare with it",
            file=sys.stderr,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
