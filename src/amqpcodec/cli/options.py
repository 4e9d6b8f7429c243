"""The options of each command, as frozen dataclasses: what the command's functions take.

``arguments`` makes them of the command line. A field has the name of its argument; a field that is
itself a group of options stands for the arguments of that group.
"""

# Annotations are objects here, not text: `arguments` reads which fields are groups.

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .uris import Uri

if TYPE_CHECKING:
    from ..analysis._consumers import Consumers
    from ..capture import KeyLog
    from ..capture._link import Arrangement
    from .moments import Moment

__all__ = [
    "CompletionOptions",
    "DiagnoseOptions",
    "DissectOptions",
    "ErrorsOptions",
    "FieldsOptions",
    "FramePosition",
    "MessagesOptions",
    "Options",
    "QueryOptions",
    "QuestionOptions",
    "ReplayOptions",
    "ReportOptions",
    "RowOptions",
    "ShowOptions",
    "SourceOptions",
    "SqlOptions",
    "StatsOptions",
    "TopOptions",
    "WindowOptions",
]

#: A frame's number and None, or None and (packet_offset, position).
FramePosition = tuple[int | None, tuple[int, int] | None]


class Options:
    """The base of the options of commands and of groups of options."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions(Options):
    """What to read, and how."""

    files: list[Path | Uri]
    #: (name, value) of each --fs.
    fs: list[tuple[str, str]]
    #: --files; `files` of capture.read.
    arrangement: "Arrangement"
    #: None: as capture.read has it.
    ports: tuple[int, ...] | None
    protocol: str | None
    keylog: "KeyLog | None"
    #: The file of `keylog`.
    keylog_path: str | None
    show_secrets: bool
    #: The limits that were given, by their names in capture.LimitOptions.
    limits: dict[str, int]

    @property
    def words(self) -> list[str]:
        """Options of a command that reads the files like this; of stores none: some are secret."""
        words = [] if self.arrangement == "auto" else ["--files", self.arrangement]
        if self.ports is not None:
            words += ["--ports", ",".join(map(str, self.ports))]
        for option, text in (("--protocol", self.protocol), ("--keylog", self.keylog_path)):
            words += [option, text] if text is not None else []
        for name, bound in self.limits.items():
            words += [f"--{name.replace('_', '-')}", str(bound)]
        return words


@dataclass(frozen=True, slots=True, kw_only=True)
class RowOptions(Options):
    """Which rows and columns, in which order, in which format and where."""

    format: str | None
    output: str | None
    csv_raw: bool
    fields: list[str] | None
    where: str | None
    sort: list[str]
    limit: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowOptions(Options):
    """The interval of time that rows are of."""

    since: "Moment | None"
    until: "Moment | None"

    @property
    def is_part(self) -> bool:
        """Whether the interval has a border."""
        return self.since is not None or self.until is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class DissectOptions(Options):
    """``amqpcodec dissect``."""

    source: SourceOptions
    rows: RowOptions
    time: WindowOptions
    clock: str
    level: str
    #: Read on as the file grows.
    follow: bool
    workers: int
    interface: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StatsOptions(Options):
    """``amqpcodec stats``."""

    source: SourceOptions
    format: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryOptions(Options):
    """What the commands that run SQL over events have."""

    source: SourceOptions
    rows: RowOptions
    time: WindowOptions
    clock: str
    interface: str | None
    #: Read on as the file grows.
    growing: bool
    #: µs of a recording in the making that are looked at; None: as many as there is room for.
    window: int | None
    consumers: "Consumers | None"


@dataclass(frozen=True, slots=True, kw_only=True)
class DiagnoseOptions(QueryOptions):
    """``amqpcodec diagnose``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionOptions(QueryOptions):
    """``amqpcodec connections`` and the other questions without options of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorsOptions(QueryOptions):
    """``amqpcodec errors``."""

    #: One by one, and not grouped.
    all: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MessagesOptions(QueryOptions):
    """``amqpcodec messages``."""

    #: The id, correlation id or CONNECTION:EVENT of the messages that are shown; None: all.
    follow: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TopOptions(QueryOptions):
    """``amqpcodec top``."""

    by: list[str]
    #: Rows of each kind.
    top: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlOptions(QueryOptions):
    """``amqpcodec sql``. Of the rows, format and output alone."""

    query: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowOptions(Options):
    """``amqpcodec show``."""

    source: SourceOptions
    rows: RowOptions
    clock: str
    number: FramePosition


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOptions(Options):
    """``amqpcodec report``."""

    source: SourceOptions
    time: WindowOptions
    output: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayOptions(Options):
    """``amqpcodec replay``."""

    source: SourceOptions
    time: WindowOptions
    #: The URL of the broker.
    to: str
    where: str | None
    map: list[str]
    #: Messages a second; None: as recorded, or `fast`.
    rate: float | None
    fast: bool
    #: Messages that may wait for their confirm.
    window: int
    journal: Path | None
    dry_run: bool
    declare: bool
    cafile: Path | None
    to_recorded_broker: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldsOptions(Options):
    """``amqpcodec fields``."""

    rows: RowOptions
    #: The command whose columns are listed; None: all.
    of: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletionOptions(Options):
    """``amqpcodec completion``."""

    shell: str
