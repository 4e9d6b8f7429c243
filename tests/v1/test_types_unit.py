"""The classes of described types: fields, defaults, enums, bytes that are kept."""

from __future__ import annotations

import copy
import pickle
import uuid
from typing import Any

import pytest

from amqpcodec import DecodeError, EncodeError
from amqpcodec import v1_0 as amqp

CLASSES = list(amqp.TYPES.values())
COMPOSITES = [cls for cls in CLASSES if cls.__match_args__ != ("value",)]


def wire(code: int, *fields: str) -> bytes:
    """A composite's bytes, its fields as hex; short ones only."""
    body = bytes.fromhex("".join(fields))
    head = b"\xc0" + bytes([len(body) + 1, len(fields)]) if fields else b"\x45"
    return b"\0\x53" + bytes([code]) + head + body


def test_there_are_40_of_them() -> None:
    assert len(CLASSES) == 40
    assert len(COMPOSITES) == 33
    assert amqp.TYPES[0x10] is amqp.Open
    for code, cls in amqp.TYPES.items():
        assert (cls.DESCRIPTOR, cls.__module__) == (code, "amqpcodec.v1_0")
        assert getattr(amqp, cls.__name__) is cls
        assert isinstance(cls.SYMBOL, amqp.Symbol)
        assert f"amqp:{cls.NAME}:{cls.SYMBOL.rpartition(':')[2]}" == cls.SYMBOL


@pytest.mark.parametrize("cls", COMPOSITES, ids=lambda cls: cls.__name__)
def test_without_fields(cls: Any) -> None:
    octets = wire(cls.DESCRIPTOR)
    assert amqp.encode_value(cls(), incomplete=True) == octets
    value, consumed = amqp.decode_value(octets)
    assert (value, type(value), consumed) == (cls(), cls, 4)
    defaults = {field[0]: field[3] for field in next(
        spec["fields"] for spec in amqp.PROTOCOL.table["types"] if spec["code"] == cls.DESCRIPTOR
    )}  # fmt: skip
    assert tuple(defaults) == cls.FIELDS
    for name, default in defaults.items():
        assert getattr(value, name) == default, name
        assert not value.is_set(name)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_all_forms_of_the_descriptor_are_understood_and_kept(cls: Any) -> None:
    fields = amqp.encode_value(cls(), incomplete=True)[3:]
    symbol = cls.SYMBOL.encode()
    for descriptor in (
        b"\x53" + bytes([cls.DESCRIPTOR]),
        b"\x80" + cls.DESCRIPTOR.to_bytes(8, "big"),
        b"\xa3" + bytes([len(symbol)]) + symbol,
        b"\xb3" + len(symbol).to_bytes(4, "big") + symbol,
    ):
        octets = b"\0" + descriptor + fields
        value, consumed = amqp.decode_value(octets)
        assert (type(value), consumed) == (cls, len(octets))
        assert amqp.encode_value(value) == octets


def test_constructor_takes_fields_in_order_or_by_name() -> None:
    assert amqp.Received(1, 2) == amqp.Received(section_number=1, section_offset=2)
    with pytest.raises(TypeError, match="at most 2 positional"):
        amqp.Received(1, 2, 3)
    with pytest.raises(TypeError, match="unexpected keyword"):
        amqp.Received(nonsense=1)
    with pytest.raises(TypeError, match="multiple values"):
        amqp.Received(1, section_number=1)
    match amqp.Received(1, 2):
        case amqp.Received(number, offset):
            assert (number, offset) == (1, 2)


def test_defaults_and_what_is_set() -> None:
    header = amqp.Header()
    assert (header.priority, header.is_set("priority")) == (4, False)
    header.priority = 4
    assert (header.priority, header.is_set("priority")) == (4, True)
    assert header != amqp.Header()
    header.priority = None
    assert header == amqp.Header()
    with pytest.raises(AttributeError, match="no field 'x'"):
        header.is_set("x")
    with pytest.raises(AttributeError):
        header.x = 1
    assert amqp.Open().max_frame_size == 4294967295
    assert amqp.Attach().snd_settle_mode is amqp.SenderSettleMode.MIXED
    assert amqp.Source().expiry_policy is amqp.TerminusExpiryPolicy.SESSION_END
    assert amqp.Transfer().payload == b""


