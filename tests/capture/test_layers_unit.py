"""What stands between TCP and frames: its bounds, and states and bytes that somebody made up."""

from __future__ import annotations

import json
import random
import ssl
from typing import Any

import pytest

from amqpcodec.capture import KeyLog
from amqpcodec.capture._layers import Layers, _derived, _handshake, _keylog, _sessions, _state, _tls
from amqpcodec.capture._layers._items import Item, Stop
from amqpcodec.capture._layers._keylog import Keys
from tests.support.plain_talk import TALK, message
from tests.support.tls_talk import CLIENT, SERVER, Payloads, Talker, split_segments
from tests.support.web_socket import EXTENSIONS, over_web

pytest.importorskip("cryptography")

RECORD = b"\x17\3\3"


def tls_of(talker: Talker | None = None) -> tuple[_tls.Tls, list[str]]:
    reasons: list[str] = []
    keys = KeyLog(b"" if talker is None else talker.keys)
    return _tls.Tls(keys, _sessions.Sessions(), reasons.append), reasons


def fed(tls: _tls.Tls, conversation: Payloads) -> list[tuple[int, Item]]:
    return [item for side, data in conversation for item in tls.receive(side, data)]


def test_bytes_that_wait_are_bounded():
    """A direction of which the other one's hello never comes."""
    talker = Talker()
    hello = talker.talk([])[0]
    tls, reasons = tls_of(talker)
    record = RECORD + (16_384).to_bytes(2, "big") + bytes(16_384)
    assert fed(tls, [hello, *[(CLIENT, record)] * 15]) == []
    assert len(tls.sides[CLIENT].buffer) < _tls.LARGEST_WAIT
    assert fed(tls, [(CLIENT, record)] * 2) == [(CLIENT, None), (SERVER, None)]
    assert reasons == [_tls.NO_HANDSHAKE] * 2
    assert len(tls.sides[CLIENT].buffer) == 0
    assert fed(tls, [(CLIENT, record), (SERVER, record)]) == []


def test_a_gap_before_the_hello_of_its_direction_ends_both():
    talker = Talker()
    hello = talker.talk([])[0]
    for sides, side, expected in (
        ([], CLIENT, [(CLIENT, None), (SERVER, None)]),
        ([hello], SERVER, [(CLIENT, None), (SERVER, None)]),
        ([hello], CLIENT, [(CLIENT, 10)]),
    ):
        tls, reasons = tls_of(talker)
        fed(tls, sides)
        assert sorted(tls.lost(side, 10)) == expected
        assert reasons == [_tls.NO_HANDSHAKE] * (len(expected) - 1) * 2


def test_application_data_in_clear_end_both_directions():
    talker = Talker(ssl.TLSVersion.TLSv1_2)
    tls, reasons = tls_of(talker)
    fed(tls, talker.talk([])[:2])
    assert sorted(fed(tls, [(CLIENT, RECORD + b"\0\5hello")])) == [(CLIENT, None), (SERVER, None)]
    assert reasons == [_tls.NO_HANDSHAKE] * 2


@pytest.mark.parametrize(("size", "items"), [(18_432, []), (18_433, [(CLIENT, None)])])
def test_a_record_has_two_kilobytes_more_than_its_content_may_have(size: int, items: list[Any]):
    """RFC 5246, 6.2.3: 2^14 + 2048 bytes at most."""
    talker = Talker()
    tls, _ = tls_of(talker)
    fed(tls, talker.talk([])[:1])
    assert fed(tls, [(CLIENT, RECORD + size.to_bytes(2, "big") + bytes(100))]) == items


def test_large_handshake_messages_are_passed_over():
    messages = _handshake.Messages()
    size = (_handshake.LARGEST + 1).to_bytes(3, "big")
    assert list(messages.feed(b"\1" + size + bytes(60_000))) == [(1, b"")]
    assert len(messages.buffer) == 0
    assert list(messages.feed(bytes(_handshake.LARGEST + 1 - 60_000) + b"\x14\0\0\1x")) == [
        (20, b"")
    ]
    for at in range(1, 8):
        cut_up = _handshake.Messages()
        handshake_bytes = b"\1\0\0\4abcd\x14\0\0\2xy"
        assert [*cut_up.feed(handshake_bytes[:at]), *cut_up.feed(handshake_bytes[at:])] == [
            (1, b"abcd"),
            (20, b""),
        ]


@pytest.mark.parametrize(
    ("skip", "is_allowed"), [(1, True), (1 << 24, True), ((1 << 24) + 1, False)]
)
def test_a_state_within_a_large_handshake_message(skip: int, is_allowed: bool):
    """Its length has three bytes, so that no more than 2**24 can be left of it."""
    tls, _ = tls_of()
    tls.sides[SERVER].messages.skip = skip
    values = json.loads(json.dumps(_state.dump_tls(tls)))
    again, _ = tls_of()
    if is_allowed:
        _state.load_tls(again, values)
        assert again.sides[SERVER].messages.skip == skip
    else:
        with pytest.raises(ValueError, match="skip is out of its range"):
            _state.load_tls(again, values)


