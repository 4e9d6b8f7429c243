"""Protocol headers: every form that clients send, and what a server answers."""

from __future__ import annotations

from typing import Any

import pytest

import amqpcodec
from amqpcodec import negotiate, v0_8, v0_9, v0_9_1

OLD = ("0-9-1", "0-9", "0-8")


def header(*octets: int) -> bytes:
    return b"AMQP" + bytes(octets)


@pytest.mark.parametrize(
    ("octets", "version", "module", "start"),
    [
        ((0, 0, 9, 1), "0-9-1", v0_9_1, (0, 9)),
        ((1, 1, 0, 9), "0-9-1", v0_9_1, (0, 9)),
        ((1, 1, 8, 0), "0-8", v0_8, (8, 0)),
        ((1, 1, 9, 1), "0-8", v0_8, (8, 0)),
    ],
)
def test_what_clients_of_0_x_send(
    octets: tuple[int, ...], version: str, module: Any, start: tuple[int, int]
) -> None:
    for protocol_header in (
        header(*octets),
        bytearray(header(*octets)),
        v0_8.ProtocolHeader(*octets),
    ):
        result = negotiate(protocol_header)
        assert (result.accepted, result.version, result.layer) == (True, version, "amqp")
        assert result.protocol is module
        assert (result.start, result.reply, result.reason) == (start, b"", None)
        assert result.header == header(*octets)
        assert result.candidates[0] == version
    # That is what the module's own connection.start says.
    start_frame = module.Connection.Start(*start)
    assert (start_frame.version_major, start_frame.version_minor) == start


def test_0_9_by_the_letter() -> None:
    octets = v0_9.PROTOCOL_HEADER
    assert negotiate(octets).candidates == ("0-9-1", "0-9")
    assert negotiate(octets, letter=True).protocol is v0_9
    assert negotiate(octets, supported=("0-9",)).protocol is v0_9
    assert negotiate(octets, supported=("0-9", "0-9-1")).protocol is v0_9_1
    assert not negotiate(octets, supported=("0-9-1",), letter=True).accepted
    assert negotiate(header(0, 0, 9, 1), letter=True).protocol is v0_9_1


@pytest.mark.parametrize(("first", "layer"), [(0, "amqp"), (2, "tls"), (3, "sasl")])
def test_1_0(first: int, layer: str) -> None:
    octets = header(first, 1, 0, 0)
    refused = negotiate(octets, supported=OLD)
    assert (refused.accepted, refused.protocol, refused.layer) == (False, None, layer)
    assert refused.candidates == ("1.0",)
    assert refused.reply == v0_9_1.PROTOCOL_HEADER
    assert refused.reason == "AMQP 1.0 is not supported"
    accepted = negotiate(octets)
    assert (accepted.accepted, accepted.version, accepted.layer) == (True, "1.0", layer)
    assert (accepted.reply, accepted.start) == (octets, None)  # answered by the same
    assert accepted.protocol is amqpcodec.protocol("1.0")


@pytest.mark.parametrize(
    ("octets", "reason"),
    [
        (header(0, 0, 9, 2), "no version of AMQP has the header 0 0 9 2"),
        (header(0, 0, 10, 0), "no version of AMQP has the header 0 0 10 0"),
        (header(1, 1, 0, 10), "no version of AMQP has the header 1 1 0 10"),
        (header(1, 1, 8, 1), "no version of AMQP has the header 1 1 8 1"),
        (header(1, 1, 0, 0), "no version of AMQP has the header 1 1 0 0"),
        (b"GET / HTTP/1.1", "not AMQP but HTTP"),
        (b"HELO", "not AMQP: the bytes do not begin with its name"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01", "not AMQP but TLS"),
    ],
)
def test_what_is_refused(octets: bytes, reason: str) -> None:
    result = negotiate(octets)
    assert (result.accepted, result.version, result.protocol, result.start) == (
        False,
        None,
        None,
        None,
    )
    assert result.candidates == ()
    assert result.reply == b"AMQP\x00\x00\x09\x01"
    assert result.reason is not None
    assert result.reason.startswith(reason)


def test_a_refusal_names_what_the_server_likes_best() -> None:
    assert negotiate(header(0, 0, 9, 1), supported=("0-8", "0-9")).reply == v0_8.PROTOCOL_HEADER
    assert negotiate(b"nothing!", supported=("0-9", "0-8")).reply == v0_9.PROTOCOL_HEADER


def test_a_refusal_can_be_read_by_the_client() -> None:
    reply = negotiate(header(1, 1, 0, 10)).reply
    (frame,) = v0_9_1.Decoder().feed(reply)
    assert frame == (0, v0_9_1.ProtocolHeader())
    assert negotiate(frame[1]).accepted


@pytest.mark.parametrize("octets", [b"", b"A", b"AMQP", b"AMQP\x00\x00\x09"])
def test_too_few_octets_may_become_a_header(octets: bytes) -> None:
    with pytest.raises(ValueError, match=f"8 bytes, not {len(octets)}"):
        negotiate(octets)


def test_what_follows_is_not_looked_at() -> None:
    assert negotiate(v0_9_1.PROTOCOL_HEADER + b"\x01\x00").header == v0_9_1.PROTOCOL_HEADER


def test_wrong_arguments_are_told() -> None:
    for wrong in ("AMQP", v0_9_1.Heartbeat(), v0_9_1.Channel.Open(), 8):
        with pytest.raises(TypeError):
            negotiate(wrong)
    with pytest.raises(TypeError, match="in a tuple"):
        negotiate(v0_9_1.PROTOCOL_HEADER, supported="0-9-1")
    with pytest.raises(ValueError, match="no protocol '0-10'"):
        negotiate(v0_9_1.PROTOCOL_HEADER, supported=("0-10",))
    with pytest.raises(ValueError, match="one version at least"):
        negotiate(v0_9_1.PROTOCOL_HEADER, supported=())
