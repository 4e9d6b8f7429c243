"""batch.decode says how far it is, whatever it decodes, and decodes the same."""

from __future__ import annotations

import itertools

import pyarrow as pa
import pytest

from amqpcodec import batch, v0_9_1, v1_0

MIB = 1 << 20
BODY = bytes(2000)


def legacy() -> list[bytes]:
    publish, properties = v0_9_1.Basic.Publish("orders", "eu"), v0_9_1.Basic.Properties(priority=1)
    return [v0_9_1.encode_message(1, publish, properties, BODY)] * 2000


def modern() -> list[bytes]:
    transfers = [v1_0.Transfer(handle=0, delivery_id=n, delivery_tag=b"1") for n in range(2000)]
    payload = v1_0.Message(BODY).encode()
    return [v1_0.encode(0, transfer, payload) for transfer in transfers]


VALUES = {"0-9-1": legacy(), "1.0": modern()}


def one_buffer(values: list[bytes]) -> bytes:
    return b"".join(values)


def arrays(values: list[bytes]) -> pa.ChunkedArray:
    return pa.chunked_array([values[:700], values[700:]], pa.binary())


@pytest.mark.parametrize("layout", ["plain", "view"])
@pytest.mark.parametrize("make_input", [one_buffer, pa.array, arrays])
@pytest.mark.parametrize("level", ["frame", "message"])
@pytest.mark.parametrize("protocol", VALUES)
def test_progress_is_told(protocol, level, make_input, layout):
    values = VALUES[protocol]
    total = sum(map(len, values))
    reports: list[tuple[int, int]] = []
    requested_columns = ["channel", "body" if level == "message" else "payload"]
    columns = batch.decode(
        make_input(values), protocol, level, requested_columns, layout=layout,
        on_progress=lambda *at: reports.append(at),
    )  # fmt: skip
    assert reports[-1] == (total, total)
    assert {every for _, every in reports} == {total}
    positions = [0, *(at for at, _ in reports)]
    assert positions == sorted(set(positions))
    assert max(b - a for a, b in itertools.pairwise(positions)) < 2 * MIB
    plain = batch.decode(make_input(values), protocol, level, requested_columns, layout=layout)
    assert pa.record_batch(columns).equals(pa.record_batch(plain))


def test_progress_of_conversations():
    values = VALUES["0-9-1"]
    positions: list[int] = []
    keys = [n % 3 for n in range(len(values))]
    batch.decode(
        pa.array(values), level="message", fields=["body"], by=[keys],
        on_progress=lambda position, total: positions.append(position),
    )  # fmt: skip
    assert positions == sorted(set(positions))
    assert (len(positions) > 3, positions[-1]) == (True, sum(map(len, values)))


def test_the_end_is_told_once():
    """Also where the last block is the one that comes to a MiB."""
    (one, *_) = VALUES["0-9-1"]
    for data in (b"", one, one * (MIB // len(one) + 1)):
        reports: list[tuple[int, int]] = []
        batch.decode(data, on_progress=lambda *at: reports.append(at))  # noqa: B023
        assert reports == [(len(data), len(data))]


@pytest.mark.parametrize("level", ["frame", "message"])
@pytest.mark.parametrize("protocol", VALUES)
def test_what_progress_raises_ends_the_decoding(protocol, level):
    positions: list[int] = []

    def stop(position: int, total: int) -> None:
        positions.append(position)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        batch.decode(one_buffer(VALUES[protocol]), protocol, level, on_progress=stop)
    assert len(positions) == 1
    assert positions[0] < 2 * MIB
