"""Numbers of types and ways that the core has no writer for: refused when the module is loaded, or
when a client's tables are read, and never looked up in a table of the core."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from amqpcodec import _dropins_v1
from amqpcodec.compat import azure
from amqpcodec.spec.oasis import ANY
from amqpcodec.spec.oasis_lower import TYPE_NUMBERS

NO_WRITER = ("decimal32", "decimal64", "char")
NUMBERS = [*(TYPE_NUMBERS[name] for name in (*NO_WRITER, ANY, "composite")), 27, 28, 255]


def writing(types: dict[str, int]) -> Any:
    return _dropins_v1.AzureWriting(
        types=types, define=lambda cls: cls, decimal128=None, wide_ints=True, joins_data=True
    )


def test_the_numbers_are_those_of_the_core() -> None:
    values = {name: number for name, number in TYPE_NUMBERS.items() if number < TYPE_NUMBERS[ANY]}
    assert {**_dropins_v1.TYPES, **{name: values[name] for name in NO_WRITER}} == {
        **values,
        "described": 26,
    }
    assert len(set(_dropins_v1.WAYS.values())) == len(_dropins_v1.WAYS)
    writing(dict(_dropins_v1.TYPES))


@pytest.mark.parametrize("name", NO_WRITER)
def test_a_type_without_a_writer_in_the_table_of_names(name: str) -> None:
    source = Path(azure.__file__).read_text(encoding="utf-8")
    changed = source.replace('"int", "long"),', f'"int", "long", "{name}"),')
    assert changed != source
    module = {"__name__": "amqpcodec.compat.azure_changed", "__package__": "amqpcodec.compat"}
    with pytest.raises(KeyError, match=name):
        exec(compile(changed, azure.__file__, "exec"), module)


@pytest.mark.parametrize("number", NUMBERS)
def test_a_type_without_a_writer(number: int) -> None:
    with pytest.raises(ValueError, match=f"writes values of type 'X', number {number}$"):
        writing({"INT": 8, "X": number})


@pytest.mark.parametrize("way", [n for n in (*NUMBERS, 39, 50, 63, 64 + 15) if n != 64])
def test_a_way_that_there_is_not(way: int) -> None:
    with pytest.raises(ValueError, match=f"fields in the way {way}$"):
        _dropins_v1.AzureDefinition(20, (), bytes([0, way]))
