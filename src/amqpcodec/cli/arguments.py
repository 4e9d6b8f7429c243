"""What may follow ``amqpcodec``: the commands and their options."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from .._facade.arguments import Parser
from .._facade.names import split_names
from .errors import did_you_mean, need_extra, print_error
from .options import (
    CompletionOptions,
    DiagnoseOptions,
    DissectOptions,
    ErrorsOptions,
    FieldsOptions,
    FramePosition,
    MessagesOptions,
    Options,
    QueryOptions,
    QuestionOptions,
    ReplayOptions,
    ReportOptions,
    ShowOptions,
    SqlOptions,
    StatsOptions,
    TopOptions,
)
from .uris import FS_HELP, setting, source, with_stores
from .version import version

__all__ = ["Command", "options_of", "parse_arguments", "parser"]

T = TypeVar("T", bound=Options)

#: The environment variable with the value of --ports where that is not given, and its own default.
PORTS_VARIABLE = "AMQPCODEC_PORTS"
AUTO_PORTS = "auto"

#: Options that stand where others follow a command.
OWN_OPTIONS = ("-h", "--help", "--version")

#: What --help says of --where. {}: an expression that its command takes.
WHERE_HELP = """\
expressions of --where, such as
  {}
  NAME == VALUE     or != < <= > >=; NAME in (VALUE, VALUE)
  NAME              a row that has one; not NAME: one that has none
  NAME ~ PATTERN    a regular expression is found in it (!~: is not)
  NAME.KEY          a value inside of a JSON column: arguments.exchange,
                    properties.headers.n
  and, or, not and ( ) join them.
Names are those of the table's headings, and those that "amqpcodec fields"
lists. Times are UTC unless they say otherwise: 2026-02-28T12:00. Values of
binary columns (payload, body) are text, or bytes in hex: 0x00ff. A row without
the value fits no comparison except != and !~. A list (flags) fits if an item
does. Names and values with spaces or signs are quoted: 'so' or "so".
"""

#: The expression that a command's --help shows.
EXAMPLES = {
    "dissect": "method == basic.publish and arguments.exchange == orders",
    "diagnose": "severity == 1 and connection_name ~ shop",
    "queues": "backlog > 0 or unacknowledged > 0",
    "connections": "ended != closed and user == guest",
    "topology": "kind == queue and not (queue ~ '^amq')",
    "messages": "event == published and body_size > 1000",
    "latency": "count >= 10 and p99_ms > 50",
    "errors": "reply_code in (404, 406) or reason ~ refused",
    "unacked": "queue == orders and age_us > 60000000",
    "top": "kind == queue and delivered > 100",
    "show": "depth < 2 and type == shortstr",
    "replay": "exchange == orders and body ~ 'order-[0-9]+'",
    "fields": "type == int64",
}

#: Limits of what recordings may make a command do: capture.LimitOptions has them in full. Their
#: defaults are those of capture.
LIMITS = {
    "reorder-bytes": "maximum bytes that wait for a missing segment, per direction",
    "reorder-segments": "maximum segments that wait for a missing one, per direction",
    "open-connections": "maximum open connections; above it those idle for longest end",
    "record-bytes": "maximum bytes of a packet or block of a file",
    "frame-bytes": "maximum bytes of a frame",
    "message-bytes": "maximum bytes of the frames of a message",
    "open-deliveries": "maximum open deliveries of 1.0, per direction",
    "max-tracked": "maximum open channels, consumers, publishes, deliveries and requests, each",
    "fragment-bytes": "maximum bytes of incomplete IP packets",
    "websocket-bytes": "maximum bytes of a compressed WebSocket message",
    "websocket-ratio": "maximum ratio of decompressed to compressed bytes of WebSocket messages,"
    " beyond 1 MiB",
    "max-decompressed-bytes": "maximum bytes after decompression of a file; 0: unlimited",
    "max-compression-ratio": "maximum ratio of decompressed to compressed bytes of a file, beyond"
    " 64 MiB; 0: unlimited",
}

EPILOG = """\
exit status: 0, 1 (bad data found and reported), 2 (wrong usage, a file that
cannot be read) or 130 (interrupted)
"""


def where_help(command: str, *before: str) -> dict[str, Any]:
    """How --help of a command ends that takes --where. before: what it says first."""
    return {
        "epilog": "\n".join((*before, WHERE_HELP.format(EXAMPLES[command]), EPILOG)),
        "formatter_class": argparse.RawDescriptionHelpFormatter,
    }


class Command(NamedTuple):
    """A command as it was written: what runs it, and with which options."""

    run: Callable[[Any], int]
    options: Options


@dataclass(frozen=True)
class Entry(Generic[T]):
    """What a command's parser leads to: the class of its options, and the function they go to."""

    kind: type[T]
    run: Callable[[T], int]


