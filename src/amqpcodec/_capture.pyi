"""What the compiled reader of captures offers to the facade."""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, TypedDict, Unpack, final
from typing import Protocol as Protocol_

from ._codec import Protocol
from ._columns import Schema, StructArray
from ._v1 import V1Core

@final
class CaptureBatch(StructArray):
    """A struct array of the rows of a capture, in Arrow's C Data Interface.

    pyarrow.record_batch(batch), polars.from_arrow(batch) and the like take it without a copy.
    """

    def __len__(self) -> int: ...
    @property
    def errors(self) -> int:
        """Rows with an error, as far as the column error was asked for."""

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        """The Arrow schema and array, a struct, in two PyCapsules; as often as one likes.

        requested_schema is not followed: there is one type for each column.
        """

@final
class CaptureRows:
    """Rows of a batch before its columns are made, which any thread may do."""

    def __len__(self) -> int: ...
    def fill(self) -> CaptureBatch:
        """The batch, made by the first call. One thread at a time."""

def check_columns(columns: tuple[tuple[str, str, bool, bool], ...]) -> None:
    """Refuse columns that no code fills. The module does so when it is loaded.

    columns: as CAPTURE_COLUMNS. Raises ImportError."""

def check_event_columns(columns: tuple[tuple[str, str, bool], ...]) -> None:
    """Refuse columns of events that no code fills. The module does so when it is loaded.

    columns: as EVENT_COLUMNS. Raises ImportError."""

def event_values() -> dict[str, list[str]]:
    """For tests: the values that columns of events may have, by the column."""

def capture_schema(
    protocol: Protocol | V1Core,
    fields: Iterable[str] | None,
    level: str = "frame",
    field_tables: str = "json",
) -> Schema:
    """See amqpcodec.capture.schema."""

@final
class CaptureEnds:
    """Looks at a part of a file: its times, and the sequence numbers of connections."""

    first_time: int | None  # ns since 1970, None where no packet has a time
    last_time: int | None
    damaged: bool

    def __init__(
        self, ports: Collection[int], like: CaptureEnds | None = None, detect_ports: bool = False
    ) -> None:
        """like: of another part of the same file, which knows its format. detect_ports: look at
        ports to which a protocol header was sent, from there on."""

    @property
    def known(self) -> bool:
        """Whether the file was found to be a capture."""

    @property
    def cuttable(self) -> bool:
        """Whether records can be found without those before them."""

    def first_record(self, data: bytes, last: bool) -> int:
        """Where in these bytes a record begins, or -1. last: the file ends after them."""

    def feed(self, data: bytes) -> int:
        """Read the whole records at the beginning of these bytes: how many bytes they are."""

    @property
    def detected_ports(self) -> list[int]:
        """Ports beside the given ones that a protocol header was sent to, as far as was read."""

    def ways(self) -> dict[bytes, tuple[int, int, bool]]:
        """{ends of a direction: (first, next, whether it begins here)}."""

class Layers(Protocol_):
    """What reads connections over TLS or WebSocket; amqpcodec.capture has it.

    receive() and lost() give (direction, what it gives) in order: bytes that frames are made of, a
    number of them that are lost, or None where nothing more of the direction can be read.
    Directions: 0 for the client, 1 for the server. What they raise comes out of advance().
    """

    @property
    def brought(self) -> bool:
        """Whether a file had one, here or before the state that was loaded."""

    def add_secrets(self, data: bytes) -> None:
        """A key log of TLS that the file itself has. The port 5671 is read from there on."""

    def receive(
        self, connection: int, direction: int, tls: bool, data: bytes
    ) -> Sequence[tuple[int, bytes | int | None]]:
        """The next bytes of a direction, as they were sent."""

    def lost(
        self, connection: int, direction: int, count: int
    ) -> Sequence[tuple[int, bytes | int | None]]:
        """So many bytes of a direction were not captured."""

    def end(self, connection: int) -> None:
        """The connection is over."""

    def store(self) -> bytes:
        """What load() of another one needs to go on; b"" where there is nothing."""

    def load(self, state: bytes) -> None:
        """Take what store() gave. Raises ValueError where it is damaged."""

    def counts(self) -> dict[str, Any]:
        """What counts() of the reader is to have besides."""

