"""What a user changed in a client before its drop-in was installed has its effect, and is told."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from amqpcodec.compat import CompatWarning
from tests.dropins.canon import outcome, shown
from tests.dropins.conftest import need
from tests.dropins.stock import Side, dropin, live, stock
from tests.dropins.test_changes_unit import (
    Undo,
    amqp_read,
    compared_at_every_call,
    pamqp_read,
    pika_write,
    put,
    stock_outcomes,
    wrapped,
)


def loud(value: Any, *_arguments: Any) -> Any:
    """A value, or the value after the number of bytes, in capitals."""
    if isinstance(value, tuple):
        return value[0], loud(value[1])
    return value.upper()


def pamqp_part(side: Side) -> Undo:
    def shout(frame: Any, *_arguments: Any) -> Any:
        frame.exchange = "the user's"
        return frame

    return put(
        side.frame, "_unmarshal_method_frame", wrapped(side.frame._unmarshal_method_frame, shout)
    )


def pamqp_entry(side: Side) -> Undo:
    return put(side.decode.METHODS, "shortstr", wrapped(side.decode.short_str, loud))


def pika_helper(side: Side) -> Undo:
    return put(side.data, "as_bytes", wrapped(side.data.as_bytes, loud))


def amqp_helper(side: Side) -> Undo:
    return put(side.serialization, "pstr_t", wrapped(side.serialization.pstr_t, loud))


CHANGES: dict[str, tuple[str, Callable[[Side], Undo], Callable[[Side], Any]]] = {
    "pamqp.frame._unmarshal_method_frame": ("pamqp", pamqp_part, pamqp_read),
    "pamqp.decode.METHODS.shortstr": ("pamqp", pamqp_entry, pamqp_read),
    "pika.data.as_bytes": ("pika", pika_helper, pika_write),
    "amqp.serialization.pstr_t": ("amqp", amqp_helper, amqp_read),
}


@pytest.mark.parametrize("plainly", [False, True], ids=["called back", "compared"])
@pytest.mark.parametrize("path", CHANGES)
def test_an_earlier_change(path: str, plainly: bool) -> None:
    package, change, ask = CHANGES[path]
    need(package)
    _, want = stock_outcomes(package, change, ask)
    module, side = dropin(package), live(package)
    undo = change(side)
    try:
        with compared_at_every_call(plainly):
            with pytest.warns(CompatWarning, match=f"^{path} is not {package}'s own: what rests"):
                module.install()
            try:
                got = outcome(lambda: ask(side))
            finally:
                module.uninstall()
    finally:
        undo()
    assert got == want, f"\nstock   {shown(want)}\ndrop-in {shown(got)}"


def test_modules_that_count_what_is_set_are_modules() -> None:
    """They say nothing else than before, and are plain ones again at the end."""
    need("pamqp")
    module, side = dropin("pamqp"), live("pamqp")
    with compared_at_every_call(True):
        module.install()
        try:
            decode = side.decode
            assert isinstance(decode, ModuleType)
            assert type(decode) is not ModuleType
            assert repr(decode).startswith("<module 'pamqp.decode' from ")
            assert pickle.loads(pickle.dumps(decode)) is decode
            assert copy.copy(decode) is decode
            with pytest.raises(AttributeError, match=r"^module 'pamqp.decode' has no attribute"):
                _ = decode.nothing
        finally:
            module.uninstall()
    assert type(side.decode) is ModuleType


def test_a_name_that_is_deleted_is_noticed() -> None:
    need("pamqp")
    plain = stock("pamqp")
    module, side = dropin("pamqp"), live("pamqp")

    def without(side: Side) -> Any:
        own = side.frame.frame_parts
        del side.frame.frame_parts
        try:
            return outcome(lambda: pamqp_read(side))
        finally:
            side.frame.frame_parts = own

    for plainly in (False, True):
        with compared_at_every_call(plainly):
            module.install()
            try:
                pamqp_read(side)
                assert without(side) == without(plain)
            finally:
                module.uninstall()