def options_of(kind: type[T], namespace: argparse.Namespace) -> T:
    """The options of a command: each field has the value of the argument of its name.

    Raises:
        TypeError: a field has no argument, or an argument no field.
    """
    values = {name: value for name, value in vars(namespace).items() if name not in OF_PARSER}
    options = _take(kind, values)
    if values:
        raise TypeError(f"{kind.__name__} has no field for: {', '.join(sorted(values))}")
    return options


#: What the parser itself stores: the command's name, and its Entry.
OF_PARSER = {"name", "command"}


def _take(kind: type[T], values: dict[str, Any]) -> T:
    """The same, taking the values that the fields have out of `values`."""
    arguments = {}
    for option in fields(kind):  # type: ignore[arg-type]
        if isinstance(option.type, type) and issubclass(option.type, Options):
            arguments[option.name] = _take(option.type, values)
        elif option.name in values:
            arguments[option.name] = values.pop(option.name)
        else:
            raise TypeError(f"{kind.__name__}.{option.name} has no argument")
    return kind(**arguments)


def parse_arguments(arguments: Sequence[str]) -> Command:
    """The command that words say."""
    command_parser = parser()
    if "_ARGCOMPLETE" in os.environ:
        from .completion import complete

        complete(command_parser)
    words = _joined(list(arguments))
    names = _commands(command_parser).choices
    if words and words[0].startswith("-") and words[0] not in ("-", *OWN_OPTIONS):
        words = _with_command(words, command_parser, names)
    elif words and words[0] not in names and _is_file(words[0]):
        words.insert(0, "diagnose")
    elif words and words[0] not in names and not words[0].startswith("-"):
        hint = did_you_mean(words[0], names) or f"; choose one of {', '.join(names)}"
        command_parser.error(f"there is no command {words[0]!r}{hint}")
    namespace, unknown = command_parser.parse_known_args(words)
    command_parser = names[words[0]]
    if unknown and "query" in namespace and not any(word.startswith("-") for word in unknown):
        # Options stood between the files and the query, which is the last word.
        namespace.files += map(source, [namespace.query, *unknown[:-1]])
        namespace.query, unknown = unknown[-1], []
    if unknown:
        options = [word for action in command_parser._actions for word in action.option_strings]
        hint = did_you_mean(unknown[0].partition("=")[0], options)
        command_parser.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
    if "files" in namespace:
        if not namespace.files and not getattr(namespace, "interface", None):
            needed = "FILE, before QUERY" if "query" in namespace else "FILE"
            command_parser.error(f"the following arguments are required: {needed}")
        try:
            namespace.files = with_stores(namespace.files, namespace.fs)
        except (OSError, ValueError, ImportError) as problem:
            command_parser.error(str(problem))
    entry: Entry[Any] = namespace.command
    return Command(entry.run, options_of(entry.kind, namespace))


def _with_command(
    words: list[str], own: argparse.ArgumentParser, names: Collection[str]
) -> list[str]:
    """Words that begin with an option, of the command diagnose where a file follows.

    An error where they name another command: its options follow it.
    """
    if words[0].partition("=")[0] == "--interface":
        own.error(f"diagnose has no live mode: use amqpcodec errors {shlex.join(words)}")
    command = next((word for word in words if word in names), None)
    if command is not None:
        others = list(words)
        others.remove(command)
        own.error(f"options follow the command: amqpcodec {command} {shlex.join(others)}")
    return ["diagnose", *words] if any(map(_is_file, words)) else words


def _is_file(word: str) -> bool:
    """Whether a word that is no command names a file, a pattern or a URI; or looks like one."""
    return word == "-" or (
        not word.startswith("-")
        and (os.path.exists(word) or any(sign in word for sign in "./\\*?"))
    )