@pytest.mark.parametrize(("digits", "bad_lines"), [(64, []), (65, [1]), (96, []), (127, [1])])
def test_a_secret_has_two_digits_a_byte(digits: int, bad_lines: list[int]):
    log = KeyLog([f"CLIENT_RANDOM {0:064x} {0:0{digits}x}"])
    assert log.bad_lines == bad_lines
    assert bool(log) is not bool(bad_lines)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_no_key_is_tried_where_all_was_captured(
    monkeypatch: pytest.MonkeyPatch, version: ssl.TLSVersion
):
    """The messages of the handshake say which key is next."""
    monkeypatch.setattr(_tls.Tls, "_guess", lambda *args: pytest.fail("a key is guessed"))
    talker = Talker(version)
    conversation = talker.talk(TALK, close=False)
    tls, reasons = tls_of(talker)
    items = fed(tls, conversation)
    for side in (CLIENT, SERVER):
        plain = [item for direction, item in items if direction == side and isinstance(item, bytes)]
        assert b"".join(plain) == b"".join(data for direction, data in TALK if direction == side)
    assert reasons == []


def test_what_is_tried_after_the_end_of_a_record_that_is_cut(monkeypatch: pytest.MonkeyPatch):
    """Its head says how many of the missing bytes are its own; 30 more hide few records."""
    talker = Talker()
    conversation = talker.talk(TALK, close=False)
    tls, _ = tls_of(talker)
    fed(tls, [*conversation, (CLIENT, RECORD + (8000).to_bytes(2, "big") + bytes(10))])
    numbers: list[int] = []

    def noted(self: _tls.Tls, side: int, sequence: int, head: bytes, record: bytes) -> None:
        numbers.append(sequence)

    monkeypatch.setattr(_tls.Tls, "_try", noted)
    first = tls.sides[CLIENT].sequence + 1
    tls.lost(CLIENT, 7990 + 30)
    fed(tls, [(CLIENT, (RECORD + b"\0\x64" + bytes(100)) * 2)])
    assert set(numbers) == {*range(first, first + 4), *range(4)}  # of these keys, or the next ones


def test_what_is_tried_after_a_gap_is_bounded(monkeypatch: pytest.MonkeyPatch):
    """Bytes that look like records in every place, after a gap that may be as large as it likes."""
    talker = Talker()
    conversation = talker.talk(TALK, close=False)
    tls, reasons = tls_of(talker)
    fed(tls, conversation)
    tried = opened = 0
    original = _tls.Tls._try

    def counted(self: _tls.Tls, side: int, sequence: int, head: bytes, record: bytes) -> Any:
        nonlocal tried, opened
        tried += 1
        opened += len(record)
        return original(self, side, sequence, head, record)

    monkeypatch.setattr(_tls.Tls, "_try", counted)
    assert tls.lost(CLIENT, 1 << 30) == [(CLIENT, 1 << 30)]
    items = fed(tls, [(CLIENT, b"\x17\3\3\x40\1" * 20_000)])
    assert items[-1] == (CLIENT, None)
    assert reasons == [_tls.TOO_MANY_TRIALS]
    assert tried <= 2 * _tls.TRIED_PLACES * _tls.TRIED_NUMBERS
    assert opened <= 2 * _tls.TRIED_PLACES * (_tls.TRIED_BYTES + 20_000)


def test_sessions_are_bounded():
    sessions = _sessions.Sessions()
    for number in range(_sessions.KEPT + 10):
        sessions.remember(b"%d" % number, bytes(32))
    assert len(sessions.known) == _sessions.KEPT
    assert sessions.find(b"9") is None
    assert sessions.find(b"10") == bytes(32)


