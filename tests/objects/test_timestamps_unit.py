"""A timestamp that came from the wire is made when it is read, and nobody can tell."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from amqpcodec import types, v0_8, v0_9, v0_9_1

PROTOCOLS = [v0_9_1, v0_9, v0_8]
AT = datetime(2024, 2, 29, 23, 59, 58, tzinfo=UTC)
SECONDS = [0, 1, 86399, 86400, 951782400, 253402300799, 253402300800, 2**63 - 1, 2**63, 2**64 - 1]


def _readers() -> Iterator[Any]:
    """Each protocol's own decoder, and the one without generated readers."""
    for protocol in PROTOCOLS:
        yield pytest.param((protocol, True), id=protocol.__name__.rpartition(".")[2])
    yield pytest.param((v0_9_1, False), id="slow path")


@pytest.fixture(params=_readers(), name="came")
def _came(request: pytest.FixtureRequest) -> Any:
    protocol, fast = request.param

    def came(seconds: int, message_id: str = "m") -> Any:
        header = protocol.Header(1, protocol.Basic.Properties(message_id=message_id))
        flags_at = 7 + 12
        data = bytearray(protocol.encode(1, header))
        data[flags_at + 1] |= 0x40
        data[-1:-1] = seconds.to_bytes(8, "big")
        data[3:7] = (len(data) - 8).to_bytes(4, "big")
        if fast:
            result = protocol.decode(bytes(data))
        else:
            # An end of the property list that only trailing="keep" accepts sends it there.
            data[-1:-1] = b"!"
            data[3:7] = (len(data) - 8).to_bytes(4, "big")
            result = protocol.decode(bytes(data), trailing="keep")
        assert result is not None
        properties = result[2].properties
        assert protocol.encode(1, result[2]) == bytes(data)
        return properties

    came.protocol = protocol  # type: ignore[attr-defined]
    return came


@pytest.mark.parametrize("seconds", SECONDS)
def test_what_it_reads_as(came: Any, seconds: int) -> None:
    properties = came(seconds)
    if seconds <= 253402300799:
        expected: Any = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
        assert properties.timestamp.tzinfo is UTC
    else:
        expected = types.Timestamp(seconds)
    assert properties.timestamp == expected
    assert type(properties.timestamp) is type(expected)
    assert properties.timestamp is properties.timestamp


@pytest.mark.parametrize("seconds", SECONDS)
@pytest.mark.parametrize("read_first", [False, True])
def test_it_is_written_as_it_came(came: Any, seconds: int, read_first: bool) -> None:
    properties = came(seconds)
    if read_first:
        assert properties.timestamp is not None
    protocol = came.protocol
    written = protocol.encode(1, protocol.Header(1, properties))
    assert seconds.to_bytes(8, "big") in written
    properties.message_id = "another"  # whatever the frame was, it is encoded by value now
    written = protocol.encode(1, protocol.Header(1, properties))
    assert written.endswith(seconds.to_bytes(8, "big") + b"\xce")


def test_equality_with_and_without_reading(came: Any) -> None:
    one, same, other = came(7), came(7), came(8)
    assert one == same
    assert one != other
    assert one.timestamp != other.timestamp
    assert one == same  # one side is read
    assert same == one
    assert one != other
    assert other != one
    assert came(9) == came.protocol.Basic.Properties(
        message_id="m", timestamp=datetime(1970, 1, 1, 0, 0, 9, tzinfo=UTC)
    )
    assert came(9) != came.protocol.Basic.Properties(message_id="m")


@pytest.mark.parametrize(
    "through", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
@pytest.mark.parametrize("seconds", SECONDS)
def test_copies_and_pickles(came: Any, seconds: int, through: Any) -> None:
    again = through(came(seconds))
    assert again == came(seconds)
    assert again.timestamp == came(seconds).timestamp
    protocol = came.protocol
    header = protocol.Header(1, came(seconds))
    assert protocol.encode(1, protocol.Header(1, again)) == protocol.encode(1, header)


def test_repr_and_validate(came: Any) -> None:
    properties = came(7)
    properties.validate()
    assert f"timestamp={properties.timestamp!r}" in repr(came(7))


def test_assignment(came: Any) -> None:
    properties = came(7)
    properties.timestamp = AT
    assert properties.timestamp is AT
    protocol = came.protocol
    seconds = int(AT.timestamp()).to_bytes(8, "big")
    properties.message_id = "another"
    assert seconds in protocol.encode(1, protocol.Header(1, properties))
    properties.timestamp = None
    assert properties.timestamp is None
    assert properties == protocol.Basic.Properties(message_id="another")
    assert seconds not in protocol.encode(1, protocol.Header(1, properties))
    with pytest.raises(AttributeError, match="cannot be deleted"):
        del properties.timestamp


def test_absent_and_made_by_hand() -> None:
    for protocol in PROTOCOLS:
        assert protocol.Basic.Properties().timestamp is None
        assert protocol.Basic.Properties(timestamp=AT).timestamp is AT


def test_memory_of_instances_is_used_again_without_what_was_there(came: Any) -> None:
    for seconds in range(300):
        assert came(seconds).timestamp == datetime.fromtimestamp(seconds, UTC)
        assert came.protocol.Basic.Properties().timestamp is None


@pytest.mark.slow
def test_a_cycle_through_it_is_collected(came: Any) -> None:
    class Moment(datetime):
        pass

    gc.collect()
    properties = came(7)
    moment = Moment(2024, 1, 1, tzinfo=UTC)
    moment.owner = properties  # type: ignore[attr-defined]
    properties.timestamp = moment
    del properties, moment
    gc.collect()
    assert not [instance for instance in gc.get_objects() if type(instance) is Moment]


def test_a_pickle_without_it_is_refused(came: Any) -> None:
    properties = came(7)
    restore, (cls, values, mode, origin) = properties.__reduce__()
    place = cls.FIELDS.index("timestamp")
    values = (*values[:place], ..., *values[place + 1 :])
    with pytest.raises(ValueError, match="leaves a timestamp out"):
        restore(cls, values, mode, origin)


def test_many_threads_read_one(came: Any) -> None:
    properties = came(7)
    timestamps: list[Any] = []
    start = threading.Barrier(4)

    def read() -> None:
        start.wait()
        timestamps.append(properties.timestamp)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(timestamps) == 4
    assert len({id(timestamp) for timestamp in timestamps}) == 1


@pytest.mark.parametrize("seconds", [253402300800, 1700000000000, 2**63 - 1, 2**63, 2**64 - 1])
def test_timestamps_beyond_the_calendar_are_forwarded_as_timestamps(seconds: int) -> None:
    """The dict of a decoded table in a new message: the tag stays T."""
    headers = {"k": types.Timestamp(seconds), "l": [types.Timestamp(seconds)]}
    frame = v0_9_1.Header(0, v0_9_1.Basic.Properties(headers=headers, timestamp=seconds))
    properties = v0_9_1.decode(v0_9_1.encode(1, frame))[2].properties
    assert type(properties.headers["k"]) is type(properties.timestamp) is types.Timestamp
    assert properties.headers["k"] == properties.timestamp == seconds
    again = v0_9_1.Basic.Properties(
        headers=dict(properties.headers), timestamp=properties.timestamp
    )
    assert v0_9_1.encode(1, v0_9_1.Header(0, again)) == v0_9_1.encode(1, frame)
