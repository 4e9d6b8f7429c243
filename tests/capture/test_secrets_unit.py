"""No column of a capture shows a credential, by whatever mechanism or frame it was sent."""

from __future__ import annotations

import io
from typing import Any

import pyarrow as pa
import pytest

from amqpcodec import capture, v0_9_1
from amqpcodec import v1_0 as v1
from tests.capture.rows import rows
from tests.support import recording as make
from tests.support import v1_talk
from tests.support.amqp10_wire import transfer_of
from tests.support.logins import (
    BODIES,
    CHALLENGES,
    MECHANISMS,
    SECRET,
    TOKEN,
    begin,
    cbs,
    login_0x,
    login_v1,
    put_token,
    with_damage,
)


def read(
    client: bytes, *, server: bytes = b"", syn: bool = True, segment_bytes: int = 700, **how: Any
) -> Any:
    packets = make.opening() if syn else []
    packets += [
        make.client(1001 + at, client[at : at + segment_bytes])
        for at in range(0, len(client), segment_bytes)
    ]
    packets += [
        make.server(5001 + at, server[at : at + segment_bytes])
        for at in range(0, len(server), segment_bytes)
    ]
    return list(capture.read(io.BytesIO(make.pcap(packets)), **how))


def everything(batches: list[Any]) -> bytes:
    """All text and bytes of all columns."""
    return repr([pa.record_batch(batch).to_pylist() for batch in batches]).encode()


@pytest.mark.parametrize("segment_bytes", [700, 20])
@pytest.mark.parametrize("end", [None, -3])
@pytest.mark.parametrize("mechanism", CHALLENGES)
def test_what_servers_ask_is_hidden(mechanism: str, end: int | None, segment_bytes: int) -> None:
    """Also where the last frame is cut off."""
    challenges, data = CHALLENGES[mechanism]
    old = b"".join(
        v0_9_1.encode(0, v0_9_1.Connection.Secure(challenge)) for challenge in challenges
    )
    new = b"".join(v1.encode(0, v1.SaslChallenge(challenge)) for challenge in challenges)
    if data:
        new += v1.encode(0, v1.SaslOutcome(0, data))
    for header, server, name in (
        (v0_9_1.PROTOCOL_HEADER, old, "connection.secure"),
        (v1.SASL_HEADER, v1.SASL_HEADER + new, "sasl-challenge"),
    ):
        sent = read(header, server=server[:end], segment_bytes=segment_bytes)
        shown = everything(sent)
        for piece in (SECRET, SECRET[:8], SECRET[8:16]):
            assert piece not in shown
        assert name.encode() in shown or end is not None
        assert SECRET in everything(read(header, server=server, redact=False))


@pytest.mark.parametrize("level", ["frame", "message"])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_logins_of_every_mechanism_are_hidden(mechanism: str, level: str) -> None:
    for data in (login_0x(mechanism, {"product": "p"}), login_v1(mechanism)):
        shown = everything(read(data, level=level))
        assert SECRET not in shown
        if level == "frame":
            assert mechanism.encode() in shown
            assert SECRET in everything(read(data, level=level, redact=False))


def test_properties_named_like_secrets_are_hidden() -> None:
    properties = {
        "product": "shown-product",
        "Password": SECRET.decode(),
        "nested": {"access_token": SECRET, "deeper": {"client-secret": SECRET.decode()}},
        "n": 5,
        "when": 1.5,
        "capabilities": {"basic.nack": True},
        "passwd": SECRET,
        "last": "shown-last",
    }
    shown = everything(read(login_0x("PLAIN", properties)))
    assert SECRET not in shown
    for text in (b"shown-product", b"shown-last", b"basic.nack", b"access_token"):
        assert text in shown
    opened = v1.Open(
        "c",
        properties=v1.Map(
            [
                (v1.Symbol("product"), "shown-product"),
                (v1.Symbol("described"), v1.Described(v1.Symbol("x"), ["y"])),
                (v1.Described(v1.Symbol("password"), 1), "shown-of-described"),
                (5, "shown-five"),
                (v1.Symbol("sas-token"), SECRET.decode()),
                (v1.Symbol("PASSWORD"), SECRET),
                (v1.Symbol("last"), "shown-last"),
            ]
        ),
    )
    shown = everything(read(v1.PROTOCOL_HEADER + v1.encode(0, opened) + v1_talk.attach()))
    assert SECRET not in shown
    for text in (b"shown-product", b"shown-of-described", b"shown-five", b"shown-last"):
        assert text in shown


