"""Whatever comes: events, or RemoteProtocolError with a close queued; then the same for ever."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqpcodec import v0_9_1 as amqp
from amqpcodec.session import ConnectionClosed, Event, LocalProtocolError, RemoteProtocolError
from tests.support.damage import with_byte
from tests.support.session_pair import Pair, opened

FRAMES: list[bytes] = [
    amqp.encode(number, kind()) for kind in amqp.METHODS.values() for number in (0, 1, 2)
]
FRAMES += [
    amqp.encode_message(number, kind(), None, b"body")
    for kind in amqp.METHODS.values()
    if kind.HAS_CONTENT
    for number in (1, 2)
]
FRAMES += [amqp.encode(0, amqp.Heartbeat()), amqp.PROTOCOL_HEADER]


PIECES = st.lists(
    st.binary(max_size=30)
    | st.sampled_from(FRAMES)
    | st.builds(with_byte, st.sampled_from(FRAMES), st.integers(0, 99), st.integers(0, 255)),
    max_size=12,
)


def session(role: str, stage: str) -> Any:
    if stage == "start":
        return getattr(Pair(), role)
    pair = opened(answer=False)
    if stage == "busy":
        mine, theirs = pair.channel()
        mine.confirm(no_wait=True)
        mine.consume("q", "t")
        mine.publish("", "q", b"x")
        pair.pump()
        theirs.received[0].respond(amqp.Basic.ConsumeOk("t"))
        theirs.send(amqp.Basic.Deliver("t", 1), None, b"x")
        pair.pump()
        mine.declare_queue("")
        mine.get("q")
        theirs.flow(True)
        pair.client.data_to_send()
        pair.server.data_to_send()
    return getattr(pair, role)


@pytest.mark.parametrize("role", ["client", "server"])
@pytest.mark.parametrize("stage", ["start", "opened", "busy"])
@given(pieces=PIECES)
def test_any_bytes_give_events_or_the_error(role, stage, pieces):
    one = session(role, stage)
    events: list[Event] = []
    error = None
    for piece in pieces:
        try:
            events += one.receive_data(piece)
        except RemoteProtocolError as caught:
            check_error(one, caught, error)
            error = error or caught
            events += caught.events
        assert all(isinstance(event, Event) for event in events)
        one.data_to_send()
    events += one.receive_eof()
    assert [type(event) for event in events].count(ConnectionClosed) == 1
    assert one.closed
    with pytest.raises(LocalProtocolError):
        one.open_channel()


def check_error(one: Any, error: RemoteProtocolError, before: RemoteProtocolError | None) -> None:
    """The first time with what it ends and a close; later the same without."""
    assert one.closed
    if before is None:
        assert isinstance(error.events[-1], ConnectionClosed)
        check_close(one, error)
    else:
        assert str(error) == str(before)
        assert error.events == []


def check_close(one: Any, error: RemoteProtocolError) -> None:
    """What is sent last says the code of the error, unless the handshake has not begun."""
    data = one.data_to_send()
    if one.stage == "start" or not error.reply_code:
        return
    frames = [frame for _, frame in amqp.Decoder(0).feed(data)]
    closes = [frame for frame in frames if isinstance(frame, amqp.Connection.Close)]
    assert closes[-1].reply_code == error.reply_code


@pytest.mark.parametrize("role", ["client", "server"])
@given(pieces=PIECES, cuts=st.lists(st.integers(1, 40), min_size=1))
def test_chunking_changes_nothing(role, pieces, cuts):
    def transcript(chunks: list[bytes]) -> list[str]:
        one = session(role, "busy")
        lines: list[str] = []
        for chunk in chunks:
            try:
                lines += map(repr, one.receive_data(chunk))
            except RemoteProtocolError as error:
                lines += map(repr, error.events)
                lines.append(repr(error))
                break
        return [*lines, one.data_to_send().hex()]

    data = b"".join(pieces)
    chunks, at = [], 0
    while at < len(data):
        size = cuts[len(chunks) % len(cuts)]
        chunks.append(data[at : at + size])
        at += size
    assert transcript(chunks) == transcript([data])
