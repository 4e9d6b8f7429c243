"""Files below ``stateLocation``: for their owner alone, encrypted where there is a key."""

from __future__ import annotations

import os

__all__ = ["KEY", "key_of", "write_atomically"]

#: The environment variable with the key of the states.
KEY = "AMQPCODEC_STATE_KEY"


def key_of() -> bytes | None:
    """The key of the states, if there is one."""
    text = os.environ.get(KEY)
    return None if not text else text.encode()


def write_atomically(path: str, data: bytes) -> None:
    """Whole or not at all, for nobody but its owner."""
    # Processes of several machines write here, whose numbers may be the same.
    partial = f"{path}.{os.getpid()}.{os.urandom(4).hex()}.partial"
    number = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(number, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(partial, path)
