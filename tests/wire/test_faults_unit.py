"""The table of faults (_core/wire/faults.h): each has a class, and texts name values that exist."""

from __future__ import annotations

import re

from amqpcodec import errors
from tests.paths import REPO

WIRE = REPO / "src" / "amqpcodec" / "_core" / "wire"
TABLE = (WIRE / "faults.h").read_text(encoding="utf-8")
TEXTS = (WIRE / "errors.pxi").read_text(encoding="utf-8").partition("cdef int encode_error(")[0]
LINES = re.findall(r"FAULT\((\w+), (\w+Error), ", TABLE)
#: By their first letter: errors.pxi.
VALUES = set(re.findall(r'which == c"(\w)"', TEXTS)) | {"o"}


def test_each_code_is_declared_and_has_a_class() -> None:
    declared = (WIRE / "wire.pxd").read_text(encoding="utf-8")
    codes = re.search(r"faults.h.*?enum:\n(.*?) +FAULT_CODES", declared, re.S)
    assert codes is not None
    assert [code for code, _ in LINES] == codes[1].split()
    assert len(LINES) > 30
    assert all(issubclass(getattr(errors, name), errors.AMQPCodecError) for _, name in LINES)


def test_texts_name_known_values() -> None:
    letters = re.findall(r"\{(\w)\w*\}", TABLE + TEXTS[TEXTS.index("fault_template") :])
    assert len(letters) > 50
    assert set(letters) <= VALUES
