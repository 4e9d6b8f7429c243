"""An entry of a table of functions that somebody exchanged before the drop-in was installed."""

from __future__ import annotations

import warnings
from typing import Any
from unittest import mock

import pytest

from amqpcodec.compat import CompatWarning, azure
from tests.dropins.canon import canon, outcome
from tests.dropins.conftest import need
from tests.dropins.stock import V1_MODULES, live

#: Format code, that whose function stands there instead, and a value of it.
ENTRIES = [
    (0x50, 0x51, b"\xff"),
    (0x55, 0x53, b"\x80"),
    (0x60, 0x61, b"\xff\xff"),
    (0x71, 0x70, b"\x80\0\0\0"),
    (0x81, 0x82, b"\x3f\xf8" + bytes(6)),
    (0x83, 0x80, b"\xff" * 8),
    (0xC1, 0xC0, b"\3\2\x54\x80\x54"),
    (0x42, 0x41, b""),
]


@pytest.mark.parametrize(("code", "other", "payload"), ENTRIES)
@pytest.mark.parametrize("package", list(V1_MODULES))
def test_another_function_reads_a_format(
    package: str, code: int, other: int, payload: bytes
) -> None:
    need(package)
    decode: Any = live(package).modules[f"{package}._decode"]
    functions = decode._DECODE_BY_CONSTRUCTOR
    own = functions[code]
    raw = memoryview(b"\0\x53\x77" + bytes([code]) + payload)
    functions[code] = functions[other]
    try:
        expected = outcome(lambda: decode.decode_payload(raw))
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always", CompatWarning)
            azure.install()
        texts = [str(one.message) for one in warned]
        assert any(f"values is left to {package[:-8]}: read format 0x" in text for text in texts)
        assert canon(outcome(lambda: decode.decode_payload(raw))) == canon(expected)
    finally:
        azure.uninstall()
        functions[code] = own


@pytest.mark.parametrize("package", list(V1_MODULES))
def test_another_function_writes_a_field(package: str) -> None:
    need(package)
    side = live(package)
    encode: Any = side.modules[f"{package}._encode"]
    message: Any = side.modules[f"{package}.message"]
    table = encode._FIELD_DEFINITIONS
    names = sorted(table, key=str)
    changed = {names[0]: table[names[1]], names[1]: table[names[0]]}
    one = (
        message.Message(application_properties={"k": 5}, message_annotations={"a": 1}, data=[b"d"])
        if "data" in message.Message._fields
        else message.Message()
    )

    def write() -> bytes:
        return bytes(encode.encode_payload(bytearray(), one))

    with mock.patch.dict(table, changed):
        expected = outcome(write)
        azure.install()
        try:
            assert canon(outcome(write)) == canon(expected)
        finally:
            azure.uninstall()
