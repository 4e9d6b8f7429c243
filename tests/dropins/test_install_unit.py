"""Installing and uninstalling: early or late, twice, by several names, and without a trace left."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
import types
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

import amqpcodec
from tests.dropins.canon import outcome
from tests.dropins.conftest import need
from tests.dropins.stock import MODULES, Side, dropin, live, stock
from tests.support import client_bytes as octets

SOURCE = Path(amqpcodec.__file__).resolve().parents[1]
SEAMS = {
    "pamqp": ("frame.marshal", "frame.unmarshal"),
    "pika": ("frame.decode_frame", "frame.Method.marshal", "data.encode_table"),
    "amqp": ("serialization.loads", "serialization.dumps", "method_framing.frame_handler"),
}
READ_ONE = {
    "pamqp": "import pamqp.frame; pamqp.frame.unmarshal(data)",
    "pika": "import pika.frame; pika.frame.decode_frame(data)",
    "amqp": "import amqp.serialization; amqp.serialization.loads('l', data[11:], 0)",
}
QUEUE_DELETE_OK = bytes.fromhex("01 0001 00000008 00320029 00000005 ce")


@pytest.mark.parametrize("client", ["pamqp", "pika", "amqp"])
def test_installing_under_a_known_client_imports_little(client: str) -> None:
    """Each of these costs a start some milliseconds."""
    pytest.importorskip(client)
    code = f"""
        import sys
        import amqpcodec, {client}, {READ_ONE[client].partition(";")[0].removeprefix("import ")}
        before = set(sys.modules)
        amqpcodec.install("{client}")
        new = set(sys.modules) - before
        heavy = {{"hashlib", "amqpcodec.v0_9_1"}}
        if sys.version_info < (3, 14):  # whose annotations may need more of the library
            heavy |= {{"inspect", "ast"}}
        print(sorted(heavy & new))
        print(amqpcodec.compat.{client}.calls(), amqpcodec.compat.{client}.fallbacks())
    """
    process = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert process.stdout == "[]\n0 {}\n"


def attribute(side: Side, path: str) -> Any:
    """What a dotted path names in a copy of the client."""
    target: Any = side
    for part in path.split("."):
        target = getattr(target, part)
    return target


def everything(package: str) -> dict[str, Any]:
    """All attributes of all modules and classes of the client, functions' defaults too."""
    attributes: dict[str, Any] = {}

    def classes(prefix: str, kind: type) -> None:
        for name, value in vars(kind).items():
            if name in ("__dict__", "__weakref__", "__abstractmethods__", "_abc_impl"):
                continue
            attributes[f"{prefix}.{name}"] = value
            if isinstance(value, types.FunctionType):
                attributes[f"{prefix}.{name}()"] = (value.__code__, value.__defaults__)
            if isinstance(value, type) and value.__module__.startswith(package):
                classes(f"{prefix}.{name}", value)

    for module_name, module in sorted(live(package).modules.items()):
        for name, value in vars(module).items():
            attributes[f"{module_name}.{name}"] = value
            if isinstance(value, types.FunctionType):
                attributes[f"{module_name}.{name}()"] = (value.__code__, value.__defaults__)
            if isinstance(value, type) and value.__module__ == module_name:
                classes(f"{module_name}.{name}", value)
            if isinstance(value, dict) and name.isupper():
                attributes[f"{module_name}.{name}[]"] = dict(value)
    return attributes


