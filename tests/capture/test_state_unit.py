"""The seal of a reader's state: whatever is not what state() gave is refused, and says why."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest

from amqpcodec import capture
from amqpcodec import v0_9_1 as amqp
from tests.paths import REPO
from tests.support import event_talk, mangle
from tests.support import recording as make
from tests.support.batches import rows_of

pa = pytest.importorskip("pyarrow")

PARTS = mangle.parts(REPO / "demo" / "kombu_celery.pcap.gz")[:300]
KEY, OTHER = b"k" * 32, b"l" * 32


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "x.pcap"
    path.write_bytes(make.pcap(mangle.records(PARTS)))
    return path


def half_read(path: Path) -> capture.Reader:
    reader = capture.Reader(path)
    for _ in reader.read(stop=path.stat().st_size // 2):
        pass
    return reader


@pytest.mark.parametrize("key", [None, KEY, b"0123456789abcdef" * 20])
@pytest.mark.parametrize("encrypt", [False, True])
def test_sealed_states_go_on(path: Path, key: bytes | None, encrypt: bool):
    if encrypt:
        pytest.importorskip("cryptography")
    reader = half_read(path)
    if encrypt and key is None:
        with pytest.raises(ValueError, match="needs a key"):
            reader.state(encrypt=True)
        return
    state = reader.state(key, encrypt=encrypt)
    assert state == half_read(path).state(key, encrypt=encrypt)
    again = capture.Reader(path)
    again.resume(state, key)
    assert again.state(key, encrypt=encrypt) == state
    assert rows_of(again) == rows_of(reader)


@pytest.mark.parametrize("far", [2**31 - 1, -(2**31)])
def test_numbers_that_are_as_far_apart_as_they_can_be(far: int):
    """Whatever sequence numbers a recording has, the state of its reader is taken."""
    first = 1 << 31
    numbers = [first, first + far, *(first - far for _ in range(3)), first]
    packets = [make.client(number % 2**32, b"x" * 60) for number in numbers]
    packets += [make.server(9, b"y", make.ACK, (first + far + 60) % 2**32)]
    packets += [make.client((first - far) % 2**32, b"", make.SYN)]
    octets = make.pcap(packets)
    full_reader = capture.read(io.BytesIO(octets), order="none")
    expected = rows_of(full_reader)
    at = 24
    for packet in packets:
        at += 16 + len(packet)
        reader = capture.Reader(io.BytesIO(octets), order="none")
        first_rows = rows_of(reader.read(at))
        again = capture.Reader(io.BytesIO(octets), order="none")
        again.resume(reader.state())
        assert first_rows + rows_of(again) == expected
        assert again.stats() == full_reader.stats()


@pytest.mark.parametrize("encrypt", [False, True])
@pytest.mark.parametrize("key", [None, KEY])
def test_every_changed_byte_is_refused(path: Path, key: bytes | None, encrypt: bool):
    if encrypt and key is None:
        return
    if encrypt:
        pytest.importorskip("cryptography")
    state = half_read(path).state(key, encrypt=encrypt)
    for at in range(len(state)):
        bad = bytearray(state)
        bad[at] ^= 1 << at % 8
        with pytest.raises(capture.StateError, match="state"):
            capture.Reader(path).resume(bytes(bad), key)


def test_states_that_are_none(path: Path):
    state = half_read(path).state()
    assert state.startswith(b"AMQPCAP\x0a\x00")
    cases = {
        "not the state": b"",
        "version 6": b"AMQPCAP\x06" + state[8:],
        "there": state[:-1],
        "announced": state + b"\0",
        "cut": state[:12],
        "0 there": state[:17],
    }
    for words, bad in cases.items():
        with pytest.raises(capture.StateError, match=words):
            capture.Reader(path).resume(bad)


def test_keys(path: Path):
    reader = half_read(path)
    plain, keyed = reader.state(), reader.state(KEY)
    for state, key, words in (
        (plain, KEY, "sealed without a key"),
        (keyed, None, "sealed with a key"),
        (keyed, OTHER, "another key"),
    ):
        with pytest.raises(capture.StateError, match=words):
            capture.Reader(path).resume(state, key)
    with pytest.raises(ValueError, match="at least 16 bytes"):
        reader.state(b"short")
    with pytest.raises(TypeError, match="is bytes"):
        reader.state("a key of text, long enough")


def test_encrypted_states_show_nothing():
    pytest.importorskip("cryptography")
    secret = b"\0guest\0the-password"
    start_ok = bytes([1, 0, 0, 0, 0, 0, 200, 0, 10, 0, 11]) + bytes(4) + b"\5PLAIN" + b"\0\0\0\x13"
    packets = [*make.opening(), make.client(1001, b"AMQP\0\0\x09\1" + start_ok + secret)]
    octets = make.pcap(packets)
    reader = capture.Reader(io.BytesIO(octets))
    for _ in reader.read(stop=len(octets)):
        pass
    assert secret in reader.state()
    assert secret in reader.state(KEY)
    assert b"password" not in reader.state(KEY, encrypt=True)
    state = reader.state(KEY, encrypt=True)
    with pytest.raises(capture.StateError, match="another key"):
        capture.Reader(io.BytesIO(octets)).resume(state, OTHER)
    with pytest.raises(capture.StateError, match="sealed with a key"):
        capture.Reader(io.BytesIO(octets)).resume(state)


def test_encryption_needs_its_package(path: Path):
    program = (
        "import sys; sys.modules['cryptography'] = None\n"
        "from amqpcodec import capture\n"
        "reader = capture.Reader(sys.argv[1])\n"
        "print(len(reader.state(b'k' * 32)) > 100)\n"
        "try: reader.state(b'k' * 32, encrypt=True)\n"
        "except ImportError as error: print(error)\n"
    )
    process = subprocess.run(
        [sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True
    )
    assert process.stdout.splitlines()[0] == "True"
    assert "amqpcodec[crypto]" in process.stdout


@pytest.mark.parametrize(
    ("writer_options", "resume_options"),
    [
        ({}, {"level": "message"}),
        ({"level": "message"}, {}),
        ({}, {"protocol": "0-9-1"}),
        ({"protocol": "0-9"}, {"protocol": "0-8"}),
        ({"protocol": "1.0"}, {}),
    ],
)
def test_states_of_other_readers(path: Path, writer_options: dict, resume_options: dict):
    reader = capture.Reader(path, **writer_options)
    for _ in reader.read(stop=20_000):
        pass
    fresh = capture.Reader(path, **resume_options)
    with pytest.raises(capture.StateError, match="another level or other protocols"):
        fresh.resume(reader.state())
    # What was refused leaves nothing behind.
    assert rows_of(fresh) == rows_of(capture.Reader(path, **resume_options))


def test_a_reader_that_has_begun_takes_none(path: Path):
    reader = half_read(path)
    with pytest.raises(ValueError, match="begun"):
        reader.resume(reader.state())


def test_states_within_a_message_at_event_level(tmp_path: Path) -> None:
    """Of a body that is open, only what is known of its bytes is kept."""
    method = amqp.Basic.Publish(routing_key="jobs")
    octets = amqp.encode_message(1, method, amqp.Basic.Properties(), b"hello " * 20, frame_max=64)
    says = [*event_talk.login(), *event_talk.open_channel()]
    says += [(0, octets[at : at + 5]) for at in range(0, len(octets), 5)]
    path = event_talk.write(tmp_path / "x.pcap", make.packets(says))
    expected = rows_of(capture.read(path, "event"))
    (published,) = [row for row in expected if row["event"] == "published"]
    assert published["body_size"] == 120
    for stop in range(24, path.stat().st_size, 20):
        first, second = (capture.Reader(path, "event") for _ in range(2))
        before = rows_of(first.read(stop))
        second.resume(first.state())
        assert second.state() == first.state()
        assert before + rows_of(second) == expected
