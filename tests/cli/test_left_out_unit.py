"""What every command says on stderr of packets that were not read."""

from __future__ import annotations

import pytest

from amqpcodec import v0_9_1 as amqp
from tests.cli.conftest import TALK
from tests.support import recording as builder

pytest.importorskip("pyarrow")
pytest.importorskip("rich")

COMMANDS = [
    *("dissect", "messages", "stats", "connections", "topology", "errors", "latency", "unacked"),
    *("top", "report", "show"),
]
TEXT = "9 packets were skipped: their link types are not read (IEEE802_11_RADIOTAP (127): 9)"


def mixed() -> bytes:
    """The packets of a talk, of two interfaces: Ethernet, and a link type that is not read."""
    blocks = [builder.section(), builder.interface("<", 1), builder.interface("<", 127)]
    for number, packet in enumerate(builder.dialogue(TALK)):
        blocks.append(builder.enhanced("<", 0, number, packet))
        blocks.append(builder.enhanced("<", 1, number, bytes(40)))
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


@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_on_the_ports(run, tmp_path, command):
    path = tmp_path / "other.pcap"
    path.write_bytes(builder.pcap(builder.packets([(0, amqp.PROTOCOL_HEADER)], port=5673)))
    result = run(*arguments(command, path, tmp_path), "--ports", "5672")
    assert f"{path}: no frame of AMQP" in result.err
    assert "--ports 5673" in result.err
    assert result.status == (2 if command == "show" else 1)
    assert "no frame of AMQP" not in run(*arguments(command, path, tmp_path)).err


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("packets", [[], builder.packets([(0, b"GET / HTTP/1.1")], port=80)])
def test_a_file_without_amqp(run, tmp_path, command, packets):
    path = tmp_path / "other.pcap"
    path.write_bytes(builder.pcap(packets))
    result = run(*arguments(command, path, tmp_path))
    reason = "3 packets: other ports; --ports names others" if packets else "no packet was recorded"
    assert f"{path}: no frame of AMQP ({reason})" in result.err
    assert result.status == (2 if command == "show" else 1)


def test_the_environment_names_ports(run, good, monkeypatch):
    """AMQPCODEC_PORTS is --ports of each command; --ports auto is what there is without it."""
    for value, words, status in [
        ("5673", (), 1),
        ("5672,5673", (), 0),
        ("5673", ("--ports", "5672"), 0),
        ("5673", ("--ports", "auto"), 0),
        ("auto", (), 0),
        ("", (), 0),
    ]:
        monkeypatch.setenv("AMQPCODEC_PORTS", value)
        for command in ("dissect", "stats", "connections"):
            assert run(command, good, *words).status == status, (value, words, command)
    monkeypatch.setenv("AMQPCODEC_PORTS", "amqp")
    result = run("stats", good)
    assert result.status == 2
    assert "a port is a number from 1 to 65535, and not 'amqp' (AMQPCODEC_PORTS)" in result.err
    assert run("stats", good, "--ports", "5672").status == 0


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["dissect", "--limit", "2"], "--limit 2"),
        (["dissect", "--limit", "0", "--level", "message"], "--limit 0"),
        (["show", "2"], "frame 2"),
    ],
    ids=lambda words: str(words[0]),
)
def test_a_file_that_is_not_read_to_the_end(run, tmp_path, words, reason):
    """It is said, with what was left out until then, and how many files were not opened."""
    path, other = tmp_path / "mixed.pcapng", tmp_path / "other.pcapng"
    for file in (path, other):
        file.write_bytes(mixed())
    result = run(*words, path)
    assert f"amqpcodec: {path}: not read to the end ({reason} was reached)\n" in result.err
    assert f"{path}: 9 packets were skipped: their link types are not read" in result.err
    assert result.status == 0
    result = run(*words, path, other, "--files", "separate")
    assert f"({reason} was reached), and 1 more of the files not at all\n" in result.err
    assert f"{other}: " not in result.err


def test_a_file_that_is_read_to_the_end_is_not_said_to_be_left(run, tmp_path):
    path = tmp_path / "mixed.pcapng"
    path.write_bytes(mixed())
    for words in (["dissect"], ["dissect", "--limit", "999"], ["show", "999"]):
        assert "not read to the end" not in run(*words, path).err
    sort = run("dissect", "--limit", "1", "--sort", "-channel", path)
    assert "not read to the end" not in sort.err, "all rows were compared"