def test_repr_shows_what_is_set_and_no_credentials() -> None:
    assert repr(amqp.Header(priority=4)) == "Header(priority=4)"
    init = amqp.SaslInit(mechanism="PLAIN", initial_response=b"\0user\0secret")
    assert repr(init) == "SaslInit(mechanism='PLAIN', initial_response=<12 bytes, not shown>)"
    assert "secret" not in repr(amqp.SaslResponse(b"secret"))


def test_compared_copied_pickled() -> None:
    error = amqp.Error(amqp.AmqpError.NOT_FOUND, "no", {amqp.Symbol("k"): 1})
    for value in (
        error,
        amqp.Attach("a", 0, amqp.Role.SENDER, source=amqp.Source("a")),
        amqp.Accepted(),
    ):
        for again in (copy.copy(value), copy.deepcopy(value), pickle.loads(pickle.dumps(value))):
            assert again == value
            assert type(again) is type(value)
            assert amqp.encode_value(again) == amqp.encode_value(value)
    octets = wire(0x70, "5600", "40")
    again = pickle.loads(pickle.dumps(amqp.decode_value(octets)[0]))
    assert amqp.encode_value(again) == octets
    with pytest.raises(TypeError):
        hash(error)


# ---- bytes are kept while nothing changes ----

ODD = [
    wire(0x70, "5601", "40", "40"),  # nulls at the end, a boolean of two bytes
    wire(0x70, "41", "5005", "7000000005"),  # a uint of four bytes
    b"\0\x53\x70" + bytes.fromhex("d00000000600000002" + "4040"),
    b"\0\x53\x24" + bytes.fromhex("c00100"),
    wire(0x10, "b10000000161"),
    wire(0x10, "a10161", "40", "40", "40", "40", "e00401a30161"),
    wire(0x10, "a10161", "40", "40", "40", "40", "a30161"),
    wire(0x10, "a10161", "40", "40", "40", "40", "e00200a3", "40"),
    wire(0x10, *["40"] * 9, "c10602a301615205"),  # a uint in a map
    wire(0x73, "5307", "40", "a10161"),
    wire(0x73, "5207"),  # a message id that is a uint
    wire(0x14, "43", "43", "a000", "43", "40", "40", "40", "0053ff45"),
    wire(0x14, "43", "43", "a000", "43", "40", "40", "40", "00530040"),  # a descriptor 0
    wire(0x14, "43", "43", "a000", "43", "40", "40", "40", "00800000000000000024c00100"),
]


@pytest.mark.parametrize("octets", ODD, ids=lambda octets: octets.hex()[:40])
@pytest.mark.parametrize("types", ["plain", "typed"])
def test_unchanged_is_written_as_it_came(octets: bytes, types: str) -> None:
    value, consumed = amqp.decode_value(octets, types=types)
    assert consumed == len(octets)
    assert amqp.encode_value(value) == octets
    assert value == amqp.decode_value(octets, types=types)[0]


def test_changed_is_written_anew() -> None:
    header = amqp.decode_value(ODD[1])[0]
    header.ttl = 6
    assert amqp.encode_value(header) == wire(0x70, "41", "5005", "5206")
    header.ttl = 5
    assert amqp.encode_value(header) == ODD[1]  # it says what its bytes say again
    opened = amqp.decode_value(ODD[8])[0]
    opened.properties[amqp.Symbol("a")] = 6
    changed = wire(0x10, *["40"] * 9, "c10602a301615506")
    assert amqp.encode_value(opened, incomplete=True) == changed


def test_nested_odd_forms_outlive_a_change_around_them() -> None:
    transfer = amqp.decode_value(ODD[-1])[0]
    transfer.handle = 1
    assert amqp.encode_value(transfer).hex().endswith("00800000000000000024c00100")


