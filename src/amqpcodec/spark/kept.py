"""Files below ``stateLocation``: for their owner alone, encrypted where there is a key."""

from __future__ import annotations

import os
from contextlib import suppress

__all__ = ["KEY", "key_of", "write_whole"]

#: The environment variable with the key of the states.
KEY = "AMQPCODEC_STATE_KEY"


def key_of() -> bytes | None:
    """The key of the states, if there is one."""
    text = os.environ.get(KEY)
    return None if not text else text.encode()


def write_whole(path: str, data: bytes) -> None:
    """Whole or not at all, for nobody but its owner."""
    partial = f"{path}.{os.getpid()}.partial"
    with suppress(FileNotFoundError):
        os.unlink(partial)
    number = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(number, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(partial, path)
