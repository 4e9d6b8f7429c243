"""A tag without a class in `amqpcodec.types` is one whose plain value is written with it again."""

from __future__ import annotations

import subprocess
import sys

import pytest

#: Of each class, its tag where no plain value is written with it, else None.
TAGS = {
    "Int8": "b",
    "UInt8": "B",
    "Int16": "s",
    "Int16U": "U",
    "UInt16": "u",
    "Int32": None,  # as a small int
    "UInt32": "i",
    "Int64": "l",
    "UInt64": "l",  # by the letter of 0-9-1
    "Float": "f",
    "Double": None,  # as a float
    "LongString": None,  # there is LongBytes
    "ShortString": "s",  # by the letter
    "ByteArray": "x",  # by the letter, where bytes are written as S
    "Timestamp": None,  # as a datetime
    "Void": None,  # as None
}

WITHOUT = """
import amqpcodec.types
del amqpcodec.types.TAGS[amqpcodec.types.{}]
import amqpcodec._codec
"""


@pytest.mark.parametrize("name", TAGS)
def test_the_module_does_not_load_without_the_class_of_a_tag(name: str) -> None:
    run = subprocess.run(
        [sys.executable, "-c", WITHOUT.format(name)], capture_output=True, text=True, check=False
    )
    print(run.stderr[-300:])
    tag = TAGS[name]
    if tag is None:
        assert run.returncode == 0
    else:
        message = f"ImportError: amqpcodec.types.TAGS: tag '{tag}' of tables/tags.h has no class"
        assert run.stderr.splitlines()[-1] == message
