"""azure-eventhub, azure-servicebus and rstream: the drop-in in their seams, and what they give."""

from __future__ import annotations

import importlib
import struct
import sys
import types
import warnings
from collections.abc import Iterator
from random import Random
from typing import Any
from uuid import UUID

import pytest

import amqpcodec
from amqpcodec.compat import CompatError, CompatWarning
from tests.dropins.canon import outcome
from tests.dropins.case import V1_USES, run
from tests.dropins.conftest import need
from tests.dropins.stock import Side, dropin, installed, live, stock
from tests.dropins.test_install_unit import differing, everything, hold_while_switched, python
from tests.dropins_v1 import use_azure
from tests.support import client_bytes_v1 as octets_v1
from tests.support.process_limit import limited

CASES = 4000
PACKAGES = list(V1_USES)
EVENTHUB = "azure.eventhub._pyamqp"


def v1_package(request: Any) -> str:
    need(request.param)
    return str(request.param)


package = pytest.fixture(params=PACKAGES)(v1_package)


def test_same_value_or_same_exception(package: str) -> None:
    totals = run(package, CASES, seed=0, most=10)
    assert not totals.differences, "\n".join(str(difference) for difference in totals.differences)
    assert totals.cases == CASES
    assert totals.calls >= CASES
    assert CASES * 0.15 < totals.raised.total() < CASES * 0.75


def good_message(side: Side, number: int) -> Any:
    """A message as applications send it."""
    module = side.message
    data: Any = [b"x" * number, b"y"] if "data" in module.Message._fields else b"x" * number
    return module.Message(
        header=module.Header(durable=True, priority=number % 10, ttl=number * 1000),
        message_annotations={b"x-opt-partition-key": "p", "x-opt-n": number, b"l": [1, {"a": 2.5}]},
        properties=module.Properties(
            message_id=("id", UUID(int=number), number, b"id")[number % 4],
            to="queue", subject="größe", content_type=b"text/plain", group_sequence=number,
            creation_time=1_700_000_000_000,
        ),
        application_properties={"a": number, b"b": "text", "c": True, "d": 1.5, "e": None},
        footer={b"x-opt-crc": {"TYPE": "ULONG", "VALUE": 2**40 + number}},
        **({"value": {"k": [1, "v"]}} if number % 3 == 0 else {module.Message._fields[5]: data}),
    )  # fmt: skip


def good_frames(side: Side) -> list[Any]:
    """A performative of each kind with all of its fields."""
    frames = []
    for cls in use_azure.performatives(side):
        values: list[Any] = []
        for field in cls._definition:
            name = getattr(field and field.type, "name", field and field.type)
            values.append(
                b"payload" if field is None
                else ["a", b"b"] if field.multiple
                else {"a": 1} if name in ("fields", "MAP")
                else {
                    "STRING": "text", "SYMBOL": b"symbol", "BINARY": b"octets", "BOOL": True,
                }.get(str(name), None if name in ("source", "target", "error") else 5)
                if name != "delivery_state" else None
            )  # fmt: skip
        frames.append(cls(*values))
    return frames


def test_what_is_good_is_not_left_to_the_client(package: str) -> None:
    module = dropin(package)
    with installed(package) as (plain, side):
        before, fallbacks = module.calls(), module.fallbacks()
        for number in range(60):
            mine = side._encode.encode_payload(bytearray(), good_message(side, number))
            theirs = plain._encode.encode_payload(bytearray(), good_message(plain, number))
            assert mine == theirs
            view = memoryview(bytes(mine))
            again = side._decode.decode_payload(view)
            assert again == plain._decode.decode_payload(view)
            assert type(again) is side.message.Message
            assert type(again.header) is side.message.Header
            assert type(again.properties) is side.message.Properties
        for one, other in zip(good_frames(side), good_frames(plain), strict=True):
            head, body = side._encode.encode_frame(one)
            assert (head, body) == plain._encode.encode_frame(other)
            assert type(body) is bytearray
            view = memoryview(bytes(body))
            assert outcome(lambda v=view: side._decode.decode_frame(v)) == outcome(
                lambda v=view: plain._decode.decode_frame(v)
            )
        assert side._encode.encode_frame(None) == (b"\0\0\0\x08\2\0", None)
        assert module.calls() - before > 120
        assert module.fallbacks() == fallbacks