class _ReaderOptions(TypedDict, total=False):
    others: tuple[Protocol | V1Core, ...]
    field_tables: str
    ordered: bool
    layers: Layers | None
    detect_ports: bool
    reorder_bytes: int
    reorder_total: int
    reorder_pieces: int
    open_connections: int
    record_bytes: int
    frame_bytes: int
    message_bytes: int
    fragment_bytes: int
    open_deliveries: int
    max_tracked: int

@final
class CaptureReader:
    """See amqpcodec.capture. A second call while one has not ended is a RuntimeError."""

    def __init__(
        self,
        protocol: Protocol | V1Core,
        fields: Iterable[str] | None,
        ports: Iterable[int],
        redact: bool,
        forced: bool,
        batch_rows: int,
        level: str = "frame",
        **options: Unpack[_ReaderOptions],
    ) -> None: ...
    def begin(self, name: str, key: str) -> None:
        """The bytes that follow are those of a file, the next one of the chain.

        key: what the first one's name adds to the names of connections.
        """

    def end(self) -> None:
        """No more bytes of this file will come: those of another one may."""

    def open_tap(self, name: str, key: str) -> int:
        """Begin a file that is read at once with others: its number for the calls that follow.

        key: as begin() has it.
        """

    def feed_tap(self, i: int, data: bytes | memoryview) -> None:
        """The next bytes of a file, a C-contiguous buffer, which are copied."""

    def advance_taps(self, until: int | None = None) -> int:
        """Read what was fed of all open files, in the order of the packets' times.

        -2: a batch is full, take() it; -1: all before `until` (ns since 1970) is read, or no file
        is open; else the number of a file: of which more bytes are needed, to be given by
        feed_tap(); where there are none, or it is damaged, close_tap() it.
        """

    def tap_is_damaged(self, i: int) -> bool:
        """Whether what is next in a file is no record."""

    def close_tap(self, i: int) -> tuple[bool, int, int]:
        """No more bytes of a file come: (whether it is a capture, offset of the next record, bytes
        that wait for the rest of it)."""

    def peek(self) -> tuple[bool, int | None]:
        """(found, time) of the file's first packet, ns since 1970 or None, in what was fed.

        Not found yet: more bytes are needed, unless `damaged` is set. Another reader reads it.
        """

    def name_connection(self, id: int, client: bytes, server: bytes) -> int:
        """The number by which feed_values() knows a connection.

        client, server: 4 or 16 bytes of an address and 2 of a port; both empty: they are not known.
        """

    def feed_values(
        self, data: Any, ends: Any, numbers: Any, senders: Any, times: Any, first: int
    ) -> None:
        """Read what connections said, in this order; their rows are there to take().

        data: a buffer with all bytes. The others have an item each value. ends: int64, where it
        ends in data, and before the first one where that begins. numbers: int32, of
        name_connection(). senders: a byte, of VALUE_SERVER and VALUE_MISSING. times: int64, ns
        since 1970, or the least number. first: the packet_offset of the first value.

        Raises ValueError where the buffers do not fit together.
        """

    def has_batch(self) -> bool:
        """Whether a batch is full: take() it. Only who asks gets rows before connections end."""

    def no_rows(self) -> CaptureBatch:
        """A batch without rows."""

    def read_apart(self) -> None:
        """Connections are read one after the other: what one binds says nothing about another."""

    def end_connections(self) -> None:
        """All connections end here; the rows that wait are one batch, if batch_rows allows it."""

    def release(self) -> None:
        """Give back what reading needs, when all connections have ended and all rows went out."""

    def feed(self, data: bytes | memoryview) -> None:
        """The next bytes of the file, a C-contiguous buffer; advance() reads them.

        They are borrowed until advance() gives False, or anything else is called.
        """

    def advance(self, last: bool = False) -> bool:
        """Read what was fed. True: a batch is full, take() it. last: end all connections."""

    def choose(self, fields: Iterable[str], wanted: Callable[[CaptureBatch], Any]) -> None:
        """Make columns of some rows alone: of those for which `wanted` has a byte that is not 0.

        fields: of which columns it takes a batch. It gives a bytes-like object, a byte a row.
        """

    def take(self, all: bool = False) -> CaptureBatch | None:
        """The rows that wait, at most batch_rows; None where there are none, or none whose order is
        known. all: those as well.
        """

    def take_rows(self, all: bool = False) -> list[CaptureRows]:
        """What take() gives until the rows that wait have gone out, without their columns."""

    def state(self, starts: list[int] | None = None) -> bytes:
        """What resume() of another reader needs to go on at `at`. No rows may wait.

        It is neither sealed nor checked for damage: amqpcodec.capture does that. starts: takes
        where each number in it begins, for tests that change them.
        """

    def resume(self, state: bytes) -> None:
        """Go on where another reader was, which had the same arguments. Before anything is fed.

        Raises ValueError where anything in it is out of its range; the reader is as new then.
        """

    def stop_at(self, offset: int | None) -> None:
        """Records that begin at this offset of the file or after it are left; None: none are."""

    def first(self, data: bytes, end: int, last: bool) -> int:
        """Where in these bytes of the file a record begins, before `end`; or -1."""

    def resets(self) -> list[tuple[int, str, int | None]]:
        """(connection_index, direction, ns since 1970) of TCP resets that ended connections.

        Those since the last call, at most 65,536 of them; direction: of who sent it. counts() has
        how many there were.
        """

    def counts(self) -> dict[str, Any]:
        """What was seen so far."""

    @property
    def name(self) -> str:
        """Name of the file that is read, or was last."""

    @property
    def first_index(self) -> int:
        """The connection_index of the first connection."""

    @first_index.setter
    def first_index(self, index: int) -> None: ...
    @property
    def reorder_steps(self) -> int:
        """Comparisons that keeping segments in order took so far."""

    @property
    def begun(self) -> bool:
        """Whether a file was opened, or a state taken."""

    @property
    def between(self) -> bool:
        """Whether no file is open: the next one follows."""

    @property
    def last_time(self) -> int | None:
        """Time of the last packet, ns since 1970, or None."""

    @property
    def damaged(self) -> bool: ...  # what is at `at` is no record
    @property
    def at(self) -> int:
        """Offset in the file of the next record."""

    @property
    def waiting(self) -> int:
        """Bytes that were fed and are part of no whole record yet."""

    @property
    def known(self) -> bool:
        """Whether the file was found to be a capture."""

# ---- drop-ins (amqpcodec.compat) ----

@final
class CaptureOutline:
    """What of a part of a file another reader, which comes to it, has to read."""

    def __init__(
        self, reader: CaptureReader, start: int, most: int, detected_ports: Iterable[int] = ()
    ) -> None:
        """reader: a new one, where its file began, which knows the format if start is not 0.

        start: offset of a record. most: bytes that are held. detected_ports: those that the reader
        which comes to the part has detected, as far as is known; if it has not, it cannot follow.
        """

    def feed(self, data: bytes | memoryview) -> int:
        """Read the whole records at the beginning of these bytes, up to where the reader stops: how
        many bytes they are."""

    def take(self) -> bytes | None:
        """The outline, for follow(); None: all has to be read. Nothing is fed after that."""

def follow_outline(reader: CaptureReader, outline: bytes) -> bool:
    """Read what an outline keeps of the part of a file that comes next. False: it does not go on
    from where the reader is; then the reader is of no use any more."""

def content_number(body: bytes) -> int:
    """The value of the column content for a body."""