@pytest.mark.parametrize("tag", [b"S\0\0", b"I\0\0", b"T\0", b"D"])
def test_properties_that_end_within_a_value(tag: bytes) -> None:
    """What comes before it is hidden, and the frame is a row."""
    table = b"\x08passwordS\0\0\0\x15" + SECRET + b"\1n" + tag
    body = b"\0\x0a\0\x0b" + len(table).to_bytes(4, "big") + table + b"\5PLAIN\0\0\0\0\5en_US"
    frame = b"\1\0\0" + len(body).to_bytes(4, "big") + body + b"\xce"
    shown = everything(read(v0_9_1.PROTOCOL_HEADER + frame))
    assert SECRET not in shown
    assert b"passwordS" in shown


@pytest.mark.parametrize("level", ["frame", "message"])
@pytest.mark.parametrize("frame", [0, 512, 700])
@pytest.mark.parametrize("body", [None, TOKEN, [TOKEN], {"token": TOKEN.decode()}])
def test_tokens_put_to_cbs_are_hidden(level: str, frame: int, body: Any) -> None:
    after = v1_talk.attach(4) + v1_talk.transfer(v1_talk.message("shown-after"), 1, handle=4)
    start = v1.PROTOCOL_HEADER + v1_talk.opening() + cbs()
    batches = read(start + put_token(frame=frame, body=body) + after, level=level)
    shown = everything(batches)
    for piece in (TOKEN[:20], b"T" * 40, TOKEN[-10:]):
        assert piece not in shown
    for piece in (b"shown-id", b"put-token", b"shown-after"):
        assert piece in shown
    open_ = everything(
        read(start + put_token(frame=frame, body=body) + after, level=level, redact=False)
    )
    assert b"T" * 40 in open_


@pytest.mark.parametrize(
    "sections",
    [
        {},
        {"message_id": "shown-id"},
        {"durable": True, "message_id": "shown-id"},
        {"durable": True, "message_id": "shown-id", "application_properties": {"shown": 1}},
    ],
)
def test_tokens_are_hidden_after_any_number_of_sections(sections: dict[str, Any]) -> None:
    transfer = v1.Transfer(handle=3, delivery_id=0, delivery_tag=b"t")
    sent = v1.encode_message(0, transfer, v1.Message(TOKEN.decode(), **sections))
    shown = everything(read(v1.PROTOCOL_HEADER + v1_talk.opening() + cbs() + sent))
    for piece in (TOKEN[:20], b"T" * 40, TOKEN[-10:]):
        assert piece not in shown
    assert (b"shown-id" in shown) == ("message_id" in sections)


@pytest.mark.parametrize("more", [None, False])
def test_a_token_ends_where_its_last_transfer_says_so(more: bool | None) -> None:
    transfer = v1.Transfer(handle=3, delivery_id=0, delivery_tag=b"t", more=more)
    first = v1.encode(0, transfer, v1.Message("token", message_id="first-id").encode())
    start = v1.PROTOCOL_HEADER + v1_talk.opening() + cbs()
    assert b"shown-id" in everything(read(start + first + put_token()))