def test_a_transfer_ends_with_a_view_of_the_same_octets(package: str) -> None:
    with installed(package) as (_, side):
        frame = side.performatives.TransferFrame(
            handle=1, delivery_id=2, delivery_tag=b"tag", payload=b"payload",
            **dict.fromkeys(("message_format", "settled", "more", "rcv_settle_mode", "state",
                             "resume", "aborted", "batchable")),
        )  # fmt: skip
        octets = bytes(side._encode.encode_frame(frame)[1])
        code, fields = side._decode.decode_frame(memoryview(octets))
        assert code == 20
        assert type(fields[-1]) is memoryview
        assert fields[-1].obj is octets
        assert fields[-1] == b"payload"
        assert fields[2] == b"tag"


def test_each_call_counts_once(package: str) -> None:
    module = dropin(package)
    with installed(package) as (_, side):
        calls = (
            lambda: side._encode.encode_frame(next(iter(good_frames(side)))),
            lambda: side._encode.encode_payload(bytearray(), good_message(side, 1)),
            lambda: side._decode.decode_frame(memoryview(b"\0\x53\x17\xc0\x02\x01\x43")),
            lambda: side._decode.decode_payload(memoryview(b"\0\x53\x75\xa0\x01x")),
            lambda: side._decode.decode_empty_frame(memoryview(b"AMQP\0\1\0\0")),
        )
        for call in calls:
            before = module.calls()
            outcome(call)
            assert module.calls() - before == 1


def test_a_frame_without_fields_is_no_unusual_one(package: str) -> None:
    module = dropin(package)
    with installed(package) as (plain, side):
        fallbacks = module.fallbacks()
        octets = memoryview(b"\0\x53\x17\xc0\1\0")
        assert outcome(lambda: side._decode.decode_frame(octets)) == outcome(
            lambda: plain._decode.decode_frame(octets)
        )
        assert module.fallbacks() == fallbacks


def test_uninstall_leaves_no_trace(package: str) -> None:
    module = dropin(package)
    root = package.rpartition(".")[0]
    importlib.import_module(root)
    before = everything(package)
    module.install()
    once = everything(package)
    try:
        changed = differing(before, once)
        assert f"{package}._decode.decode_payload" in changed
        assert f"{package}._encode.encode_frame" in changed
        module.install()
        assert differing(once, everything(package)) == []
    finally:
        module.uninstall()
    assert differing(before, everything(package)) == []
    module.uninstall()
    assert differing(before, everything(package)) == []


def test_names_bound_by_value(package: str) -> None:
    """Every module of the client has the compiled functions, and the stock copy none of them."""
    root = package.rpartition(".")[0]
    importlib.import_module("rstream.amqp" if root == "rstream" else f"{root}.aio")
    plain = stock(package)
    originals = [live(package)._decode.decode_payload, live(package)._encode.encode_payload]
    with installed(package):
        stock_names = [
            f"{name}.{attribute}"
            for name, module in list(sys.modules.items())
            if f"{name}.".startswith(f"{root}.")
            for attribute, value in list(vars(module).items())
            if any(value is one for one in originals)
        ]
        assert stock_names == []
        assert isinstance(plain._decode.decode_payload, types.FunctionType)


def test_a_module_imported_while_it_is_installed() -> None:
    need("rstream._pyamqp")
    text = python(
        """
        from amqpcodec.compat import azure
        import sys
        sys.modules.pop("rstream.amqp", None)
        azure.install(clients=["rstream"])
        sys.modules.pop("rstream.amqp", None)
        import importlib
        late = importlib.import_module("rstream.amqp")
        print(type(late.decode_payload).__name__)
        azure.uninstall()
        print(type(late.decode_payload).__name__, type(late.encode_payload).__name__)
        """
    )
    assert text.split() == ["builtin_function_or_method", "function", "function"]