def test_secrets_of_captures_are_bounded(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(_keylog, "KEPT", 10)
    line = b"CLIENT_RANDOM %064x " + b"ab" * 48
    keys = Keys(KeyLog([line % 1000]))
    keys.bring(line % number for number in range(30))
    assert repr(keys.brought) == "<KeyLog of 10 secrets>"
    secrets = [keys.find("CLIENT_RANDOM", number.to_bytes(32, "big")) for number in (1000, 19, 20)]
    assert secrets == [(b"\xab" * 48,), (), (b"\xab" * 48,)]


def test_key_updates_are_bounded():
    talker = Talker()
    conversation = talker.talk(TALK, close=False)
    tls, reasons = tls_of(talker)
    fed(tls, conversation)
    side = tls.sides[CLIENT]
    for number in range(_derived.LAST_UPDATE):
        assert side.updates == number
        tls._message(CLIENT, _handshake.KEY_UPDATE, b"")
    with pytest.raises(Stop):
        tls._message(CLIENT, _handshake.KEY_UPDATE, b"")
    assert reasons == []


# ---- what somebody made up ----


def conversations() -> list[tuple[Payloads, bytes]]:
    """Over TLS of both versions, over WebSocket, and over both; with their keys."""
    talks_with_keys: list[tuple[Payloads, bytes]] = []
    small = [*TALK[:3], (CLIENT, message(600)), *TALK[4:]]
    for version, talk in (
        (ssl.TLSVersion.TLSv1_2, small),
        (ssl.TLSVersion.TLSv1_3, over_web(small, EXTENSIONS[1])),
    ):
        talker = Talker(version)
        talks_with_keys.append((split_segments(talker.talk(talk), (90,)), talker.keys))
    return [*talks_with_keys, (split_segments(over_web(small, EXTENSIONS[1]), (90,)), b"")]


CONVERSATIONS = conversations()


def used(layers: Layers, conversation: Payloads, tls: bool, chance: random.Random) -> None:
    """Whatever comes, each answer is one of those that the core takes."""
    for side, data in conversation:
        if chance.random() < 0.1:
            items = layers.lost(0, side, chance.choice([1, 90, 5000, 1 << 40]))
        else:
            items = layers.receive(0, side, tls, data)
        for item_side, item in items:
            assert item_side in (CLIENT, SERVER)
            assert item is None or (isinstance(item, bytes) and item) or type(item) is int
    layers.store()
    layers.end(0)
    layers.counts()


@pytest.mark.parametrize("kind", range(3))
def test_bytes_that_are_changed(kind: int):
    """Bits turned, pieces lost, doubled and swapped: answers, or reasons, and nothing else."""
    conversation, keys = CONVERSATIONS[kind]
    for seed in range(150):
        chance = random.Random(seed)
        changed = list(conversation)
        for _ in range(chance.randrange(4)):
            at = chance.randrange(len(changed))
            side, data = changed[at]
            bad = bytearray(data)
            bad[chance.randrange(len(bad))] ^= 1 << chance.randrange(8)
            changed[at] = side, bytes(bad)
        for _ in range(chance.randrange(3)):
            at, to = chance.randrange(len(changed)), chance.randrange(len(changed))
            changed[at] = changed[to]
        used(Layers(KeyLog(keys)), changed, kind < 2, chance)


@pytest.mark.parametrize("kind", range(3))
def test_bytes_of_nobody(kind: int):
    chance = random.Random(kind)
    for _ in range(100):
        segments = [
            (chance.randrange(2), chance.randbytes(chance.randrange(1, 200))) for _ in range(20)
        ]
        heads = (b"\x16\3\1\0\x40\1\0\0\x3c\3\3", b"\x17\3\3\0\x20", b"GET / HTTP/1.1\r\n\r\n")
        segments = [(side, heads[kind] + data) for side, data in segments]
        used(Layers(KeyLog(CONVERSATIONS[0][1])), segments, kind < 2, chance)


def changes(value: Any, chance: random.Random) -> Any:
    """A value like it, one thing inside of it another one."""
    if isinstance(value, dict) and value:
        key = chance.choice(sorted(value))
        return {**value, key: changes(value[key], chance)}
    if isinstance(value, list) and value:
        at = chance.randrange(len(value))
        return [*value[:at], changes(value[at], chance), *value[at + 1 :]]
    if isinstance(value, str) and value and chance.random() < 0.5:
        at = chance.randrange(len(value))
        return value[:at] + chance.choice("0123456789abcdefx") + value[at + 1 :]
    return chance.choice([0, 1, 2, 3, 4, 255, 1 << 20, 1 << 62, -1, True, None, "", "00", [], {}])


@pytest.mark.parametrize("kind", range(3))
def test_states_that_are_changed(kind: int):
    """Whatever is in a state: it is refused, or all goes on somehow."""
    conversation, keys = CONVERSATIONS[kind]
    refused = 0
    for seed in range(400):
        chance = random.Random(seed)
        stop = chance.randrange(1, len(conversation))
        layers = Layers(KeyLog(keys))
        for side, data in conversation[:stop]:
            layers.receive(0, side, kind < 2, data)
        bad = changes(json.loads(layers.store()), chance)
        layers = Layers(KeyLog(keys))
        try:
            layers.load(json.dumps(bad).encode())
        except ValueError:
            refused += 1
            assert layers.store() == b""
        used(layers, conversation[stop:], kind < 2, chance)
    assert 100 < refused < 400


@pytest.mark.parametrize("state", [b"{", b"[]", b"7", b'{"reasons": 7}', b"[" * 100_000, b"\xff"])
def test_states_that_are_none(state: bytes):
    with pytest.raises(ValueError, match="damaged"):
        Layers().load(state)