@pytest.mark.parametrize("frame", [0, 700])
def test_tokens_are_known_where_the_capture_began_later(frame: int) -> None:
    start = v1_talk.transfer(v1_talk.message("shown-first"), 0, handle=1) * 3
    shown = everything(read(start + put_token(frame=frame), syn=False))
    for piece in (TOKEN[:20], b"T" * 40, TOKEN[-10:]):
        assert piece not in shown
    assert b"shown-first" in shown


def test_the_link_is_remembered_by_a_state() -> None:
    data = v1.PROTOCOL_HEADER + v1_talk.opening() + cbs() + put_token(frame=700)
    packets = make.opening()
    packets += [make.client(1001 + at, data[at : at + 300]) for at in range(0, len(data), 300)]
    capture_bytes = make.pcap(packets)
    for stop in range(1500, len(capture_bytes), 700):
        reader = capture.Reader(io.BytesIO(capture_bytes))
        shown = everything(list(reader.read(stop=stop)))
        state = reader.state()
        reader = capture.Reader(io.BytesIO(capture_bytes))
        reader.resume(state)
        shown += everything(list(reader.read()))
        for piece in (TOKEN[:20], b"T" * 40, TOKEN[-10:]):
            assert piece not in shown


@pytest.mark.parametrize("name", BODIES)
def test_what_a_message_to_cbs_has_in_the_place_of_its_body_is_hidden(name: str) -> None:
    payload = BODIES[name]
    start = v1.PROTOCOL_HEADER + v1_talk.opening() + cbs()
    after = v1_talk.attach(4) + v1_talk.transfer(v1_talk.message("shown-after"), 1, handle=4)
    sent = v1_talk.transfer(payload, 0, handle=3)
    shown = everything(read(start + sent + after))
    assert TOKEN[:20] not in shown
    assert b"T" * 40 not in shown
    assert b"shown-after" in shown
    assert repr(payload)[2:-1].encode() in everything(read(start + sent + after, redact=False))


def frames_of(data: bytes) -> list[bytes]:
    out = []
    while data:
        size = int.from_bytes(data[:4], "big")
        out.append(data[:size])
        data = data[size:]
    return out


def test_tokens_are_hidden_on_every_link_to_cbs() -> None:
    """More than there is room for, in two sessions, and each token within the others."""
    start = v1.PROTOCOL_HEADER + v1_talk.opening() + begin(1)
    links = [(channel, handle) for channel in (0, 1) for handle in (3, 5, 6, 7, 8)]
    for count in (2, 8, 9, 10):
        data = start + b"".join(cbs(handle=handle, channel=channel) for channel, handle in links)
        tokens = [
            put_token(frame=700, handle=handle, channel=channel)
            for channel, handle in links[:count]
        ]
        frames = [frames_of(token) for token in tokens]
        data += b"".join(
            frame for round_frames in zip(*frames, strict=True) for frame in round_frames
        )
        data += b"".join(tokens)
        for level in ("frame", "message"):
            shown = everything(read(data, level=level))
            for piece in (TOKEN[:20], b"T" * 40, TOKEN[-10:]):
                assert piece not in shown
            assert b"shown-id" in shown


def test_a_handle_that_another_link_has_now_is_no_secret() -> None:
    start = v1.PROTOCOL_HEADER + v1_talk.opening() + cbs() + put_token()
    after = v1.encode(0, v1.Detach(3, True)) + v1_talk.attach(3)
    after += v1_talk.transfer(v1_talk.message("shown-after"), 1, handle=3)
    shown = everything(read(start + after))
    assert b"shown-after" in shown
    assert b"T" * 40 not in shown