def _joined(words: list[str]) -> list[str]:
    """``--sort -count`` as one word: argparse takes -count for an option."""
    arguments: list[str] = []
    for word in words:
        if arguments and arguments[-1] == "--sort" and word.startswith("-"):
            arguments[-1] = f"--sort={word}"
        else:
            arguments.append(word)
    return arguments


#: The commands by what they are for: --help lists them so.
COMMANDS = {
    "Frames and messages": ("dissect", "show", "messages", "stats"),
    "Analysis": (
        "diagnose",
        "connections",
        "queues",
        "unacked",
        "latency",
        "errors",
        "top",
        "topology",
        "sql",
    ),
    "Report and replay": ("report", "replay"),
    "Help for the command line": ("fields", "completion"),
}


class CommandParser(Parser):
    """The parser of a command, whose help has the defaults of limits."""

    def format_help(self) -> str:
        """The help; capture has the defaults, and takes time to import."""
        for action in self._actions:
            if isinstance(action, LimitOption):
                action.help = action.help_with_default()
        return super().format_help()


def _commands(top_level: argparse.ArgumentParser) -> argparse._SubParsersAction[CommandParser]:
    """The first word, whose choices are the parsers of the commands."""
    [action] = (a for a in top_level._actions if isinstance(a, argparse._SubParsersAction))
    return action


class TopLevelParser(CommandParser):
    """The parser of the first word, whose help has the commands in groups."""

    def format_help(self) -> str:
        """See COMMANDS; as wide as the terminal."""
        formatter = self._get_formatter()
        words = _commands(self)
        actions = {action.dest: action for action in words._choices_actions}
        formatter.add_usage(self.usage, self._actions, self._mutually_exclusive_groups)
        formatter.add_text(self.description)
        for title, names in COMMANDS.items():
            formatter.start_section(title)
            formatter.add_arguments([actions[name] for name in names])
            formatter.end_section()
        formatter.start_section("options")
        formatter.add_arguments([action for action in self._actions if action is not words])
        formatter.end_section()
        formatter.add_text("amqpcodec COMMAND --help says what each one takes.")
        formatter.add_text(self.epilog)
        return formatter.format_help()


def parser() -> argparse.ArgumentParser:
    """What may follow ``amqpcodec``."""
    top = TopLevelParser(
        prog="amqpcodec",
        description="Look into recordings of AMQP traffic. A FILE in place of the command:"
        " diagnose it.",
        epilog=EPILOG,
    )
    top.add_argument("--version", action="version", version=f"amqpcodec {version()}")
    commands = top.add_subparsers(
        required=True, metavar="COMMAND", dest="name", parser_class=CommandParser
    )
    _dissect(commands)
    _stats(commands)
    _questions(commands)
    _sql(commands)
    _show(commands)
    _report(commands)
    _replay(commands)
    _fields(commands)
    _completion(commands)
    return top


if TYPE_CHECKING:
    from ..analysis._consumers import Consumers
    from ..capture import KeyLog

    Commands = argparse._SubParsersAction[CommandParser]


def _dissect(commands: Commands) -> None:
    dissect = commands.add_parser(
        "dissect",
        help="show frames: as a table, JSON Lines, CSV or Parquet",
        description="Show the frames of captures: pcap and pcapng, plain or compressed.",
        **where_help("dissect"),
    )
    add_source(dissect)
    dissect.add_argument(
        "--level",
        choices=["frame", "message", "event"],
        default="frame",
        help="a row for each frame (the default), method with its content, or event: what happened",
    )
    add_output(dissect)
    add_follow(dissect, "follow")
    dissect.add_argument(
        "--workers", type=workers, default=1, metavar="N", help="threads that read files (1)"
    )
    add_interface(dissect)
    dissect.set_defaults(command=Entry(DissectOptions, run_dissect))


def _stats(commands: Commands) -> None:
    stats = commands.add_parser(
        "stats",
        help="count packets, frames, errors and gaps",
        description="Count packets, frames, errors, gaps and skipped bytes.",
        epilog=EPILOG,
    )
    add_source(stats, secrets=False)
    stats.add_argument(
        "--format", choices=["table", "json"], default="table", help="default: table"
    )
    stats.set_defaults(command=Entry(StatsOptions, run_stats))


