"""A long capture out of a short one: its connections again and again, between other addresses and
with other sequence numbers.

    python -m scripts.looped RECORDING OUT --megabytes 500 --concurrent 50 --drop 0

RECORDING: a pcap file of Ethernet and IPv4 in the machine's byte order (or gzip of one).
"""

from __future__ import annotations

import argparse
import gzip
import random
import struct
from collections.abc import Iterator
from pathlib import Path

HEADER = 24
ETHERNET, SOURCE, TARGET = 16 + 14, 12, 16
TCP, SEQUENCE = ETHERNET + 20, 4
#: Between the sequence numbers of two copies.
APART = 40_503_001


def packets(raw: bytes) -> list[bytearray]:
    """The records of a file, with their headers."""
    if raw[:4] not in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") or raw[20] != 1:
        raise ValueError("takes a little-endian pcap file of Ethernet")
    records = []
    at = HEADER
    while at < len(raw):
        end = at + 16 + struct.unpack_from("<I", raw, at + 8)[0]
        records.append(bytearray(raw[at:end]))
        at = end
    return records


def rounds(records: list[bytearray], concurrent: int, seconds: int = 0) -> Iterator[bytes]:
    """The recording so many times at once, over and over, each time between other addresses and
    with other numbers: connections with the same numbers and bytes are one, behind a translation.

    seconds: by how much each round is later than the one before.
    """
    number = 0
    while True:
        copies = range(number, number + concurrent)
        addresses = [struct.pack(">BH", 64 + (n >> 16) % 64, n & 0xFFFF) for n in copies]
        number += concurrent
        out = []
        for record in records:
            numbers = struct.unpack_from(">II", record, TCP + SEQUENCE)
            for copy, address in zip(copies, addresses, strict=True):
                record[ETHERNET + SOURCE + 1 : ETHERNET + SOURCE + 4] = address
                record[ETHERNET + TARGET + 1 : ETHERNET + TARGET + 4] = address
                shifted = ((each + copy * APART) % 2**32 for each in numbers)
                struct.pack_into(">II", record, TCP + SEQUENCE, *shifted)
                out.append(bytes(record))
            struct.pack_into(">II", record, TCP + SEQUENCE, *numbers)
            struct.pack_into("<I", record, 0, second(record) + seconds)
        yield b"".join(out)


def second(record: bytes | bytearray) -> int:
    """When a packet was captured, in whole seconds since 1970."""
    seconds: int = struct.unpack_from("<I", record)[0]
    return seconds


def write(recording: Path, out: Path, raw: int, concurrent: int = 1, drop: float = 0) -> int:
    """Write about so many bytes, at least one round; how many rounds. drop: a share of packets."""
    content = recording.read_bytes()
    if content[:2] == b"\x1f\x8b":
        content = gzip.decompress(content)
    records = packets(content)
    if drop:
        rng = random.Random(1)
        records = [record for record in records if rng.random() >= drop]
    written = count = 0
    with out.open("wb") as file:
        file.write(content[:HEADER])
        for part in rounds(records, concurrent):
            file.write(part)
            written += len(part)
            count += 1
            if written >= raw:
                break
    return count


def main() -> None:
    """Write a file."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("recording", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--megabytes", type=float, default=200)
    parser.add_argument("--concurrent", type=int, default=1)
    parser.add_argument("--drop", type=float, default=0, help="share of packets to leave out")
    options = parser.parse_args()
    raw = int(options.megabytes * 1e6)
    print(f"{write(options.recording, options.out, raw, options.concurrent, options.drop)} rounds")


if __name__ == "__main__":
    main()