def test_a_ulong_beyond_int64_in_a_map_can_be_written_back() -> None:
    octets = wire(0x10, *["40"] * 9, "c10d02a3016180ffffffffffffffff")
    assert amqp.encode_value(amqp.decode_value(octets)[0]) == octets


def test_hostile_nesting_of_odd_types_is_written_in_time() -> None:
    """An error in an error's info, many times over, each with an odd form of its own."""
    data = wire(0x1D, "a30161", "40", "40")
    for _ in range(40):
        body = bytes.fromhex("a30161" + "40") + b"\xd1" + (len(data) + 7).to_bytes(4, "big")
        body += b"\0\0\0\2\xa3\x01k" + data
        data = b"\0\x53\x1d\xd0" + (len(body) + 4).to_bytes(4, "big") + b"\0\0\0\3" + body
    value, _ = amqp.decode_value(data)
    assert amqp.encode_value(value) == data
    value.description = "x"
    assert amqp.encode_value(value) != data


# ---- fields by their declared type ----


def test_fields_are_written_by_their_type() -> None:
    cases: list[tuple[Any, bytes]] = [
        (amqp.Header(ttl=0), wire(0x70, "40", "40", "43")),
        (amqp.Header(ttl=255), wire(0x70, "40", "40", "52ff")),
        (amqp.Header(ttl=256), wire(0x70, "40", "40", "7000000100")),
        (amqp.Header(durable=1), wire(0x70, "41")),
        (amqp.Error("amqp:x"), wire(0x1D, "a306616d71703a78")),
        (amqp.Error(amqp.LinkError.STOLEN), wire(0x1D, "a310" + b"amqp:link:stolen".hex())),
        (amqp.Properties(message_id=5), wire(0x73, "5305")),  # under requires: a ulong
        (amqp.Properties(message_id=amqp.UInt(5)), wire(0x73, "5205")),
        (amqp.Properties(message_id="a"), wire(0x73, "a10161")),
        (amqp.Properties(message_id=b"a"), wire(0x73, "a00161")),
        (amqp.Properties(message_id=uuid.UUID(int=1)), wire(0x73, "98" + "00" * 15 + "01")),
        (amqp.Properties(to="a"), wire(0x73, "40", "40", "a10161")),
        (amqp.Properties(absolute_expiry_time=1), wire(0x73, *["40"] * 8, "83" + "00" * 7 + "01")),
        (amqp.Attach(role=True), wire(0x12, "40", "40", "41")),
        (amqp.Attach(role=amqp.Role.SENDER), wire(0x12, "40", "40", "42")),
        (amqp.Attach(snd_settle_mode=1), wire(0x12, "40", "40", "40", "5001")),
        (amqp.Source(expiry_policy="never"), wire(0x28, "40", "40", "a3056e65766572")),
        (amqp.Source(durable=amqp.TerminusDurability.UNSETTLED_STATE), wire(0x28, "40", "5202")),
        (amqp.Transfer(state=amqp.Accepted()), wire(0x14, *["40"] * 7, "00532445")),
        (amqp.Rejected(amqp.Error("e")), wire(0x25, "00531dc00401a30165")),
        (amqp.Declared(b"t"), wire(0x33, "a00174")),
        (amqp.Coordinator(["a"]), wire(0x30, "a30161")),
        (amqp.Coordinator("a"), wire(0x30, "a30161")),
        (amqp.Coordinator(["a", "b"]), wire(0x30, "e00602a301610162")),
        (amqp.Coordinator(amqp.Array("symbol", ["a", "b"])), wire(0x30, "e00602a301610162")),
        (amqp.Coordinator([]), wire(0x30)),
        (amqp.Source(outcomes=[], capabilities="a"), wire(0x28, *["40"] * 10, "a30161")),
    ]
    for value, octets in cases:
        assert amqp.encode_value(value, incomplete=True) == octets, value
        assert amqp.encode_value(amqp.decode_value(octets)[0]) == octets


