"""Uses chains of very many objects, each of which holds the one before. Run as a program.

Each chain and use has a process of its own (a fork), because an overflow of the stack is what is
looked for. Prints a line of JSON: what each use ended with, by chain.
"""

from __future__ import annotations

import copy
import gc
import json
import os
import pickle
import resource
import sys
from collections.abc import Callable
from typing import Any

from amqpcodec import v0_9_1 as a
from amqpcodec import v1_0 as v

DEPTH = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000


def assigned(x: Any) -> Any:
    frame = a.Basic.Publish()
    frame.exchange = x
    return frame


WIRE = a.encode_message(1, a.Basic.Publish(), a.Basic.Properties(headers={}))


def decoded(x: Any) -> Any:
    """A message as a decoder makes it, with the one before in its headers."""
    [(_, message)] = a.MessageDecoder().feed(WIRE)
    message.properties.headers["x"] = x
    return message


CHAINS: dict[str, Callable[[Any], Any]] = {
    "decoded": decoded,
    "method": a.Basic.Publish,
    "assigned": assigned,
    "content header": lambda x: a.Header(0, x),
    "message": a.Message,
    "properties": lambda x: a.Basic.Properties(headers={"x": x}),
    "bad frame": a.BadFrame,
    "1.0 amqp-value": v.AmqpValue,
    "1.0 message": lambda x: v.Message(value=x),
    "1.0 delivery": v.Delivery,
    "1.0 composite": lambda x: v.Source(filter={"a": x}),
    "described": lambda x: v.Described(1, x),
    "map": lambda x: v.Map([(1, x)]),
    "list": lambda x: [x],
    "dict": lambda x: {"x": x},
}

#: Chains that cannot be given up.
LEFT: list[Any] = []

USES: dict[str, Callable[[Any, Any], Any]] = {
    "del": lambda x, y: None,
    "collect": lambda x, y: gc.collect(),
    "repr": lambda x, y: repr(x),
    "==": lambda x, y: x == y,
    "hash": lambda x, y: hash(x),
    "pickle": lambda x, y: pickle.dumps(x),
    "copy": lambda x, y: copy.copy(x),
    "deepcopy": lambda x, y: copy.deepcopy(x),
    "encode 0-9-1": lambda x, y: a.encode(1, x),
    "encode table": lambda x, y: a.encode(1, a.Queue.Declare(arguments={"x": x})),
    "encode content": lambda x, y: a.encode_message(1, a.Basic.Publish(), x, b""),
    "encode 1.0": lambda x, y: v.encode(1, x),
    "encode value": lambda x, y: v.encode_value(x),
    "encode message": lambda x, y: v.Message(value=x).encode(),
    "validate": lambda x, y: x.validate(),
}


def chain(make: Callable[[Any], Any]) -> Any:
    one: Any = None
    for _ in range(DEPTH):
        one = make(one)
    return one


def outcome(pair: list[Any], use: Callable[[Any, Any], Any]) -> str:
    """ "", the name of an exception, or the number of the signal that ended the process."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        exception_name = ""
        try:
            use(*pair)
        except Exception as error:
            exception_name = type(error).__name__
        if use is USES["del"]:
            pair.clear()
        os.write(write, exception_name.encode())
        os._exit(0)
    os.close(write)
    status = os.waitpid(child, 0)[1]
    exception_name = os.read(read, 1000).decode()
    os.close(read)
    return f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else exception_name


def main() -> None:
    ends: dict[str, dict[str, str]] = {}
    for name, make in CHAINS.items():
        pair = [chain(make), chain(make)]
        ends[name] = {use: outcome(pair, function) for use, function in USES.items()}
        if ends[name]["del"]:  # where that overflows, this process had better not try
            gc.freeze()
            LEFT.append(pair)
    print(json.dumps(ends), flush=True)
    if LEFT:
        os._exit(0)


if __name__ == "__main__":
    main()