@pytest.mark.parametrize("level", ["frame", "message"])
@pytest.mark.parametrize("frame", [0, 700])
def test_tokens_are_hidden_where_bytes_are_missing(level: str, frame: int) -> None:
    """Wherever a packet is missing: the attach, or a part of the token."""
    parts = [v1.PROTOCOL_HEADER + v1_talk.opening(), cbs(), v1_talk.attach(9)]
    token = put_token(frame=frame)
    parts += [token[at : at + 400] for at in range(0, len(token), 400)]
    parts += [v1_talk.transfer(v1_talk.message("shown-after"), i, handle=9) for i in range(5)]
    for missing in range(1, len(parts) - 1):
        packets, at = make.opening(), 1001
        for i, part in enumerate(parts):
            if i != missing:
                packets.append(make.client(at, part))
            at += len(part)
        shown = everything(list(capture.read(io.BytesIO(make.pcap(packets)), level=level)))
        for piece in (TOKEN[:20], b"T" * 40, TOKEN[-10:]):
            assert piece not in shown, missing
        assert b"shown-after" in shown


#: The list of a transfer that no link's may be.
MALFORMED = {
    "no fields": b"\x45",
    "no fields, counted": b"\xc0\1\0",
    "a null handle": b"\xc0\2\1\x40",
    "a handle of another type": b"\xc0\3\1\xa1\0",
    "more fields than a transfer has": b"\xc0\x0d\x0c" + b"\x40" * 12,
    "a list that is longer than the frame": b"\xc0\xff\1\x52\3",
    "no list": b"\x52\3",
}


@pytest.mark.parametrize("syn", [True, False])
@pytest.mark.parametrize("name", MALFORMED)
def test_tokens_of_malformed_transfers_are_hidden(name: str, syn: bool) -> None:
    """It cannot be said whose they are."""
    [payload] = [v1.decode(frame)[2].payload for frame in frames_of(put_token())]
    start = (v1.PROTOCOL_HEADER if syn else b"") + v1_talk.opening() + cbs()
    sent = transfer_of(MALFORMED[name], payload)
    after = v1_talk.attach(4) + v1_talk.transfer(v1_talk.message("shown-after"), 1, handle=4)
    for level in ("frame", "message"):
        shown = everything(read(start + sent + after, syn=syn, level=level))
        for piece in (TOKEN[:20], b"T" * 40, TOKEN[-10:]):
            assert piece not in shown
        assert b"shown-after" in shown
    assert b"T" * 40 in everything(read(start + sent + after, syn=syn, redact=False))


def test_a_malformed_transfer_hides_nothing_where_no_token_is_put() -> None:
    sent = transfer_of(MALFORMED["no fields"], v1_talk.message("shown"))
    data = v1.PROTOCOL_HEADER + v1_talk.opening() + v1_talk.attach(4) + sent
    assert b"shown" in everything(read(data))
    first = v1_talk.transfer(v1_talk.message("first"), 0, handle=1)
    assert b"shown" in everything(read(first * 3 + sent, syn=False))


def test_an_attach_without_a_handle_may_be_one_to_cbs() -> None:
    fields = b"\xa1\1l\x40\x42\x40\x40\x40\0\x53\x29\xc0\7\1\xa1\4$cbs"
    performative = b"\0\x53\x12\xc0" + bytes([len(fields) + 1, 7]) + fields
    link = (8 + len(performative)).to_bytes(4) + b"\2\0\0\0" + performative
    start = v1.PROTOCOL_HEADER + v1_talk.opening() + link
    shown = everything(read(start + put_token()))
    assert TOKEN[:20] not in shown
    assert b"T" * 40 not in shown


#: What stands before the body of a message to $cbs -> bytes of each of its transfers.
LONG_BEFORE = {
    "a long id": ({"message_id": "i" * 1100}, 0),
    "a long id, in several transfers": ({"message_id": "i" * 1100}, 512),
    "long properties after the operation": ({}, 512),
}