@pytest.mark.parametrize(
    ("value", "field", "what"),
    [
        (amqp.Header(ttl=-1), "ttl", "uint takes 0 to 4294967295"),
        (amqp.Header(ttl=2**32), "ttl", "uint takes"),
        (amqp.Header(ttl="1"), "ttl", "uint takes int, not str"),
        (amqp.Header(priority=256), "priority", "ubyte takes 0 to 255"),
        (amqp.Header(durable="yes"), "durable", "boolean takes bool"),
        (amqp.Error("é"), "condition", "ASCII"),
        (amqp.Open(container_id=b"a"), "container_id", "takes str, not bytes"),
        (amqp.Open(container_id="\udcff"), "container_id", "surrogate"),
        (amqp.Open(properties=[1]), "properties", "takes dict or Map"),
        (amqp.Open(offered_capabilities=5), "offered_capabilities", "one symbol or several"),
        (amqp.Transfer(delivery_tag="a"), "delivery_tag", "takes bytes, not str"),
        (amqp.Attach(snd_settle_mode=3), "snd_settle_mode", "has no choice 3"),
        (amqp.Source(expiry_policy="soon"), "expiry_policy", "has no choice 'soon'"),
        (amqp.SaslOutcome(code=5), "code", "has no choice 5"),
        (amqp.Rejected("x"), "error", "takes Error, not str"),
        (amqp.Rejected(amqp.Accepted()), "error", "takes Error, not Accepted"),
        (amqp.Properties(message_id=-1), "message_id", "ulong takes"),
        (amqp.Properties(creation_time="now"), "creation_time", "takes datetime or int"),
        (amqp.AmqpSequence(5), "value", "takes list"),
        (amqp.ApplicationProperties([]), "value", "takes dict or Map"),
    ],
)
def test_what_a_field_cannot_hold(value: Any, field: str, what: str) -> None:
    with pytest.raises(EncodeError, match=what) as caught:
        amqp.encode_value(value, incomplete=True)
    assert (caught.value.method, caught.value.field) == (type(value).NAME, field)


@pytest.mark.parametrize(
    ("octets", "method", "field", "condition"),
    [
        (wire(0x70, "5001"), "header", "durable", "amqp:decode-error"),
        (wire(0x70, "40", "43"), "header", "priority", "amqp:decode-error"),
        (wire(0x70, "40", "40", "5305"), "header", "ttl", "amqp:decode-error"),
        (wire(0x10, "a30161"), "open", "container_id", "amqp:decode-error"),
        (wire(0x10, "a101ff"), "open", "container_id", "amqp:decode-error"),
        (wire(0x10, *["40"] * 5, "e00401a10161"), "open", "outgoing_locales", "amqp:decode-error"),
        (wire(0x10, *["40"] * 5, "a10161"), "open", "outgoing_locales", "amqp:decode-error"),
        (wire(0x10, *["40"] * 9, "c1030140"), "open", "properties", "amqp:decode-error"),
        (wire(0x12, "40", "40", "40", "5003"), "attach", "snd_settle_mode", "amqp:invalid-field"),
        (wire(0x44, "50ff"), "sasl-outcome", "code", "amqp:invalid-field"),
        (wire(0x28, "40", "40", "a30161"), "source", "expiry_policy", "amqp:invalid-field"),
        (wire(0x25, "00532445"), "rejected", "error", "amqp:decode-error"),
        (wire(0x25, "0053ff45"), "rejected", "error", "amqp:decode-error"),
        (wire(0x24, "40"), "accepted", None, "amqp:decode-error"),
        (wire(0x14, *["40"] * 7, "00531dc00201a1"), "error", "condition", "amqp:decode-error"),
        (b"\0\x53\x75\xa1\x01a", "data", None, "amqp:decode-error"),
        (b"\0\x53\x74\x45", "application-properties", None, "amqp:decode-error"),
    ],
    ids=lambda value: value.hex()[:30] if isinstance(value, bytes) else None,
)
def test_what_a_field_cannot_be(
    octets: bytes, method: str, field: str | None, condition: str
) -> None:
    with pytest.raises(DecodeError) as caught:
        amqp.decode_value(octets)
    error = caught.value
    assert (error.method, error.field, error.condition) == (method, field, condition), error
    assert 0 < error.offset <= len(octets)