def _questions(commands: Commands) -> None:
    for name, (help_text, kind, run) in QUESTIONS.items():
        command = commands.add_parser(
            name,
            help=help_text,
            description=f"Show {help_text}.",
            **where_help(name),
        )
        add_source(command, secrets=False)
        add_output(command)
        add_live(command, follow=kind is not MessagesOptions)
        if kind is ErrorsOptions:
            command.add_argument(
                "--all", action="store_true", help="one by one, and not the same ones counted"
            )
        elif kind is MessagesOptions:
            command.add_argument(
                "--follow",
                metavar="ID",
                help="only messages with this message id or correlation id; or CONNECTION:EVENT, as"
                " the columns connection and event_id have them: messages with the same body",
            )
        elif kind is TopOptions:
            _rank_arguments(command)
        command.set_defaults(command=Entry(kind, run))


def _rank_arguments(command: argparse.ArgumentParser) -> None:
    kinds = ("exchange", "routing_key", "queue", "connection_name")
    command.add_argument(
        "--by",
        type=_one_of(kinds),
        default=list(kinds),
        metavar="KIND,...",
        help=f"kinds to rank: {', '.join(kinds)}; default: all",
    )
    command.add_argument(
        "--top",
        type=number,
        default=10,
        metavar="N",
        help="number of rows of each kind, the busiest first; default: 10",
    )


def _sql(commands: Commands) -> None:
    sql = commands.add_parser(
        "sql",
        help="run SQL over what happened: the view events",
        description="Run a SELECT of DuckDB over the events of captures: the view events, whose"
        " columns docs/guide/events.md has.",
        epilog=EPILOG,
    )
    add_source(sql, secrets=False)
    sql.add_argument(
        "query",
        metavar="QUERY",
        help='such as "SELECT event, count(*) FROM events GROUP BY event"',
    )
    add_format(sql)
    add_window(sql)
    add_clock(sql)
    add_live(sql)
    sql.set_defaults(fields=None, where=None, sort=[], limit=None)
    sql.set_defaults(command=Entry(SqlOptions, run_sql))


def _show(commands: Commands) -> None:
    show = commands.add_parser(
        "show",
        help="show one frame as a tree, with offsets, beside its bytes",
        description="Show one frame as a tree, with offsets, beside its bytes in hex.",
        **where_help("show"),
    )
    show.add_argument(
        "number",
        metavar="N",
        type=_place,
        help='the frame: its number (column "n" of dissect), or packet_offset:position',
    )
    add_source(show)
    add_rows(show)
    add_clock(show)
    show.set_defaults(command=Entry(ShowOptions, run_show))


def _report(commands: Commands) -> None:
    report = commands.add_parser(
        "report",
        help="write a report as one HTML page that needs no network",
        description="Write one HTML page about captures: rates, sizes, latencies, queues, errors"
        " and connections. A browser shows it without a network.",
        epilog=EPILOG,
    )
    add_source(report, secrets=False)
    report.add_argument(
        "-o", "--output", metavar="OUT", default="report.html", help="default: report.html"
    )
    add_window(report)
    report.set_defaults(command=Entry(ReportOptions, run_report))


def _completion(commands: Commands) -> None:
    completion = commands.add_parser(
        "completion",
        help="print a script for shell completion",
        description="Print a script that lets a shell complete commands, options and columns:"
        ' eval "$(amqpcodec completion bash)"',
        epilog=EPILOG,
    )
    completion.add_argument("shell", choices=["bash", "zsh", "fish", "tcsh", "powershell"])
    completion.set_defaults(command=Entry(CompletionOptions, run_completion))


def _replay(commands: Commands) -> None:
    from .replay.arguments import EPILOG as RULES
    from .replay.arguments import add

    command = commands.add_parser(
        "replay",
        help="send recorded messages to a live broker",
        description="Send the messages that clients published in captures, or the rows of Parquet\n"
        "tables, to a live broker of 0-9-1, with confirms.",
        **where_help("replay", RULES),
    )
    add_source(command, secrets=False)
    add_window(command)
    add(command)
    command.set_defaults(command=Entry(ReplayOptions, run_replay))


def _fields(commands: Commands) -> None:
    fields = commands.add_parser(
        "fields",
        help="list the columns of every command",
        description="List the columns that --fields, --where and --sort take.",
        **where_help("fields"),
    )
    fields.add_argument(
        "of", metavar="COMMAND", nargs="?", help="only those of this command; default: all"
    )
    add_rows(fields)
    fields.set_defaults(command=Entry(FieldsOptions, run_fields))


