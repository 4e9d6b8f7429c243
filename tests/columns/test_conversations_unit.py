"""Message level over values of several conversations: apart by keys, or each value by itself."""

from __future__ import annotations

from typing import Any

import pytest

from amqpcodec import DecodeError, batch
from amqpcodec import v1_0 as amqp10
from tests.columns.batch_rows import decode, pa, rows
from tests.support.conversations import between, delivery_transfers, publication_frames

ASKED = ["row", "channel", "method", "body", "frame", "error"]


A, B = publication_frames(b"aaaa"), publication_frames(b"bbbbbb")
VALUES, NAMES = between(A, B)


def bodies(data: Any, **options: Any) -> list[tuple[int, bytes | None, bool]]:
    message_rows = rows(data, level="message", fields=["row", "body", "error"], **options)
    return [(row["row"], row["body"], row["error"] is None) for row in message_rows]


def test_connections_on_one_channel_are_not_joined() -> None:
    expected = [(0, b"aaaa", True), (1, b"bbbbbb", True)]
    array = pa.array(VALUES, pa.binary())
    assert bodies(array, by=[pa.array(NAMES)]) == expected
    assert bodies(array, by=[NAMES, [1] * 8]) == expected
    assert bodies(array, by=[pa.chunked_array([NAMES[:3], NAMES[3:]])]) == expected
    table = pa.table({"connection": NAMES, "frame": VALUES})
    assert bodies(table, by=["connection"]) == expected
    table = table.rename_columns({"frame": "bytes"})
    assert bodies(table, by=["connection"], column="bytes") == expected


def test_without_keys_a_value_holds_whole_messages() -> None:
    message_rows = rows(pa.array(VALUES, pa.binary()), level="message", fields=ASKED)
    assert len(message_rows) == len(VALUES)
    assert all(row["error"] and row["body"] is None for row in message_rows)
    assert [row["frame"] for row in message_rows] == VALUES
    assert [row["row"] for row in message_rows] == list(range(len(VALUES)))
    assert "ended inside a message" in message_rows[0]["error"]
    complete_messages = [b"".join(A), b"".join(B), b"".join(A + B)]
    assert bodies(pa.array(complete_messages, pa.binary())) == [
        (0, b"aaaa", True), (1, b"bbbbbb", True), (2, b"aaaa", True), (2, b"bbbbbb", True),
    ]  # fmt: skip


def test_what_a_value_cuts_off_does_not_reach_the_next_one() -> None:
    values = [b"".join(A[:3]), b"".join(B), A[3]]
    message_rows = rows(pa.array(values, pa.binary()), level="message", fields=ASKED)
    assert [row["body"] for row in message_rows] == [None, b"bbbbbb", None]
    assert [row["error"] is None for row in message_rows] == [False, True, False]


def test_one_conversation_over_all_values() -> None:
    assert bodies(pa.array(A + B, pa.binary()), by=[]) == [(0, b"aaaa", True), (4, b"bbbbbb", True)]


@pytest.mark.parametrize("layout", ["plain", "view"])
def test_many_conversations_of_many_messages(layout: str) -> None:
    lists = [
        [f for i in range(300) for f in publication_frames(bytes([c]) * (8 + i), 1 + i % 3)]
        for c in b"xyz"
    ]
    values, names = between(*lists)
    expected = [
        one for conversation in lists for one in rows(b"".join(conversation), level="message")
    ]
    message_rows = rows(pa.array(values, pa.binary()), level="message", by=[names], layout=layout)
    assert len(message_rows) == 900
    for one, other in zip(message_rows, expected, strict=True):
        one.pop("row"), other.pop("row")
        assert one == other


def test_what_a_conversation_leaves_open_is_an_error_of_its_own() -> None:
    values, names = [*A[:3], *B, A[3]], [*"AAA", *"BBBB", "C"]
    message_rows = rows(pa.array(values, pa.binary()), level="message", fields=ASKED, by=[names])
    assert [row["body"] for row in message_rows] == [None, b"bbbbbb", None]
    assert [row["error"] is None for row in message_rows] == [False, True, False]
    assert message_rows[0]["frame"] == b"".join(A[:3])


def test_nulls_slices_and_keys_that_are_null() -> None:
    values = [b"junk", A[0], None, A[1], b"", A[2], A[3]]
    names = ["?", None, "?", None, None, None, None]
    array, keys = pa.array(values, pa.large_binary()).slice(1), pa.array(names).slice(1)
    assert bodies(array, by=[keys]) == [(0, b"aaaa", True)]


def test_keys_of_a_dictionary_with_a_value_twice() -> None:
    """What a key says counts, not where it stands in the dictionary."""
    array = pa.array(A, pa.binary())
    keys = pa.DictionaryArray.from_arrays(pa.array([i % 2 for i in range(len(A))]), ["a", "a"])
    assert bodies(array, by=[keys]) == bodies(array, by=[["a"] * len(A)])