def differing(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """The names that do not mean the very same objects."""

    def same(one: Any, other: Any) -> bool:
        return one is other or (isinstance(one, tuple | dict) and one == other)

    missing = object()
    names = {*before, *after}
    return sorted(
        name
        for name in names
        if not same(before.get(name, missing), after.get(name, missing))
        and not name.endswith(("__annotations__", "__builtins__"))
    )


def test_uninstall_leaves_no_trace(package: str) -> None:
    module = dropin(package)
    before = everything(package)
    module.install()
    try:
        changed = differing(before, everything(package))
        assert changed
        for path in SEAMS[package]:
            assert attribute(live(package), path) is not before[f"{package}.{path}"]
    finally:
        module.uninstall()
    assert differing(before, everything(package)) == []


def test_twice_is_once(package: str) -> None:
    module = dropin(package)
    before = everything(package)
    module.install()
    once = everything(package)
    module.install()
    assert differing(once, everything(package)) == []
    module.uninstall()
    assert differing(before, everything(package)) == []
    module.uninstall()
    assert differing(before, everything(package)) == []
    module.install()
    module.uninstall()
    assert differing(before, everything(package)) == []


def test_the_stock_copy_is_stock(package: str) -> None:
    module = dropin(package)
    plain = stock(package)
    module.install()
    try:
        for path in SEAMS[package]:
            function = attribute(plain, path)
            assert isinstance(function, types.FunctionType)
            assert package in function.__code__.co_filename
            assert SOURCE not in Path(function.__code__.co_filename).parents
    finally:
        module.uninstall()


def test_calls_count(package: str) -> None:
    module = dropin(package)
    side = live(package)
    ask = {
        "pamqp": lambda: side.frame.unmarshal(QUEUE_DELETE_OK),
        "pika": lambda: side.frame.decode_frame(QUEUE_DELETE_OK),
        "amqp": lambda: side.serialization.loads("l", QUEUE_DELETE_OK, 11),
    }[package]
    module.install()
    try:
        before = module.calls()
        for _ in range(10):
            ask()
        assert module.calls() - before == 10
    finally:
        module.uninstall()
    after = module.calls()
    ask()
    assert module.calls() == after


def test_classes_are_the_clients_own() -> None:
    need("pika")
    need("pamqp")
    pika_side, pamqp_side = live("pika"), live("pamqp")
    with_pika, with_pamqp = dropin("pika"), dropin("pamqp")
    with_pika.install()
    with_pamqp.install()
    try:
        frame = pika_side.frame.decode_frame(QUEUE_DELETE_OK)[1]
        assert type(frame) is pika_side.frame.Method
        assert type(frame.method) is pika_side.spec.Queue.DeleteOk
        assert type(frame.__dict__) is dict
        frame.own = frame.method.own = 5  # ordinary Python objects
        delete_ok = pamqp_side.frame.unmarshal(QUEUE_DELETE_OK)[2]
        assert type(delete_ok) is pamqp_side.commands.Queue.DeleteOk
        assert delete_ok.message_count == 5
    finally:
        with_pika.uninstall()
        with_pamqp.uninstall()


def test_by_value_imports_of_py_amqp() -> None:
    need("amqp")
    module, side = dropin("amqp"), live("amqp")
    module.install()
    try:
        assert side.abstract_channel.loads is side.serialization.loads
        assert side.abstract_channel.dumps is side.serialization.dumps
        assert side.sasl._write_table is side.serialization._write_table
        connection = side.connection.Connection("localhost")
        assert connection.frame_handler_cls is side.method_framing.frame_handler
        assert connection.frame_writer_cls is side.method_framing.frame_writer
    finally:
        module.uninstall()


def python(code: str) -> str:
    """What a fresh interpreter prints; a sanitized core needs the sanitizers' variables."""
    names = ("LD_PRELOAD", "ASAN_OPTIONS", "UBSAN_OPTIONS")
    sanitizers = {name: os.environ[name] for name in names if name in os.environ}
    process = subprocess.run(
        [sys.executable, "-W", "always", "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=60,
        env={"PYTHONPATH": str(SOURCE), "PATH": "/usr/bin:/bin", **sanitizers},
    )
    assert process.returncode == 0, process.stderr
    return process.stdout + process.stderr


def test_before_and_after_the_client_is_imported(package: str) -> None:
    count = python(
        f"""
        import amqpcodec
        from amqpcodec.compat import {package} as dropin
        dropin.install()
        data = bytes.fromhex("{QUEUE_DELETE_OK.hex()}")
        {READ_ONE[package]}
        print(dropin.calls())
        """
    )
    late = python(
        f"""
        data = bytes.fromhex("{QUEUE_DELETE_OK.hex()}")
        {READ_ONE[package]}
        import amqpcodec
        amqpcodec.install("{package}")
        from amqpcodec.compat import {package} as dropin
        {READ_ONE[package]}
        print(dropin.calls())
        """
    )
    assert int(count.split()[-1]) > 0
    assert int(late.split()[-1]) > 0


def test_nothing_is_loaded_unasked() -> None:
    need("pika")
    text = python(
        """
        import sys, amqpcodec
        print([name for name in ("pika", "pamqp", "amqp") if name in sys.modules])
        """
    )
    assert text.strip() == "[]"


def test_several_at_once() -> None:
    for name in MODULES:
        need(name)
    text = python(
        f"""
        import amqpcodec
        from amqpcodec import compat
        amqpcodec.install("pika", "pamqp", "amqp")
        data = bytes.fromhex("{QUEUE_DELETE_OK.hex()}")
        {READ_ONE["pika"]}
        {READ_ONE["pamqp"]}
        {READ_ONE["amqp"]}
        print(compat.pika.calls(), compat.pamqp.calls(), compat.amqp.calls())
        """
    )
    assert all(int(word) > 0 for word in text.split())
    with pytest.raises((ValueError, ImportError, LookupError)):
        amqpcodec.install("no such client")


def test_an_unknown_version_is_told(package: str) -> None:
    text = python(
        f"""
        import importlib.metadata, warnings
        real = importlib.metadata.version
        importlib.metadata.version = lambda name: (
            "77.8.9" if name.lower() == "{package}" else real(name)
        )
        import {package}
        {package}.__version__ = "77.8.9"
        from amqpcodec.compat import {package} as dropin
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            dropin.install()
        print(len(told), [str(each.message) for each in told])
        """
    )
    assert text.startswith("1 ")
    assert "77.8.9" in text


def test_a_known_version_is_not_warned_of(package: str) -> None:
    text = python(
        f"""
        import warnings
        warnings.simplefilter("error")
        from amqpcodec.compat import {package} as dropin
        dropin.install()
        dropin.uninstall()
        print("quiet")
        """
    )
    assert text.strip() == "quiet"


def hold_while_switched(
    package: str,
    inputs: Sequence[Any],
    want: Sequence[Any],
    answer: Callable[[Any], Any],
    times: int,
) -> None:
    """Three threads ask for answers while three install and uninstall: all are as wanted."""
    module = dropin(package)
    wrong: list[Any] = []
    stop = threading.Event()

    def reader() -> None:
        while not stop.is_set():
            for argument, expected in zip(inputs, want, strict=True):
                got = answer(argument)
                if got != expected:
                    wrong.append((argument, expected, got))
                    return

    def switcher() -> None:
        try:
            for _ in range(times):
                module.install()
                module.uninstall()
        except Exception as error:
            wrong.append(error)

    before = everything(package)
    readers = [threading.Thread(target=reader) for _ in range(3)]
    switchers = [threading.Thread(target=switcher) for _ in range(3)]
    for thread in [*readers, *switchers]:
        thread.start()
    for thread in switchers:
        thread.join(60)
    stop.set()
    for thread in readers:
        thread.join(60)
    module.uninstall()
    assert not wrong, wrong[0]
    assert differing(before, everything(package)) == []


@pytest.mark.untraced
def test_threads(package: str) -> None:
    """Installing and uninstalling while others work: every answer is right all the time."""
    from tests.dropins.canon import canon, name_of

    plain, side = stock(package), live(package)
    frames = [octets.frame(Random(seed)) for seed in range(60)]

    def ask(one: Side, data: bytes) -> Any:
        if package == "pamqp":
            return one.frame.unmarshal(data)
        if package == "pika":
            return one.frame.decode_frame(data)
        return one.serialization.loads("BssbS", data, 7)

    def answer(data: bytes) -> Any:
        try:
            return "value", canon(ask(side, data))
        except Exception as error:
            return "raises", name_of(type(error))

    want = [outcome(lambda data=data: ask(plain, data))[:2] for data in frames]
    hold_while_switched(package, frames, want, answer, times=40)