def add_source(command: argparse.ArgumentParser, secrets: bool = True) -> None:
    """What to read, and how: the same for all commands."""
    command.add_argument(
        "files",
        metavar="FILE",
        nargs="*",
        type=source,
        help='captures, folders of them, or globs; "-" is standard input, s3://bucket/day/*.gz'
        " files of a store",
    )
    command.add_argument(
        "--fs", type=setting, action="append", default=[], metavar="NAME=VALUE", help=FS_HELP
    )
    command.add_argument(
        "--files",
        dest="arrangement",
        choices=("auto", "rotation", "separate", "taps"),
        default="auto",
        metavar="KIND",
        help="how several files belong together: rotation (one recording), separate, taps (several"
        " taps recorded the same traffic) or auto (one rotation where the connections of a file"
        " continue in a later one; the default)",
    )
    command.add_argument(
        "--ports",
        type=ports,
        default=os.environ.get(PORTS_VARIABLE) or AUTO_PORTS,
        metavar="N,...",
        help="the servers' ports, and no others; auto: 5672 and those that a protocol header is"
        f" sent to. Default: what the environment has as {PORTS_VARIABLE}, or auto",
    )
    command.add_argument(
        "--protocol",
        help='such as "0-9-1"; default: as each connection says',
    )
    command.set_defaults(keylog_path=None)
    command.add_argument(
        "--keylog",
        action=KeyLogOption,
        metavar="FILE",
        help="key log with the secrets of TLS connections, as SSLKEYLOGFILE writes it; also reads"
        " port 5671",
    )
    bounds = command.add_argument_group(
        "limits", "bounds for untrusted files; the command reports each that a file exceeds"
    )
    for name, help_text in LIMITS.items():
        bounds.add_argument(
            f"--{name}",
            dest="limits",
            action=LimitOption,
            type=number,
            default={},
            metavar="N",
            help=help_text,
        )
    if not secrets:
        command.set_defaults(show_secrets=False)
        return
    command.add_argument(
        "--show-secrets",
        action="store_true",
        help="show the credentials of logins and of connection.update-secret",
    )


def add_interface(command: argparse.ArgumentParser) -> None:
    """Reading what is sent just now."""
    command.add_argument(
        "--interface",
        metavar="NAME",
        help='record the traffic of an interface ("any": all of them) with tcpdump or dumpcap'
        " until Ctrl-C; needs capture privileges",
    )


def add_follow(command: argparse.ArgumentParser, dest: str) -> None:
    """Reading a file that grows. dest: the option's field."""
    command.add_argument(
        "--follow",
        dest=dest,
        action="store_true",
        help="read on as the file grows or is replaced, until Ctrl-C",
    )


def add_live(command: argparse.ArgumentParser, follow: bool = True) -> None:
    """Answers about what is being recorded. follow: the option --follow is that of files."""
    add_interface(command)
    if follow:
        add_follow(command, "growing")
    command.set_defaults(growing=False)
    command.add_argument(
        "--consumers",
        type=consumers,
        metavar="FILE",
        help="what rabbitmqctl list_consumers printed: queues of consumers that began before the"
        " recording, by their tags",
    )
    command.add_argument(
        "--window",
        type=_length,
        metavar="10m",
        help="of what is being recorded, look at so much time and at what is open; default: the"
        " newest 100,000 events",
    )


def add_output(command: argparse.ArgumentParser) -> None:
    """Which rows, in which order, as what and where: the same for all commands that have rows."""
    add_rows(command)
    add_window(command)
    add_clock(command)


def add_window(command: argparse.ArgumentParser) -> None:
    """The time that is looked at."""
    for name, help_text in (
        ("since", "only rows at or after this time"),
        ("until", "only rows before this time"),
    ):
        command.add_argument(
            f"--{name}",
            type=_moment,
            metavar="TIME",
            help=f"{help_text}: 2026-02-28T12:00, 12:00 (of the first day), +90s (after the start)",
        )


def add_clock(command: argparse.ArgumentParser) -> None:
    """How times are shown."""
    clock = command.add_mutually_exclusive_group()
    for mode, help_text in (
        ("utc", "times are UTC (the default)"),
        ("local", "times are of this machine's time zone"),
        ("relative", "times are seconds since the first packet"),
    ):
        clock.add_argument(
            f"--{mode}", dest="clock", action="store_const", const=mode, help=help_text
        )
    command.set_defaults(clock="utc")


