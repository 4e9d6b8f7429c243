"""Clients that are not known: on_unknown, reports, and `python -m amqpcodec.compat check`."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

import pytest

import amqpcodec
from amqpcodec.compat import CompatError, CompatWarning
from amqpcodec.compat._compare import Difference, DiffersError
from tests.dropins.conftest import need
from tests.dropins.stock import dropin

main = import_module("amqpcodec.compat.__main__").main


@pytest.fixture
def unknown(package: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The drop-in of a client of which it knows other versions."""
    module = dropin(package)
    monkeypatch.setattr(module._DROP_IN, "versions", ("0.1",))
    yield module
    module.uninstall()


def test_an_unknown_client_is_an_error(unknown: Any) -> None:
    with pytest.raises(CompatError, match=r"knows \w+ 0\.1, and this is .*Nothing was changed"):
        unknown.install(on_unknown="error")
    assert not unknown.installed()


def test_an_unknown_client_is_skipped(unknown: Any) -> None:
    with pytest.warns(CompatWarning, match=r"knows \w+ 0\.1, and this is .*left as it is"):
        unknown.install(on_unknown="skip")
    assert not unknown.installed()


def test_an_unknown_client_is_compared(unknown: Any) -> None:
    with pytest.warns(CompatWarning, match=r"only what gives the client's own results"):
        unknown.install()
    assert unknown.installed()
    report = unknown._DROP_IN.report()
    assert not report.is_known
    assert len(report.compiled) > 10
    assert report.uncompiled == ()


def test_a_known_client_is_no_error(package: str) -> None:
    module = dropin(package)
    for on_unknown in ("error", "skip", "warn"):
        module.install(on_unknown=on_unknown)
        assert module.installed()
        assert module._DROP_IN.report().is_known
        module.uninstall()
        assert module._DROP_IN.report() is None


def test_deprecations_of_an_old_client_are_no_errors(
    package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With -W error, a tag of times would be none that pamqp 3.2 reads on Python 3.12 and newer."""
    module = dropin(package)
    build = module._DROP_IN.build

    def build_with_warning(strict: bool) -> Any:
        warnings.warn("utcfromtimestamp() is deprecated", DeprecationWarning, stacklevel=1)
        return build(strict)

    monkeypatch.setattr(module._DROP_IN, "build", build_with_warning)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        module.install()
    assert module.installed()
    module.uninstall()


def test_another_word_is_refused(package: str) -> None:
    with pytest.raises(ValueError, match="'warn', 'error' or 'skip'"):
        dropin(package).install(on_unknown="ignore")
    with pytest.raises(ValueError, match="'warn', 'error' or 'skip'"):
        amqpcodec.install("azure", on_unknown="ignore")  # type: ignore[arg-type]


def test_of_several_the_unknown_one_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    need("pika")
    need("amqp")
    pika, amqp = dropin("pika"), dropin("amqp")
    monkeypatch.setattr(pika._DROP_IN, "versions", ("0.1",))
    try:
        with pytest.raises(CompatError):
            amqpcodec.install("amqp", "pika", on_unknown="error")
        assert not amqp.installed()
        with pytest.warns(CompatWarning):
            amqpcodec.install("amqp", "pika", on_unknown="skip")
        assert amqp.installed()
        assert not pika.installed()
    finally:
        amqp.uninstall()
        pika.uninstall()


def test_check_prints_each_client(capsys: pytest.CaptureFixture[str]) -> None:
    need("pika")
    assert main(["check", "pika"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"pika {import_module('pika').__version__}: compared beforehand"
    assert lines[1:] == ["  compiled: 13 functions", "  left to pika: nothing"]
    assert main(["check", "--all", "pika"]) == 0
    assert "    pika.frame.decode_frame" in capsys.readouterr().out.splitlines()
    assert not dropin("pika").installed()


def test_check_names_what_is_left_and_what_is_refused(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    need("pika")
    module = dropin("pika")
    monkeypatch.setattr(module._DROP_IN, "versions", ("0.1",))
    read = dict(module._READ)
    monkeypatch.setattr(module, "_READ", read | {"V": "bool"})
    assert main(["check", "pika"]) == 0
    text = capsys.readouterr().out
    assert ": not known, compared now\n" in text
    assert "  left to pika:\n    reading tag V: read tag 'V', bytes 56" in text

    def differs(*_arguments: Any) -> Any:
        raise DiffersError(Difference("read frame 01", "one", "another"))

    monkeypatch.setattr(module, "fit", differs)
    assert main(["check", "pika"]) == 1
    text = capsys.readouterr().out
    assert ": refused\n" in text
    assert "read frame 01: the client gives one, the drop-in another" in text
    with pytest.raises(SystemExit) as info:
        main(["check", "rabbitpy"])
    assert info.value.code == 2


def test_a_client_that_is_not_there(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    module = dropin("pika")
    monkeypatch.setattr(module._DROP_IN, "client", "no_such_client")
    assert main(["check", "pika"]) == 0
    assert capsys.readouterr().out == "no_such_client: not installed\n"