@pytest.mark.parametrize("name", LONG_BEFORE)
def test_the_operation_is_looked_for_up_to_the_body(name: str) -> None:
    fields, frame = LONG_BEFORE[name]
    properties = {"operation": "put-token", "name": "n" * 1000}
    message = v1.Message(TOKEN.decode(), application_properties=properties, **fields)
    transfer = v1.Transfer(handle=3, delivery_id=0, delivery_tag=b"t")
    sent = v1.encode_message(0, transfer, message, frame_max=frame or 131072)
    first = v1_talk.transfer(v1_talk.message("shown-first, no put-token"), 0, handle=1)
    shown = everything(read(first * 3 + sent, syn=False))
    for piece in (TOKEN[:20], b"T" * 40, TOKEN[-10:]):
        assert piece not in shown
    assert b"shown-first" in shown


@pytest.mark.parametrize("name", ["sas-token", "db_pwd", "API_KEY", "x-api-key", "apikey"])
def test_properties_of_sessions_and_links_are_hidden_as_those_of_connections(name: str) -> None:
    pairs = {v1.Symbol("product"): "shown-product", v1.Symbol(name): SECRET.decode()}
    target = v1.Target("$cbs", dynamic_node_properties=pairs)
    frames = (
        v1.Open("c", properties=pairs),
        v1.Begin(None, 0, 1, 1, properties=pairs),
        v1.Attach("n", 3, False, source=v1.Source("x"), target=target, properties=pairs),
    )
    start = v1.PROTOCOL_HEADER + v1_talk.opening()
    for frame in frames:
        shown = everything(read(start + v1.encode(0, frame) + put_token()))
        assert SECRET not in shown
        assert b"shown-product" in shown
        assert name.encode() in shown
        if isinstance(frame, v1.Attach):
            assert b"T" * 40 not in shown
    old = everything(read(login_0x("PLAIN", {"product": "shown-product", name: SECRET})))
    assert SECRET not in old
    assert b"shown-product" in old


def shows_some(shown: bytes, secret: bytes) -> bool:
    """Whether nine of its bytes are shown, which no name of a method has."""
    return any(secret[at : at + 9] in shown for at in range(len(secret) - 8))


@pytest.mark.parametrize("level", ["frame", "message"])
@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
@pytest.mark.parametrize("login", [login_0x, login_v1])
def test_logins_with_any_damaged_byte_are_hidden(login: Any, mechanism: str, level: str) -> None:
    """The type of a frame, its channel, size or end; the method; the lengths of its arguments."""
    data = login(mechanism) if login is login_v1 else login(mechanism, {"product": "p"})
    assert not shows_some(everything(read(data, level=level)), SECRET)
    for changed in with_damage(data, 8, SECRET):
        assert not shows_some(everything(read(changed, level=level)), SECRET), changed


@pytest.mark.parametrize("old", [True, False])
def test_challenges_with_any_damaged_byte_are_hidden(old: bool) -> None:
    challenges, outcome = CHALLENGES["SCRAM-SHA-256"]
    if old:
        header, server = v0_9_1.PROTOCOL_HEADER, b""
        for challenge in challenges:
            server += v0_9_1.encode(0, v0_9_1.Connection.Secure(challenge))
    else:
        header = server = v1.SASL_HEADER
        server += v1.encode(0, v1.SaslChallenge(challenges[0]))
        server += v1.encode(0, v1.SaslOutcome(0, outcome))
    framing = (0, 7) if old else (8, 16)
    for changed in with_damage(server, 0 if old else 8, SECRET):
        if changed[framing[0] : framing[1]] == server[framing[0] : framing[1]]:
            assert not shows_some(everything(read(header, server=changed)), SECRET), changed


def test_tokens_with_any_damaged_byte_before_them_are_hidden() -> None:
    """Of the frame that puts one: its size, type, offset, performative and sections. (With another
    channel or handle it is another link's.)"""
    start = v1.PROTOCOL_HEADER + v1_talk.opening() + cbs()
    secret = TOKEN[:9]
    sent = put_token()
    for changed in with_damage(sent[: sent.index(TOKEN)], 0, secret):
        whose = slice(6, 8), slice(11, 16)
        if all(changed[part] == sent[part] for part in whose):
            shown = everything(read(start + changed + sent[len(changed) :], segment_bytes=4000))
            assert b"T" * 40 not in shown, changed