def add_rows(command: argparse.ArgumentParser) -> None:
    """Which rows and columns, in which order, as what and where."""
    add_format(command)
    command.add_argument("--fields", type=names, metavar="NAME,...", help="columns, in this order")
    command.add_argument(
        "--where",
        metavar="EXPRESSION",
        help="only matching rows: see below",
    )
    command.add_argument(
        "--sort",
        type=names,
        default=[],
        metavar="NAME,...",
        help="the order of rows; -NAME or NAME:desc for the largest first",
    )
    command.add_argument("--limit", type=number, metavar="N", help="maximum number of rows")


def add_format(command: argparse.ArgumentParser) -> None:
    """The format of rows, and where they go."""
    command.add_argument(
        "--format",
        choices=["table", "json", "csv", "parquet"],
        help="json: JSON Lines, bytes as base64; default: the extension of OUT decides, or table",
    )
    command.add_argument(
        "-o", "--output", metavar="OUT", help="output file (.json, .csv, .parquet)"
    )
    command.add_argument(
        "--csv-raw",
        action="store_true",
        help="CSV with unchanged text: no apostrophe before formulas, and control characters kept,"
        " which a terminal may obey",
    )


class LimitOption(argparse.Action):
    """``--reorder-bytes N`` and the like: ``limits``, the limits that were given, by name."""

    @property
    def limit(self) -> str:
        """The name in capture.LimitOptions."""
        [option] = self.option_strings
        return option.removeprefix("--").replace("-", "_")

    def help_with_default(self) -> str:
        """What --help says of it."""
        from ..capture._limits import LIMITS as DEFAULTS

        [option] = self.option_strings
        help_text = LIMITS[option.removeprefix("--")]
        return f"{help_text}; default: {getattr(DEFAULTS, self.limit)}"

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        """Add one.

        Raises:
            ArgumentError: it is out of its range.
        """
        from ..capture._limits import range_error

        if problem := range_error(self.limit, values):
            raise argparse.ArgumentError(self, f"the value {problem}")
        namespace.limits = {**namespace.limits, self.limit: values}


class KeyLogOption(argparse.Action):
    """``--keylog FILE``: ``keylog``, its secrets, and ``keylog_path``, its name."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        """Read the file.

        Raises:
            ArgumentError: it cannot be read.
        """
        try:
            namespace.keylog = keylog(values)
        except argparse.ArgumentTypeError as error:
            raise argparse.ArgumentError(self, str(error)) from None
        namespace.keylog_path = values


def consumers(text: str) -> Consumers:
    """A list of consumers."""
    try:
        from ..analysis._consumers import Consumers
    except ImportError as error:
        raise argparse.ArgumentTypeError(f"{error.name} is needed") from None
    try:
        return Consumers(text)
    except OSError as error:
        raise argparse.ArgumentTypeError(f"{text}: {error.strerror or error}") from None
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def keylog(text: str) -> KeyLog:
    """A key log; lines that are no secrets are reported by their numbers."""
    from .. import capture

    try:
        key_log = capture.KeyLog(text)
    except OSError as error:
        raise argparse.ArgumentTypeError(f"{text}: {error.strerror or error}") from None
    except ImportError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if key_log.bad_lines:
        lines = ", ".join(map(str, key_log.bad_lines))
        print_error(f"{text}: the reader skips lines that are no secrets: {lines}")
    return key_log


def names(text: str) -> list[str]:
    """Names between commas."""
    listed_names = split_names(text)
    if not all(listed_names):
        raise argparse.ArgumentTypeError(f"a name is missing in {text!r}")
    if len(set(listed_names)) < len(listed_names):
        raise argparse.ArgumentTypeError(f"a name is there twice in {text!r}")
    return listed_names


def number(text: str) -> int:
    """A number from 0."""
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"{text!r} is no integer of 0 or more")
    return int(text)


def workers(text: str) -> int:
    """How many threads read."""
    if number(text) < 1:
        raise argparse.ArgumentTypeError("there is at least one")
    return int(text)


def _place(text: str) -> FramePosition:
    """A frame's number, or its place in the file."""
    parts = text.split(":")
    if not all(part.isascii() and part.isdigit() for part in parts) or len(parts) > 2:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no frame: take column n of dissect, or packet_offset:position"
        )
    if len(parts) == 1:
        return int(text), None
    return None, (int(parts[0]), int(parts[1]))