def test_modes() -> None:
    array = pa.array(VALUES[:-1], pa.binary())
    assert bodies(array, by=[NAMES[:-1]], mode="DROPMALFORMED") == [(0, b"aaaa", True)]
    with pytest.raises(DecodeError, match="row 1"):
        decode(array, level="message", by=[NAMES[:-1]], mode="FAILFAST")
    with pytest.raises(DecodeError, match="row 0"):
        decode(array, level="message", mode="FAILFAST")


def test_what_is_refused() -> None:
    array = pa.array(VALUES, pa.binary())
    with pytest.raises(ValueError, match="8 values have 7 keys"):
        decode(array, level="message", by=[NAMES[:-1]])
    with pytest.raises(ValueError, match="level='message'"):
        decode(array, by=[NAMES])
    with pytest.raises(TypeError, match="list of columns"):
        decode(array, level="message", by="connection")
    with pytest.raises(TypeError, match="plain values, not struct"):
        decode(array, level="message", by=[[{"a": 1}] * 8])
    with pytest.raises(ValueError, match="no column 'connexion'; there is connection, frame"):
        decode(pa.table({"connection": NAMES, "frame": VALUES}), level="message", by=["connexion"])


def test_no_value() -> None:
    assert bodies(pa.array([], pa.binary()), by=[[]]) == []


# ---- AMQP 1.0 ----


def deliveries(data: Any, **options: Any) -> list[tuple[int, bytes | None, bool]]:
    return bodies(data, protocol="1.0", **options)


def test_deliveries_of_several_connections() -> None:
    values, names = between(delivery_transfers(b"aaaa"), delivery_transfers(b"bbbbbb"))
    array = pa.array(values, pa.binary())
    assert deliveries(array, by=[names]) == [(0, b"aaaa", True), (1, b"bbbbbb", True)]
    message_rows = rows(array, level="message", protocol="1.0")
    assert len(message_rows) == len(values)
    assert all(row["error"] and row["body"] is None for row in message_rows)


def test_the_rest_of_a_cut_delivery_is_no_message_and_what_follows_is() -> None:
    split_delivery, complete_delivery = (
        delivery_transfers(b"aaaa"),
        b"".join(delivery_transfers(b"bbbbbb")),
    )
    array = pa.array(
        [
            split_delivery[0],
            split_delivery[1],
            split_delivery[2],
            complete_delivery,
            *split_delivery[:1],
            complete_delivery,
        ],
        pa.binary(),
    )
    expected = [
        (0, None, False), (1, None, False), (2, None, False), (3, b"bbbbbb", True),
        (4, None, False), (5, b"bbbbbb", True),
    ]  # fmt: skip
    assert deliveries(array) == expected


def test_a_message_without_a_number_is_whole_too() -> None:
    lone = amqp10.encode(0, amqp10.Transfer(0), amqp10.Message(b"x").encode())
    assert deliveries(pa.array([lone] * 3, pa.binary())) == [(i, b"x", True) for i in range(3)]


# ---- what is open at the end, for those who decode piece by piece ----


def decode_conversations(values: list[bytes], protocol: str, links: list[int]) -> Any:
    array = pa.array(values, pa.binary())
    options: dict[str, Any] = {"field_tables": "json", "groups": True, "links": links}
    return batch.decode_held(array, protocol, ["body", "error"], "PERMISSIVE", **options)


@pytest.mark.parametrize("protocol", ["0-9-1", "1.0"])
def test_pieces_give_what_one_call_gives(protocol: str) -> None:
    make = publication_frames if protocol == "0-9-1" else delivery_transfers
    values = [f for i in range(20) for f in make(b"%d" % i * 9, *([1 + i % 2] if i % 3 else []))]
    expected_bodies = [
        row[1] for row in bodies(pa.array(values, pa.binary()), protocol=protocol, by=[])
    ]
    assert all(expected_bodies)
    for size in (1, 2, 3, 5, 7):
        open_: list[tuple[int, bytes, int]] = []
        links: list[int] = []
        piece_bodies: list[bytes] = []
        for i in range(0, len(values), size):
            piece = [value for _, value, _ in open_] + values[i : i + size]
            columns, open_, links = decode_conversations(piece, protocol, links)
            piece_bodies += pa.record_batch(columns).column("body").to_pylist()
        assert piece_bodies == expected_bodies
        assert not open_


def test_links_whose_deliveries_were_given_up_are_told() -> None:
    first, second = delivery_transfers(b"aaaa"), delivery_transfers(b"bbbb", 1)
    _, open_, links = decode_conversations([first[0], second[0]], "1.0", [])
    assert open_ == []
    assert len(links) == 1
    columns, open_, links = decode_conversations([second[2]], "1.0", links)
    assert pa.record_batch(columns).column("error").to_pylist()[0] is not None
    assert (open_, links) == ([], [])
