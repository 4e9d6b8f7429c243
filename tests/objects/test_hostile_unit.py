"""Objects that run code while they are encoded or compared: results or errors, never a crash.

Each case runs in a process of its own, because what it looks for is a segmentation fault.
"""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

PRELUDE = """
from datetime import UTC, datetime, timedelta, tzinfo
import gc
from amqpcodec import v0_9_1 as amqp

def attempt(act):
    for _ in range(50):
        try:
            act()
        except Exception as error:
            str(error)

class Zone(tzinfo):
    def __init__(self, act): self.act = act
    def utcoffset(self, moment):
        self.act()
        return timedelta(0)
    def dst(self, moment): return timedelta(0)
    def tzname(self, moment): return "zone"

class Number:
    def __init__(self, act): self.act = act
    def __index__(self):
        self.act()
        return 5
"""

CASES = {
    "zone clears the headers": """
        headers = {}
        def act():
            headers.clear()
            headers.update({f"n{i}": [i] * 50 for i in range(50)})
        def run():
            headers.clear()
            headers.update({str(i): datetime(2024, 1, 1, tzinfo=Zone(act)) for i in range(20)})
            amqp.encode(1, amqp.Header(0, amqp.Basic.Properties(headers=headers)))
        attempt(run)
    """,
    "zone empties the array": """
        items = []
        def act():
            del items[:]
            gc.collect()
        def run():
            items[:] = [datetime(2024, 1, 1, tzinfo=Zone(act))] + ["x" * 500] * 20
            amqp.encode(1, amqp.Queue.Declare(arguments={"k": items}))
        attempt(run)
    """,
    "zone replaces the table": """
        frame = amqp.Queue.Declare()
        def act():
            frame.arguments = None
            gc.collect()
        def run():
            frame.arguments = {"a": datetime(2024, 1, 1, tzinfo=Zone(act)), "b": "x" * 900}
            amqp.encode(1, frame)
        attempt(run)
    """,
    "index changes the frame": """
        frame = amqp.Basic.Deliver()
        def act():
            frame.consumer_tag = "y" * 100
            frame.exchange = "z" * 200
            frame.delivery_tag = 7
            gc.collect()
        def run():
            frame.consumer_tag = "a" * 250
            frame.exchange = "b" * 3
            frame.delivery_tag = Number(act)
            data = amqp.encode(1, frame)
            assert amqp.decode(data) is not None
        attempt(run)
    """,
    "index changes the properties": """
        properties = amqp.Basic.Properties()
        def act():
            for name in ("content_type", "headers", "priority", "user_id", "app_id"):
                setattr(properties, name, None)
            gc.collect()
        def run():
            properties.content_type = "c" * 200
            properties.headers = {"k": "v" * 300}
            properties.delivery_mode = Number(act)
            properties.priority = 3
            properties.user_id = "u" * 200
            properties.app_id = "a" * 200
            amqp.encode(1, amqp.Header(0, properties))
            amqp.encode_message(1, amqp.Basic.Publish(), properties, b"x" * 100)
        attempt(run)
    """,
    "zone resizes the target": """
        buffer = bytearray(400)
        def act():
            try:
                buffer.clear()
            except BufferError:
                pass
        def run():
            moment = datetime(2024, 1, 1, tzinfo=Zone(act))
            frame = amqp.Header(0, amqp.Basic.Properties(headers={"k": moment}, user_id="u" * 50))
            amqp.encode_into(buffer, 0, 1, frame)
        attempt(run)
    """,
    "zone resizes the body": """
        body = bytearray(b"x" * 5000)
        def act():
            try:
                body.clear()
            except BufferError:
                pass
        def run():
            moment = datetime(2024, 1, 1, tzinfo=Zone(act))
            properties = amqp.Basic.Properties(timestamp=moment)
            amqp.encode_message(1, amqp.Basic.Publish(), properties, body, frame_max=4096)
            amqp.encode_parts(1, amqp.Basic.Publish(), properties, body, frame_max=4096)
        attempt(run)
    """,
    "equality changes the walked dict": """
        from tests.support import amqp091_wire as w
        data = w.header_frame(headers=w.table(("a", b"b\\1"), ("b", w.array(b"b\\2", b"b\\3"))))
        class Odd(int):
            def __eq__(self, other):
                headers.clear()
                gc.collect()
                return True
            __hash__ = int.__hash__
        def run():
            global headers
            frame = amqp.decode(data)[2]
            headers = frame.properties.headers
            headers["a"] = Odd(1)
            headers["b"][0] = Odd(2)
            amqp.encode(1, frame)
            frame == amqp.decode(data)[2]
        attempt(run)
    """,
    "equality of fields drops the fields": """
        class Odd:
            def __eq__(self, other):
                left.exchange = right.exchange = None
                left.routing_key = right.routing_key = None
                gc.collect()
                return True
        def run():
            global left, right
            left, right = amqp.Basic.Publish(Odd(), "k" * 99), amqp.Basic.Publish(Odd(), "k" * 99)
            left == right
            left != right
        attempt(run)
    """,
    "repr of fields drops the fields": """
        class Odd:
            def __repr__(self):
                frame.exchange = frame.routing_key = None
                gc.collect()
                return "odd"
        def run():
            global frame
            frame = amqp.Basic.Publish(Odd(), "k" * 99)
            repr(frame)
        attempt(run)
    """,
    "buffers that raise": """
        class Odd(bytearray):
            def __len__(self): raise RuntimeError
        attempt(lambda: amqp.encode(1, amqp.Body(Odd(b"x"))))
        attempt(lambda: amqp.decode(Odd(b"x")))
        attempt(lambda: list(amqp.Decoder().feed(Odd(b"x"))))
    """,
    "str subclass with its own encode": """
        class Odd(str):
            def encode(self, *a): return b"z" * 9000
            def __len__(self): return 3
            def __hash__(self): raise RuntimeError
        attempt(lambda: amqp.encode(1, amqp.Basic.Publish(Odd("abc"))))
        attempt(lambda: amqp.encode(1, amqp.Queue.Declare(arguments={"k": Odd("abc")})))
    """,
    "dict subclass with its own items": """
        class Odd(dict):
            def items(self): return [("x",)] * 5
            def __iter__(self): raise RuntimeError
            def __len__(self): return 1 << 40
            def keys(self): raise RuntimeError
        attempt(lambda: amqp.encode(1, amqp.Queue.Declare(arguments=Odd(a=1, b=2))))
        class List(list):
            def __iter__(self): raise RuntimeError
            def __len__(self): return 1 << 40
            def __getitem__(self, i): raise RuntimeError
        attempt(lambda: amqp.encode(1, amqp.Queue.Declare(arguments={"k": List([1, 2])})))
    """,
    "decoder fed by its own iteration": """
        from tests.support import amqp091_wire as w
        data = w.method_frame("basic.ack") * 5 + w.content(1, b"x", headers={"k": 1})
        for kind in (amqp.Decoder, amqp.MessageDecoder):
            decoder = kind(errors="frame")
            for count, item in enumerate(decoder.feed(data)):
                if count < 20:
                    decoder.feed(data)
                if count == 12:
                    decoder.reset()
                if count == 15:
                    decoder.get_buffer(100_000)
                decoder.frame_max = 4096 + count
    """,
    "decoder initialised twice": """
        from tests.support import amqp091_wire as w
        for kind in (amqp.Decoder, amqp.MessageDecoder):
            decoder = kind()
            frames = decoder.feed(w.method_frame("basic.ack") * 3)
            next(frames)
            attempt(lambda: decoder.__init__(4096))
            attempt(lambda: list(frames))
            attempt(lambda: list(decoder.feed(w.HEARTBEAT)))
    """,
    "decoder without its constructor": """
        from tests.support import amqp091_wire as w
        for kind in (amqp.Decoder, amqp.MessageDecoder):
            raw = kind.__new__(kind)
            attempt(lambda: list(raw.feed(w.HEARTBEAT)))
            attempt(lambda: list(raw.feed(w.method_frame("basic.publish"))))
            attempt(lambda: raw.pending)
            attempt(lambda: raw.get_buffer(10))
            attempt(lambda: raw.discard(1))
            attempt(lambda: raw.reset())
            attempt(lambda: raw.eof())
    """,
    "instances without a constructor": """
        for kind in (*amqp.METHODS.values(), amqp.Basic.Properties, amqp.Header, amqp.Body,
                     amqp.Heartbeat, amqp.ProtocolHeader, amqp.Message, amqp.BadFrame):
            def run():
                raw = kind.__new__(kind)
                repr(raw)
                raw == kind()
                amqp.encode(1, raw)
            attempt(run)
            attempt(lambda: object.__new__(kind))
            attempt(lambda: repr(object.__new__(kind)))
            attempt(lambda: kind.__init__(kind(), 1, 2, 3))
            attempt(lambda: kind().__setstate__({"x": 1}))
            attempt(lambda: kind().__setstate__((1, 2)))
            attempt(lambda: kind().__setstate__(None))
            attempt(lambda: kind().__reduce_ex__(2))
            attempt(lambda: kind().__sizeof__())
    """,
    "threads": """
        import threading
        from tests.support import amqp091_wire as w
        data = b"".join(
            w.method_frame("basic.deliver", c, consumer_tag=f"t{c}", exchange=f"e{c % 7}")
            + w.content(c, b"x" * 50, headers={"n": c, f"k{c}": "v"}) for c in range(1, 60)
        )
        expected = list(amqp.Decoder().feed(data))
        wrong = []
        def work():
            for size in (1000, 37):
                decoder = amqp.Decoder()
                found = []
                for i in range(0, len(data), size):
                    found += list(decoder.feed(data[i:i + size]))
                if found != expected or b"".join(amqp.encode(*f) for f in found) != data:
                    wrong.append(size)
        threads = [threading.Thread(target=work) for _ in range(6)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        assert not wrong
    """,
}


@pytest.mark.parametrize("code", CASES.values(), ids=CASES.keys())
def test_survives(code: str) -> None:
    process = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", PRELUDE + textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert process.returncode == 0, process.stderr[-3000:]