def test_which_clients() -> None:
    for name in PACKAGES:
        need(name)
    text = python(
        """
        import sys
        from amqpcodec.compat import azure
        azure.install(clients=["rstream"])
        print("azure.eventhub" in sys.modules, "azure.servicebus" in sys.modules, azure.installed())
        azure.uninstall()
        import amqpcodec
        amqpcodec.install("azure")
        for name in ("azure.eventhub._pyamqp", "azure.servicebus._pyamqp", "rstream._pyamqp"):
            print(type(sys.modules[name + "._decode"].decode_payload).__name__)
        """
    )
    assert text.split() == ["False", "False", "True", *["builtin_function_or_method"] * 3]
    with pytest.raises(ValueError, match="no drop-in for uamqp"):
        dropin(EVENTHUB).install(clients=["uamqp"])


def test_none_of_them_is_there() -> None:
    text = python(
        """
        import importlib.util, sys
        sys.modules["azure"] = sys.modules["rstream"] = None
        from amqpcodec.compat import CompatError, azure
        azure.find_spec = lambda name: None
        try:
            azure.install()
        except CompatError as error:
            print(error)
        """
    )
    assert "none is installed" in text


def test_a_known_version_is_not_warned_of() -> None:
    need(EVENTHUB)
    with warnings.catch_warnings():
        warnings.simplefilter("error", CompatWarning)
        dropin(EVENTHUB).install()
        dropin(EVENTHUB).uninstall()


def distribution(package: str) -> str:
    """The name by which the drop-in knows a package."""
    clients: dict[str, str] = dropin(package).CLIENTS
    return next(name for name, root in clients.items() if package == f"{root}._pyamqp")


