"""Drop-ins: existing clients over the compiled codec, with their own classes and exceptions.

```python
from amqpcodec.compat import pika

pika.install()
```

or ``amqpcodec.install("pika")``. There is one module a client, ``pika``, ``pamqp`` (under
aiormq, aio-pika and amqpstorm), ``amqp`` (py-amqp, under kombu and Celery) and, of AMQP 1.0,
``azure`` (azure-eventhub, azure-servicebus and rstream: those of them that are there). Each has

- ``install(strict=True, on_unknown="warn")``: put the compiled codec into the client's patch
  points.
  Imports the client, so it may stand before or after the client's own import. Twice is once.
  ``strict=False``: a header value that the client could not read is an `amqpcodec.types.RawValue`
  instead of an error.
- ``uninstall()``: put the client's own objects back.
- ``calls()``: how often the compiled codec was entered since it was installed.
- ``fallbacks()``: how many of these calls were left to the client's own code, by reason: unusual,
  broken or unsupported input, and classes that were subclassed or patched ("client changed"). What
  comes of them is what comes without the drop-in, exceptions included. A reason that begins with
  "error:" is a mistake of ours, which we would like to hear of.

A client may be patched before and after the installation: what rests on that is left to its own
code. ``docs/guide/drop-ins.md`` says what is not noticed.

Ranges of versions are known here: pika 1.2 to 1.4, pamqp 3.2 to 4.0, py-amqp 5.1 to 5.4,
azure-eventhub 5.13 to 5.15, azure-servicebus 7.13 to 7.15, rstream 0.40 to 1.1. Another version is
compared with the client's own functions when it is installed: values of every type and
width, frames of every method. A tag, a type or a method that differs is left to the client, and a
`CompatWarning` names it with the first value that differs. A client that differs otherwise, or has
not the patch points, raises `CompatError` and stays as it is. ``on_unknown="error"`` refuses what
is not known, ``"skip"`` leaves it as it is. ``amqpcodec.install("pika", "pamqp")`` installs both or
none.

``python -m amqpcodec.compat check`` prints what the drop-ins do for the clients that are there.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import amqpcodec._facade.interpreter  # noqa: F401  before the modules here load _dropins

from .._facade.public import listing
from ._dropin import CompatError, CompatWarning

__all__ = ["CompatError", "CompatWarning", "drop_in"]

__dir__ = listing(__name__)

#: Drop-ins, by the names of their clients' packages.
CLIENTS: tuple[str, ...] = ("amqp", "azure", "pamqp", "pika")


def drop_in(client: str) -> Any:
    """The module of a client's drop-in.

    Raises:
        ValueError: there is none.
    """
    if client not in CLIENTS:
        raise ValueError(f"no drop-in for {client!r}; there is {', '.join(map(repr, CLIENTS))}")
    return import_module(f"{__name__}.{client}")
