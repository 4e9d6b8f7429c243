"""What every command says on stderr of packets that were not read."""

from __future__ import annotations

import pytest

from amqpcodec import v0_9_1 as amqp
from tests.capture import recording as made
from tests.cli.conftest import TALK, packets

pytest.importorskip("pyarrow")
pytest.importorskip("rich")

COMMANDS = [
    *("dissect", "messages", "stats", "connections", "topology", "errors", "latency", "unacked"),
    *("top", "report", "show"),
]
TEXT = "9 packets were left out, of link types that are not read (IEEE802_11_RADIOTAP (127): 9)"


def mixed() -> bytes:
    """The packets of a talk, of two interfaces: Ethernet, and a link type that is not read."""
    blocks = [made.section(), made.interface("<", 1), made.interface("<", 127)]
    for number, packet in enumerate(packets(TALK)):
        blocks.append(made.enhanced("<", 0, number, packet))
        blocks.append(made.enhanced("<", 1, number, bytes(40)))
    return b"".join(blocks)


def arguments(command: str, path: object, tmp_path) -> list[object]:
    if command == "report":
        return [command, path, "-o", tmp_path / "report.html"]
    if command == "show":
        return [command, "99", path]  # which there is not, so that all is read
    return [command, path]


@pytest.mark.parametrize("command", COMMANDS)
def test_packets_of_link_types_that_are_not_read(run, tmp_path, command):
    path = tmp_path / "mixed.pcapng"
    path.write_bytes(mixed())
    result = run(*arguments(command, path, tmp_path))
    assert f"amqpcodec: {path}: {TEXT}" in result.err, result
    if command == "stats":
        assert "unread link types" in result.out
        assert "IEEE802 11 RADIOTAP (127)" in result.out.replace("_", " ")


@pytest.mark.parametrize("command", ["dissect", "stats", "connections", "report"])
def test_nothing_on_the_ports(run, tmp_path, command):
    path = tmp_path / "other.pcap"
    path.write_bytes(made.pcap(made.packets([(0, amqp.PROTOCOL_HEADER)], port=5673)))
    result = run(*arguments(command, path, tmp_path))
    assert f"{path}: no frame of AMQP" in result.err
    assert "--ports 5673" in result.err