def test_one_value_or_an_array_of_them() -> None:
    """multiple=true (vcabbage/amqp #104)."""
    for octets, values in (
        (wire(0x40, "a30161"), ("a",)),
        (wire(0x40, "e00401a30161"), ("a",)),
        (wire(0x40, "e00602a301610162"), ("a", "b")),
        (wire(0x40, "f00000000f00000002b300000001610000000162"), ("a", "b")),
        (wire(0x40, "e00200a3"), ()),
    ):
        value = amqp.decode_value(octets)[0]
        assert value.sasl_server_mechanisms == values
        assert all(type(item) is amqp.Symbol for item in value.sasl_server_mechanisms)
        assert amqp.encode_value(value) == octets


def test_open_choices_keep_what_is_unknown() -> None:
    error = amqp.decode_value(wire(0x1D, "a30161"))[0]
    assert (error.condition, type(error.condition)) == ("a", amqp.Symbol)
    standard_error = amqp.decode_value(amqp.encode_value(amqp.Error("amqp:not-found")))[0]
    assert standard_error.condition == amqp.AmqpError.NOT_FOUND
    source = amqp.decode_value(wire(0x28, *["40"] * 6, "a30161"))[0]
    assert source.distribution_mode == "a"


def test_unknown_described_types_stay_whole() -> None:
    for octets in ("0053ff0053fe5505", "00a3016100537045", "0000530153025503"):
        data = bytes.fromhex(octets)
        value, consumed = amqp.decode_value(data, types="typed")
        assert type(value) is amqp.Described
        assert consumed == len(data)
        assert amqp.encode_value(value) == data
    filters = {
        amqp.Symbol("f"): amqp.Described(amqp.Symbol("apache.org:selector-filter:string"), "a > 1")
    }
    source = amqp.Source("q", filter=filters)
    assert amqp.decode_value(amqp.encode_value(source))[0] == source


def test_described_elements_of_arrays() -> None:
    data = bytes.fromhex("e00d0200531dc0040 1a30161040 1a30162".replace(" ", ""))
    data = b"\xe0" + bytes([len(data) - 2]) + data[2:]
    value, _ = amqp.decode_value(data)
    assert value == amqp.Array("list", [[amqp.Symbol("a")], [amqp.Symbol("b")]], [0x1D])
    assert value.descriptor == 0x1D
    assert amqp.encode_value(value) == data
    nested = amqp.Array("int", [1, 2], [amqp.Symbol("a"), 5])
    assert amqp.decode_value(amqp.encode_value(nested))[0] == nested


def test_the_base_of_all_classes_pickles() -> None:
    assert pickle.loads(pickle.dumps(amqp.Composite)) is amqp.Composite
    assert amqp.Composite.__module__ == "amqpcodec.v1_0"


def test_arrays_and_described_values_are_compared_with_their_like_alone() -> None:
    array = amqp.Array("int", [1, 2, 3])
    assert (array[0], array[-1], array[1:]) == (1, 3, [2, 3])
    assert array == amqp.Array("int", (1, 2, 3))
    assert array != amqp.Array("long", [1, 2, 3])
    assert array != [1, 2, 3]
    described = amqp.Described(amqp.Symbol("x"), 1)
    assert described == amqp.Described(amqp.Symbol("x"), 1)
    assert described != (amqp.Symbol("x"), 1)


@pytest.mark.parametrize("cls", [amqp.Decimal32, amqp.Decimal64, amqp.Decimal128])
def test_bits_of_a_decimal_have_its_width(cls: Any) -> None:
    size = len(cls("1.5").bits)
    assert cls.from_bits(cls("1.5").bits) == cls("1.5")
    for wrong in (0, size - 1, size + 1):
        with pytest.raises(ValueError, match=f"takes {size} bytes, not {wrong}"):
            cls.from_bits(bytes(wrong))