@pytest.mark.parametrize("spot", [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
def test_damaged_logins_are_hidden_where_a_packet_is_missing(spot: int) -> None:
    """The end of a frame whose beginning was damaged, after a gap."""
    login = v0_9_1.encode(0, v0_9_1.Connection.StartOk({}, "PLAIN", b"\0u\0" + SECRET * 40, "en"))
    after = v0_9_1.encode(0, v0_9_1.Connection.TuneOk(1, 131072, 60)) * 4
    for value in (0, 2, 3, 9, login[spot] ^ 1):
        changed = login[:spot] + bytes([value]) + login[spot + 1 :]
        data = v0_9_1.PROTOCOL_HEADER + changed + after
        packets = [*make.opening(), make.client(1001, data[:100])]
        packets += [
            make.client(1001 + at, data[at : at + 100]) for at in range(200, len(data), 100)
        ]
        shown = everything(list(capture.read(io.BytesIO(make.pcap(packets)))))
        assert not shows_some(shown, SECRET), changed


@pytest.mark.parametrize("size", [3, 4])
@pytest.mark.parametrize("method", [b"\x00\x0a\x00\x0b", b"\x00\x0a\x00\x14", b"\x00\x0a\x00\x46"])
def test_a_method_that_ends_within_its_numbers_is_no_login(size: int, method: bytes) -> None:
    """Its last byte is taken for the end of the frame: nothing before the frame is touched."""
    frame = b"\x01\0\0" + size.to_bytes(4, "big") + method + b"\xce"
    sent = b"AMQP\0\0\x09\x01" + frame[: size + 8]
    for parts in ([sent], [sent[:8], sent[8:]]):
        octets = make.pcap(make.packets([(0, part) for part in parts]))
        frame_rows = rows(octets)
        assert frame_rows[0]["frame"] == sent[:8]
        assert b"".join(row["frame"] for row in frame_rows[1:]).startswith(frame[:7])


def test_a_response_that_is_a_number_is_hidden_alone() -> None:
    fields = b"\xa3\x05PLAIN" + b"\x52\x05" + b"\xa1\x01h"
    body = b"\0\x53\x41\xc0" + bytes([1 + len(fields), 3]) + fields
    sent = (8 + len(body)).to_bytes(4, "big") + b"\2\1\0\0" + body
    shown = rows(make.pcap(make.packets([(0, b"AMQP\3\1\0\0" + sent)])), redact=True)
    assert shown[-1]["frame"] == sent.replace(b"\x52\x05", b"\x52*")


def test_a_login_that_ends_behind_the_size_of_an_empty_table() -> None:
    """There is nothing to hide in it yet."""
    login = v0_9_1.encode(0, v0_9_1.Connection.StartOk({}, "PLAIN", b"\0u\0" + SECRET, "en"))
    assert login[11:15] == bytes(4)
    sent = v0_9_1.PROTOCOL_HEADER + login[:15]
    assert rows(make.pcap(make.packets([(0, sent)])), redact=True)[-1]["frame"] == login[:15]


@pytest.mark.parametrize("size", range(8))
def test_a_frame_of_1_0_that_is_shorter_than_its_head(size: int) -> None:
    """What follows it is hidden where a token may come, and nothing else is written."""
    start = v1_talk.AMQP + v1_talk.opening()
    frame = size.to_bytes(4, "big") + b"\x02\0\0\0" + b"secret-token"
    for syn in (True, False):
        sent = make.packets([(0, start), (0, frame)])
        octets = make.pcap(sent if syn else sent[2:])
        frame_rows = rows(octets, protocol="1.0")
        assert b"".join(row["frame"] for row in frame_rows)
        assert len(frame_rows) < 10
