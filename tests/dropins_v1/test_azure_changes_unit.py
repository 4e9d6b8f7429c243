"""What a user changes in a client of AMQP 1.0 while the drop-in is at work is noticed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.dropins.canon import outcome, shown
from tests.dropins.case import V1_USES
from tests.dropins.conftest import need
from tests.dropins.stock import Side, dropin, live
from tests.dropins.test_changes_unit import (
    Undo,
    code_of_another,
    compared_at_every_call,
    put,
    stock_outcomes,
    wrapped,
)

DISPOSITION = bytes.fromhex("005315c00a05 41 5201 40 41 00532445")
TRANSFER = bytes.fromhex("005314c00603 43 43 a00161") + b"payload"
MESSAGE = bytes.fromhex("005375a00474657874")


def read(side: Side) -> Any:
    message = side._decode.decode_payload(memoryview(MESSAGE))
    return message, type(message).__name__, side._decode.decode_frame(memoryview(TRANSFER))


def read_state(side: Side) -> Any:
    return side._decode.decode_frame(memoryview(DISPOSITION))


def write(side: Side) -> Any:
    module = side.message
    body = {"data": [b"text"]} if "data" in module.Message._fields else {"body": b"text"}
    message = module.Message(
        properties=module.Properties(subject="s"), application_properties={"a": "b"}, **body
    )
    kind = side.performatives.FlowFrame
    performative = kind(*[{"a": "b"} if name == "properties" else 5 for name in kind._fields])
    performative = performative._replace(drain=True, echo=False)
    return (
        bytes(side._encode.encode_payload(bytearray(), message)),
        side._encode.encode_frame(performative),
    )


def named_message(side: Side) -> Undo:
    return put(side._decode, "Message", type("Mine", (side._decode.Message,), {}))


def states(side: Side) -> Undo:
    mine = {key: f"my {value}" for key, value in side._decode._COMPOSITES.items()}
    return put(side._decode, "_COMPOSITES", mine)


def constructors(side: Side) -> Undo:
    mine = list(side._decode._DECODE_BY_CONSTRUCTOR)
    mine[0xA0] = wrapped(mine[0xA0], lambda result, *_: (result[0], b"mine"))
    return put(side._decode, "_DECODE_BY_CONSTRUCTOR", mine)


def reader_code(side: Side) -> Undo:
    def mine(buffer: Any) -> Any:
        return buffer[1 + buffer[0] :], b"mine"

    return code_of_another(side._decode._decode_binary_small, mine)


def encoders(side: Side) -> Undo:
    mine = dict(side._encode._ENCODE_MAP)
    mine["STRING"] = mine[None] = lambda output, *_arguments, **_options: output.append(0x40)
    mine["SYMBOL"] = mine["STRING"]
    return put(side._encode, "_ENCODE_MAP", mine)


def writer(side: Side) -> Undo:
    def mine(output: bytearray, *_arguments: Any, **_options: Any) -> None:
        output.append(0x40)

    return put(side._encode, "encode_value", mine)


def writer_code(side: Side) -> Undo:
    def mine(
        output: Any, value: Any, with_constructor: Any = True, use_smallest: Any = True
    ) -> None:
        output.append(0x40)

    return code_of_another(side._encode.encode_string, mine)


def definition(side: Side) -> Undo:
    kind = side.performatives.FlowFrame
    return put(kind, "_definition", kind._definition[:-1] + kind._definition[-2:-1])


CHANGES: dict[str, tuple[Callable[[Side], Undo], Callable[[Side], Any]]] = {
    "a Message of the user's": (named_message, read),
    "names of states": (states, read_state),
    "functions by constructor": (constructors, read),
    "a reader's code": (reader_code, read),
    "functions by type": (encoders, write),
    "encode_value": (writer, write),
    "a writer's code": (writer_code, write),
    "a definition": (definition, write),
}


@pytest.mark.parametrize("plainly", [False, True], ids=["called back", "compared"])
@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("package", V1_USES)
def test_a_later_change(package: str, name: str, plainly: bool) -> None:
    change, ask = CHANGES[name]
    need(package)
    usual, want = stock_outcomes(package, change, ask)
    with compared_at_every_call(plainly):
        module, side = dropin(package), live(package)
        module.install()
        try:
            assert outcome(lambda: ask(side)) == usual
            undo = change(side)
            try:
                got = outcome(lambda: ask(side))
            finally:
                undo()
            assert got == want, f"\nstock   {shown(want)}\ndrop-in {shown(got)}"
            assert outcome(lambda: ask(side)) == usual
        finally:
            module.uninstall()
