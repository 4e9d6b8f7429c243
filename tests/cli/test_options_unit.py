"""The options of commands: a dataclass each, with exactly the arguments of the command line."""

from __future__ import annotations

import argparse
import ast
import dataclasses
import re
from pathlib import Path

import pytest

from amqpcodec.cli import options
from amqpcodec.cli.arguments import options_of, parse_arguments, parser
from amqpcodec.cli.main import main
from amqpcodec.compat.__main__ import main as compat_main
from tests.paths import REPO

CLI = REPO / "src" / "amqpcodec" / "cli"
#: The modules that make arguments and parse them.
PARSING = {CLI / "arguments.py", CLI / "replay" / "arguments.py"}
#: Words without which a command is not complete.
REQUIRED = {
    "show": ["3", "a.pcap"],
    "replay": ["--to", "amqp://localhost", "a.pcap"],
    "sql": ["a.pcap", "SELECT 1"],
    "fields": [],
    "completion": ["bash"],
}


def commands() -> dict[str, argparse.ArgumentParser]:
    [action] = (a for a in parser()._actions if isinstance(a, argparse._SubParsersAction))
    return dict(action.choices)


def words(name: str) -> list[str]:
    return REQUIRED.get(name, ["a.pcap"])


@pytest.mark.parametrize("name", commands())
def test_a_field_for_each_argument(name: str) -> None:
    """An argument without a field, or a field without an argument, is a TypeError."""
    command = parse_arguments([name, *words(name)])
    assert type(command.options).__name__ in (f"{name.title()}Options", "QuestionOptions")
    namespace = commands()[name].parse_args(words(name))
    argparse_entry = namespace.command
    assert options_of(argparse_entry.kind, namespace) == command.options
    namespace.another = 1
    with pytest.raises(TypeError, match=r"has no field for: another$"):
        options_of(argparse_entry.kind, namespace)
    for argument in vars(commands()[name].parse_args(words(name))):
        if argument == "command":
            continue
        namespace = commands()[name].parse_args(words(name))
        delattr(namespace, argument)
        with pytest.raises(TypeError, match=rf"\.{argument} has no argument$"):
            options_of(argparse_entry.kind, namespace)


@pytest.mark.parametrize("name", commands())
@pytest.mark.parametrize("mistake", [["--no-such-option"], ["--utc", "--relative"], []])
def test_an_error_is_one_line(
    name: str, mistake: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """It names the command, and where its options are listed."""
    if name == "fields" and not mistake:
        pytest.skip("it takes no words")
    assert main([name, *(words(name) if mistake else []), *mistake]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"amqpcodec {name}: error: ")
    assert line.endswith(f"; see amqpcodec {name} --help")


@pytest.mark.parametrize("mistake", [[], ["no-such-command"], ["--no-such-option"]])
def test_an_error_before_the_command_is_one_line(
    mistake: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(mistake) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"amqpcodec: error: .*(?i:command).*; see amqpcodec --help", line)


@pytest.mark.parametrize("mistake", [[], ["no-such-command"], ["check", "pikka"], ["check", "-x"]])
def test_an_error_of_the_drop_ins_check_is_one_line(
    mistake: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        compat_main(mistake)
    assert ended.value.code == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("python -m amqpcodec.compat: error: ")
    assert line.endswith("; see python -m amqpcodec.compat --help")


def all_options() -> list[type]:
    members = [getattr(options, name) for name in options.__all__]
    return [one for one in members if isinstance(one, type) and one is not options.Options]


def test_options_are_frozen_and_have_slots() -> None:
    assert len(all_options()) >= 13
    for kind in all_options():
        assert dataclasses.is_dataclass(kind)
        assert "__slots__" in vars(kind)
    of_stats = parse_arguments(["stats", "a.pcap"]).options
    assert isinstance(of_stats, options.StatsOptions)
    with pytest.raises(dataclasses.FrozenInstanceError):
        of_stats.format = "json"  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        of_stats.source.files = []  # type: ignore[misc]
    assert not hasattr(of_stats, "__dict__")


def test_limits_that_were_given() -> None:
    source = parse_arguments(["stats", "--frame-bytes", "9", "--record-bytes", "7", "a"]).options
    assert isinstance(source, options.StatsOptions)
    assert source.source.limits == {"frame_bytes": 9, "record_bytes": 7}
    again = parse_arguments(["stats", "a"]).options
    assert isinstance(again, options.StatsOptions)
    assert again.source.limits == {}


def annotations(tree: ast.AST) -> list[str]:
    """The text of every annotation of an argument or result."""
    texts = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            arguments += filter(None, (node.args.vararg, node.args.kwarg))
            texts += [ast.unparse(a.annotation) for a in arguments if a.annotation]
            texts += [ast.unparse(node.returns)] if node.returns else []
    return texts


@pytest.mark.parametrize("path", sorted(CLI.rglob("*.py")), ids=lambda path: path.stem)
def test_a_namespace_stays_with_the_parser(path: Path) -> None:
    text = path.read_text()
    if path in PARSING:
        return
    assert not [one for one in annotations(ast.parse(text)) if "Namespace" in one]
    assert "getattr(options" not in text


def test_annotations_are_read() -> None:
    tree = ast.parse("def f(a: argparse.Namespace, *, b: int) -> str: ...")
    assert annotations(tree) == ["argparse.Namespace", "int", "str"]
