"""Address space that decoders hold: none for what is only claimed; what was used is given back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from amqpcodec import v0_9_1 as amqp
from tests.support import amqp091_wire as w

pytestmark = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")


def virtual_size() -> int:
    """Address space in bytes; an allocation counts here even while nobody wrote to it."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * 4096


@pytest.mark.parametrize("kind", [amqp.Decoder, amqp.MessageDecoder])
def test_a_claimed_size_is_not_allocated(kind: Any) -> None:
    before = virtual_size()
    decoders = []
    for size in (b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\x80\0\0\0"):
        decoder = kind(0)
        for octet in b"\x03\0\1" + size + b"some of it":
            assert list(decoder.feed(bytes([octet]))) == []
        assert decoder.pending == 17
        decoder.get_buffer(1024)
        decoder.buffer_updated(0)
        decoders.append(decoder)
    assert virtual_size() - before < 256 << 20


def test_buffered_octets_are_given_back() -> None:
    decoder = amqp.Decoder(0)
    body = w.body_frame(1, b"x" * 1_000_000)
    for _ in range(3):
        list(decoder.feed(body))
    before = virtual_size()
    for _ in range(60):
        list(decoder.feed(body[:500_000]))
        assert len(list(decoder.feed(body[500_000:]))) == 1
        assert decoder.pending == 0
    assert virtual_size() - before < 32 << 20