def unknown_client(package: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The distribution of a package, which is version 77.8.9 from now on."""
    module, name = dropin(package), distribution(package)
    monkeypatch.setattr(importlib.import_module(module.CLIENTS[name]), "__version__", "77.8.9")
    monkeypatch.setattr(module._DROP_INS[name], "version", lambda: "77.8.9")
    return name


def test_an_unknown_version_is_compared_first(
    package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = dropin(package)
    name = unknown_client(package, monkeypatch)
    with pytest.warns(CompatWarning, match=r"77\.8\.9"):
        module.install(clients=[name])
    module.uninstall()
    # It reads otherwise: refused, and nothing is changed.
    decode = live(package)._decode
    own = decode._COMPOSITES
    stock_function = decode.decode_payload
    real = module._Client.sample
    monkeypatch.setattr(
        module._Client, "sample",
        lambda self, field, n, variant: (
            1e99 if "message_id" in str(field) else real(self, field, n, variant)
        ),
    )  # fmt: skip
    with pytest.raises((CompatError, TypeError)):
        module.install(clients=[name])
    assert decode.decode_payload is stock_function
    assert decode._COMPOSITES is own
    assert not module.installed()


@pytest.mark.parametrize("code", [0x51, 0x54, 0x55, 0x61, 0x71, 0x81])
def test_a_number_without_its_sign_is_refused_by_name(
    package: str, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A version that reads a signed format as the unsigned one of the same width."""
    module = dropin(package)
    name = unknown_client(package, monkeypatch)
    table = live(package)._decode._DECODE_BY_CONSTRUCTOR
    unsigned = {0x51: 0x50, 0x54: 0x52, 0x55: 0x53, 0x61: 0x60, 0x71: 0x70, 0x81: 0x80}[code]
    was = table[code]
    try:
        table[code] = table[unsigned]
        with pytest.raises(CompatError, match=f"read .*{code:02x}.*the client gives"):
            module.install(clients=[name])
    finally:
        table[code] = was
    assert not module.installed()


def test_a_reader_that_somebody_replaced_before_is_used(
    package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of a list; a version that is known is not compared with the drop-in."""
    module = dropin(package)
    decode = live(package)._decode
    replaced = list(decode._DECODE_BY_CONSTRUCTOR)
    replaced[0x54] = lambda raw: (raw[1:], "replaced")
    monkeypatch.setattr(decode, "_DECODE_BY_CONSTRUCTOR", replaced)
    with pytest.warns(CompatWarning, match=r"_DECODE_BY_CONSTRUCTOR is not .* own: what rests"):
        module.install(clients=[distribution(package)])
    try:
        assert decode.decode_payload(memoryview(b"\0\x53\x77\x54\xff")).value == "replaced"
    finally:
        module.uninstall()


HUGE = {
    "a list": b"\xd0\xff\xff\xff\xff\xff\xff\xff\xff",
    "a map": b"\xd1\xff\xff\xff\xff\xff\xff\xff\xfe",
    "an array": b"\xf0\xff\xff\xff\xff\xff\xff\xff\xff\x71",
    "nulls": b"\xf0\0\0\0\x05\xff\xff\xff\xff\x40",
    "booleans": b"\xf0\0\0\0\x05\xff\xff\xff\xff\x56",
    "lists in lists": b"\xd0\0\0\0\x64\0\0\0\1" * 50 + b"\xd0\xff\xff\xff\xff\xff\xff\xff\xff",
    "a deep claim": b"\xd0\0\0\0\x64\0\0\0\1" * 300 + b"\xd0\xff\xff\xff\xff\xff\xff\xff\xff",
}


@pytest.mark.parametrize("what", HUGE)
def test_no_room_for_what_is_only_claimed(package: str, what: str) -> None:
    """The clients take the count at its word; 34 GB would be needed for these."""
    with installed(package) as (_, side):
        fallbacks = dropin(package).fallbacks()
        for head in (b"\0\x53\x77", b"\0\x53\x76", b"\0\x53\x14\xc0\x64\x01"):
            read = side._decode.decode_frame if len(head) > 3 else side._decode.decode_payload
            with pytest.raises((IndexError, ValueError, struct.error)):
                read(memoryview(head + HUGE[what]))
        if package != "azure.servicebus._pyamqp":  # which has limits of its own
            assert dropin(package).fallbacks() == fallbacks


@pytest.mark.parametrize("limit", [100, 200_000])
def test_elements_without_bytes_have_the_limit_of_the_codec(package: str, limit: int) -> None:
    if package == "azure.servicebus._pyamqp" and limit > 100:
        pytest.skip("the client has a lower limit of its own")
    with installed(package) as (_, side), limited("max_empty_elements", limit):

        def read(count: int) -> Any:
            nulls = b"\xf0" + struct.pack(">II", 5, count) + b"\x40"
            return side._decode.decode_payload(memoryview(b"\0\x53\x77" + nulls))

        assert len(read(limit).value) == limit
        with pytest.raises(ValueError, match=f"more than {limit} elements without bytes"):
            read(limit + 1)


@pytest.mark.parametrize("outside", [b"", b"\xd0\0\0\0\x64\0\0\0\1", b"\0\x53\x25"])
def test_an_error_of_a_clients_decimal_makes_no_room(package: str, outside: bytes) -> None:
    """It comes after a claim of 16 GB, which the client's own code would take at its word."""
    decimal = b"\x94\x1c\x43\xf5\xb2\x61\xad\xc4\x41\x52\xb2\xac\xc2\x53\x5d\xbe\x2a"
    claim = b"\xd0\0\0\0\x15\x7f\xff\xff\xff"
    with installed(package) as (plain, side):
        alone = outcome(
            lambda: plain._decode.decode_payload(memoryview(b"\0\x53\x77" + outside + decimal))
        )
        fallbacks = dropin(package).fallbacks()
        claimed = b"\0\x53\x77" + outside + claim + decimal
        result = outcome(lambda: side._decode.decode_payload(memoryview(claimed)))
        if package == "azure.servicebus._pyamqp":  # it has limits of its own
            assert result[:2] == ("raises", "builtins.ValueError")
        else:
            assert result == alone
            assert result[0] == "raises"
            assert dropin(package).fallbacks() == fallbacks


@pytest.mark.parametrize("count", [2, 255, 70000])
@pytest.mark.parametrize("tail", [b"", b"\x54", b"\x54\1\x73", b"\xa1", b"\x60\0", b"\x98\0\0"])
def test_a_claim_fails_as_the_client_fails(package: str, count: int, tail: bytes) -> None:
    octets = b"\0\x53\x77\xd0\0\0\0\0" + struct.pack(">I", count) + tail
    with installed(package) as (plain, side):
        first = outcome(lambda: plain._decode.decode_payload(memoryview(octets)))
        second = outcome(lambda: side._decode.decode_payload(memoryview(octets)))
    assert first == second
    assert first[0] == "raises"


@pytest.mark.parametrize("code", [0, 0xD0, 0xD1])
def test_depth(package: str, code: int) -> None:
    """As deep as the client goes; far beyond that a RecursionError or its own error, no crash."""
    with installed(package) as (plain, side):
        for depth in (60, 63, 64, 65, 200, 600):
            octets = b"\0\x53\x77" + octets_v1.nested(depth, code)
            first = outcome(lambda v=octets: plain._decode.decode_payload(memoryview(v)))
            second = outcome(lambda v=octets: side._decode.decode_payload(memoryview(v)))
            assert first == second
        for depth in (5000, 100_000):
            octets = b"\0\x53\x77" + octets_v1.nested(depth, code)
            with pytest.raises((RecursionError, ValueError)):
                side._decode.decode_payload(memoryview(octets))


def read_payload(side: Side, payload: bytes) -> tuple[Any, ...]:
    """What decode_payload gives, without its value: a deep one is compared elsewhere."""
    return outcome(lambda: side._decode.decode_payload(memoryview(payload)) and None)


#: A constructor that is unknown, one that is missing, one without its bytes.
UNREADABLE = [b"\x01", b"", b"\x53"]


@pytest.mark.parametrize("tail", UNREADABLE)
@pytest.mark.parametrize("claim", [b"", b"\xd0\0\0\0\0\0\0\xff\0"])
def test_an_error_at_the_recursion_limit_is_the_clients(
    package: str, claim: bytes, tail: bytes
) -> None:
    """Python's own frames leave the drop-in as many levels as the client, also for an error.

    claim: a list with more items than there are bytes, whose error the drop-in raises itself.
    """
    limit, too_deep = sys.getrecursionlimit(), 0
    with installed(package) as (plain, side):
        for depth in range(limit - 250, limit + 5):
            payload = b"\0\x53\x77" + claim + b"\0" * depth + tail
            expected = read_payload(plain, payload)
            if expected[1] == "builtins.RecursionError":
                too_deep += 1
            else:
                assert read_payload(side, payload) == expected, depth
    # azure-servicebus has a limit of its own.
    assert too_deep >= 5 or expected[1] == "builtins.ValueError"


def levels(value: Any) -> int:
    """How many lists are in one another."""
    count = 0
    while isinstance(value, list):
        value, count = value[0], count + 1
    return count


@pytest.fixture
def high_recursion_limit() -> Iterator[None]:
    """Python's recursion limit far above the levels of C code that a stack has room for."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(50_000)
    yield
    sys.setrecursionlimit(before)


@pytest.mark.usefixtures("high_recursion_limit")
@pytest.mark.parametrize("depth", [3_999, 4_000, 4_001, 6_000])
def test_a_client_with_a_high_recursion_limit_reads_as_deep(package: str, depth: int) -> None:
    payload = b"\0\x53\x77" + octets_v1.nested(depth, 0xD0)

    def depth_read(side: Side) -> int:
        return levels(side._decode.decode_payload(memoryview(payload)).value)

    with installed(package) as (plain, side):
        expected = outcome(lambda: depth_read(plain))
        assert outcome(lambda: depth_read(side)) == expected
    # azure-servicebus has a limit of its own.
    assert expected[1] in (("int", depth), "builtins.ValueError")


@pytest.mark.usefixtures("high_recursion_limit")
@pytest.mark.parametrize("depth", [3_999, 4_000, 4_001, 6_000])
def test_a_client_with_a_high_recursion_limit_writes_as_deep(package: str, depth: int) -> None:
    deep: Any = 5
    for _ in range(depth):
        deep = [deep]
    with installed(package) as (plain, side):
        expected, result = (
            outcome(
                lambda s=one: s._encode.encode_payload(
                    bytearray(b"a"), s.message.Message(value=deep)
                )
            )
            for one in (plain, side)
        )
        assert result == expected
        expected_frame, frame = (
            outcome(
                lambda s=one: s._encode.encode_frame(
                    s.performatives.BeginFrame(*[None] * 7, {"k": deep})
                )
            )
            for one in (plain, side)
        )
        assert frame == expected_frame
    assert expected[0] == expected_frame[0] == "value"


def test_a_list_in_itself(package: str) -> None:
    endless: list[Any] = []
    endless.append(endless)
    with installed(package) as (_, side), pytest.raises(RecursionError):
        side._encode.encode_payload(bytearray(), side.message.Message(value=endless))


def test_decimals_keep_the_clients_dialect() -> None:
    """Exponents come back as the client has them, not as the specification says."""
    from decimal import Decimal

    need(EVENTHUB)
    with installed(EVENTHUB) as (plain, side):
        for text in ("3.4", "-0.00125", "1E+10", "12345678901234567890"):
            message = side.message.Message(value=Decimal(text))
            octets = bytes(side._encode.encode_payload(bytearray(), message))
            assert octets == bytes(plain._encode.encode_payload(bytearray(), message))
            view = memoryview(octets)
            first = outcome(lambda v=view: plain._decode.decode_payload(v).value)
            assert outcome(lambda v=view: side._decode.decode_payload(v).value) == first


def test_a_patched_class_is_used() -> None:
    need(EVENTHUB)
    with installed(EVENTHUB) as (_, side):
        octets = bytes(side._encode.encode_payload(bytearray(), good_message(side, 3)))
        decode = side._decode
        own = decode.Header
        try:
            decode.Header = lambda *values: ("mine", *values)
            assert decode.decode_payload(memoryview(octets)).header[0] == "mine"
        finally:
            decode.Header = own
        assert type(decode.decode_payload(memoryview(octets)).header) is own


def test_rstream_as_it_is_used() -> None:
    need("rstream._pyamqp")
    module = dropin("rstream._pyamqp")
    module.install(clients=["rstream"])
    try:
        from rstream import AMQPMessage, Properties, amqp_decoder

        before, fallbacks = module.calls(), module.fallbacks()
        for number in (0, 5, -(2**31), 2**31, 2**40, -(2**40)):
            message = AMQPMessage(
                properties=Properties(subject="hello", message_id=number if number > 0 else "id"),
                application_properties={"n": number},
                body=b"x" * 300,
            )
            again = amqp_decoder(bytes(message))
            assert type(again) is AMQPMessage
            assert again.body == b"x" * 300
            assert again.application_properties == {b"n": number}
            assert again.properties.subject == b"hello"
        assert module.calls() - before == 12
        assert module.fallbacks() == fallbacks
    finally:
        module.uninstall()


@pytest.mark.untraced
def test_threads(package: str) -> None:
    """Installing and uninstalling while others work: every answer is right all the time."""
    from tests.dropins.canon import canon

    plain, side = stock(package), live(package)
    random = Random(5)
    data = [
        bytes(plain._encode.encode_payload(bytearray(), good_message(plain, n))) for n in (3, 4)
    ]
    data += [b"\0\x53\x77" + octets_v1.nested(random.randrange(1, 9), 0xD0) for _ in range(4)]
    want = [canon(plain._decode.decode_payload(memoryview(message))) for message in data]

    def answer(payload: bytes) -> Any:
        return canon(side._decode.decode_payload(memoryview(payload)))

    hold_while_switched(package, data, want, answer, times=15)


def test_the_package_says_which_there_are() -> None:
    with pytest.raises(ValueError, match="'azure'"):
        amqpcodec.install("no such client")