def ports(text: str) -> tuple[int, ...] | None:
    """TCP ports between commas; None for auto."""
    if text == AUTO_PORTS:
        return None
    numbers = tuple(int(port) if port.isascii() and port.isdigit() else 0 for port in names(text))
    if not all(0 < port < 65536 for port in numbers):
        origin = f" ({PORTS_VARIABLE})" if os.environ.get(PORTS_VARIABLE) == text else ""
        raise argparse.ArgumentTypeError(
            f"a port is a number from 1 to 65535, and not {text!r}{origin}"
        )
    return numbers


def _one_of(kinds: Sequence[str]) -> Callable[[str], list[str]]:
    def choices(text: str) -> list[str]:
        chosen_names = names(text)
        for name in chosen_names:
            if name not in kinds:
                raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(kinds)}")
        return chosen_names

    return choices


def _moment(text: str) -> object:
    from .moments import moment

    return moment(text)


def _length(text: str) -> int:
    from .moments import length

    return length(text)


def run_dissect(options: DissectOptions) -> int:
    """``amqpcodec dissect``."""
    need_extra()
    from .dissect import dissect

    return dissect(options)


def run_stats(options: StatsOptions) -> int:
    """``amqpcodec stats``."""
    need_extra()
    from .stats import stats

    return stats(options)


def run_question(name: str) -> Callable[[QueryOptions], int]:
    """``amqpcodec connections`` and the like."""

    def run(options: QueryOptions) -> int:
        need_extra()
        from .questions import ask

        return ask(name, options)

    return run


def run_errors(options: ErrorsOptions) -> int:
    """``amqpcodec errors``."""
    need_extra()
    from .questions import errors

    return errors(options)


def run_messages(options: MessagesOptions) -> int:
    """``amqpcodec messages``."""
    need_extra()
    from .questions import messages

    return messages(options)


def run_top(options: TopOptions) -> int:
    """``amqpcodec top``."""
    need_extra()
    from .questions import top

    return top(options)


def run_diagnose(options: DiagnoseOptions) -> int:
    """``amqpcodec diagnose``."""
    need_extra()
    from .diagnose import diagnose

    return diagnose(options)


def run_sql(options: SqlOptions) -> int:
    """``amqpcodec sql``."""
    need_extra()
    from .sql import sql

    return sql(options)


def run_show(options: ShowOptions) -> int:
    """``amqpcodec show``."""
    need_extra()
    from .show import show

    return show(options)


def run_report(options: ReportOptions) -> int:
    """``amqpcodec report``."""
    need_extra()
    from .report import report

    return report(options)


def run_replay(options: ReplayOptions) -> int:
    """``amqpcodec replay``."""
    need_extra()
    from .replay.run import replay

    return replay(options)


def run_completion(options: CompletionOptions) -> int:
    """``amqpcodec completion``."""
    from .completion import script

    print(script(options.shell))
    return 0


def run_fields(options: FieldsOptions) -> int:
    """``amqpcodec fields``."""
    need_extra()
    from .fields import fields

    return fields(options)


#: The commands that show the rows of a question: what they show, their options, what runs them.
QUESTIONS: dict[str, tuple[str, type[QueryOptions], Callable[[Any], int]]] = {
    "diagnose": ("what went wrong, the most severe first", DiagnoseOptions, run_diagnose),
    "connections": (
        "who was connected, and how it ended",
        QuestionOptions,
        run_question("connections"),
    ),
    "queues": (
        "what came into each queue, what went out, and what is left",
        QuestionOptions,
        run_question("queues"),
    ),
    "unacked": ("deliveries that nobody settled", QuestionOptions, run_question("unacked")),
    "latency": (
        "how long messages waited and took, and confirms and replies did",
        QuestionOptions,
        run_question("latency"),
    ),
    "errors": (
        "closes, losses, nacks, returns, missed heartbeats and damage, counted",
        ErrorsOptions,
        run_errors,
    ),
    "messages": ("what became of each publish and delivery", MessagesOptions, run_messages),
    "top": ("the busiest exchanges, routing keys, queues and connections", TopOptions, run_top),
    "topology": (
        "exchanges, queues, bindings and consumers, as seen",
        QuestionOptions,
        run_question("topology"),
    ),
}
