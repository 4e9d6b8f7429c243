"""What is measured against what: one entry a line of the table, gates and goals included.

A cell is (peer, operation, workload): see the peers' modules for what each operation calls. A
ratio is the peer's time a frame over ours, so 28 means 28 times faster, and "at most" rows turn it
round: our time over the peer's.
"""

from dataclasses import dataclass

from bench.peers import OURS

Cell = tuple[str, str, str]
#: Gate and goal; None: reported and judged by nobody.
Limits = tuple[float, float] | None


@dataclass(frozen=True)
class Against:
    """One peer of a row. Without a gate the ratio is reported and judged by nobody."""

    cell: Cell
    gate: float | None = None
    goal: float | None = None
    at_most: bool = False

    @property
    def peer(self) -> str:
        """The peer's name."""
        return self.cell[0]

    @property
    def limits(self) -> str:
        """Gate and goal as text."""
        if self.gate is None or self.goal is None:
            return ""
        sign = "≤ " if self.at_most else ""
        return f"({sign}{self.gate:g} / {sign}{self.goal:g})"


@dataclass(frozen=True)
class Row:
    """A line of the table."""

    what: str
    ours: Cell
    against: tuple[Against, ...] = ()

    @property
    def is_target(self) -> bool:
        """Whether it has a gate; the others are reported for their own sake."""
        return any(against.gate is not None for against in self.against)


def _row(
    what: str,
    operation: str,
    workload: str,
    *more: Against,
    theirs: str | None = None,
    **limits: Limits,
) -> Row:
    """A row against peers on the same workload; keywords are peers, their values gate and goal."""
    against = tuple(
        Against((peer.replace("_", "-"), theirs or operation, workload), *(limit or ()))
        for peer, limit in limits.items()
    )
    return Row(what, (OURS, operation, workload), against + more)


def _info(
    what: str,
    operation: str,
    workload: str,
    theirs: str | None = None,
    peers: tuple[str, ...] = ("pamqp", "pika", "py-amqp", "msgspec"),
) -> Row:
    """A row without gates."""
    against = tuple(Against((peer, theirs or operation, workload)) for peer in peers)
    return Row(what, (OURS, operation, workload), against)


def _drop_in(peer: str, operation: str, gate: float, goal: float) -> Row:
    """A client with its drop-in against the client without: bench/dropins.py."""
    name = f"drop-in {peer} {operation}"
    what = f"drop-in for {peer}, the client's own objects, W1 {operation}"
    return Row(what, (OURS, name, "W1"), (Against((peer, name, "W1"), gate, goal),))


def _columns(
    what: str, operation: str, workload: str, theirs: str, in_c: Limits, packed: Limits
) -> Row:
    """A row of `batch` from memory: against C (which builds no columns), MessagePack, memcpy."""
    more = (
        Against(("rabbitmq-c", f"{theirs}_memory", workload), *(in_c or ())),
        Against(("memcpy", "copy", workload)),
    )
    return _row(what, operation, workload, *more, theirs=theirs, pamqp=None, msgspec=packed)


#: What has to be as fast as 0-9-1, on the same bytes.
VERSIONS = (
    ("AMQP 0-9", "amqpcodec-0-9"),
    ("AMQP 0-8", "amqpcodec-0-8"),
    ("a specification loaded at run time", "amqpcodec-xml"),
)
VERSION_WORK = (
    ("one frame a call, W1 decode", "decode"),
    ("message stream, eager, W1", "stream"),
    ("one frame a call, W1 encode", "encode"),
    ("message stream encode, W1", "encode_message"),
)

UNEVEN = "W1 uneven"
PACKED = ("pamqp", "msgspec")

ROWS: tuple[Row, ...] = (
    _row(
        "one frame a call, W1 decode",
        "decode",
        "W1",
        pamqp=(28, 34),
        pika=(17, 21),
        py_amqp=(22, 27),
        msgspec=(1.4, 1.6),
    ),
    _row(
        "one frame a call, W4 decode",
        "decode",
        "W4",
        pamqp=(42, 55),
        pika=(21, 27),
        msgspec=(1.6, 1.9),
    ),
    _row(
        "message stream, eager, W1",
        "stream",
        "W1",
        theirs="decode",
        pamqp=(41, 52),
        pika=(25, 32),
        msgspec=(2.1, 2.4),
    ),
    _row(
        "message stream, lazy headers, W1",
        "lazy",
        "W1",
        theirs="decode",
        pamqp=(90, 115),
        pika=(55, 70),
        msgspec=(4.6, 5.5),
    ),
    _row("W3 decode", "decode", "W3", pamqp=None, pika=None, msgspec=(0.95, 1.1)),
    _row("W3 encode", "encode", "W3", pamqp=None, msgspec=(0.65, 0.9)),
    _row(
        "one frame a call, W1 encode",
        "encode",
        "W1",
        pamqp=(60, 75),
        pika=(30, 40),
        py_amqp=(52, 65),
        msgspec=(1.6, 2),
    ),
    _row(
        "message stream encode, W1",
        "encode_message",
        "W1",
        theirs="encode",
        pamqp=(100, 125),
        pika=(50, 65),
        msgspec=(2.8, 3.3),
    ),
    _row("construct + encode, W4", "construct", "W4", pamqp=(36, 45), pika=(19, 25)),
    _row(
        "bodies of 64 KiB, frame_max 4096, message stream, eager (W2b)",
        "stream",
        "W2b",
        theirs="decode",
        pamqp=None,
        pika=None,
        py_amqp=None,
        msgspec=(0.8, 1.1),
    ),
    _row(
        "bodies of 64 KiB, frame_max 131072, message stream, eager (W2a)",
        "stream",
        "W2a",
        theirs="decode",
        pamqp=None,
        pika=None,
        py_amqp=None,
        msgspec=(0.9, 1.1),
    ),
    _row(
        "cache-hostile decode, one frame a call",
        "decode",
        "hostile",
        pamqp=None,
        pika=None,
        py_amqp=None,
        msgspec=(1.05, 1.3),
    ),
    _row(
        "cache-hostile encode, one frame a call",
        "encode",
        "hostile",
        pamqp=None,
        pika=None,
        py_amqp=None,
        msgspec=(1.2, 1.5),
    ),
    # Columns of messages of any size: judged against C. Views are of messages, arguments and
    # properties one by one: 26 columns of all that the frames hold, for which no text is made.
    _columns("batch decode to views", "views", UNEVEN, "decode", (1.3, 2), None),
    _columns(
        "batch decode to a full Arrow table", "table", UNEVEN, "decode", (0.55, 0.8), (6.5, 9)
    ),
    _columns(
        "batch encode, headers as a struct",
        "encode_columns",
        UNEVEN,
        "encode",
        (1.1, 1.6),
        (6.5, 9),
    ),
    _drop_in("pamqp", "decode", 15, 20),
    _drop_in("pamqp", "encode", 28, 35),
    _drop_in("pika", "decode", 6, 8),
    _drop_in("pika", "encode", 7.5, 12),
    _drop_in("py-amqp", "decode", 7, 9),
    _drop_in("py-amqp", "encode", 18, 22),
    Row(
        "two threads on pre-split input, full table, wall time, vs one",
        (OURS, "threads", "W1"),
        (Against(("one thread", "threads", "W1"), 1.7, 1.95),),
    ),
    Row(
        "Spark: decode of 20 columns vs identity mapInArrow writing the same columns",
        (OURS, "spark", "W1"),
        (Against(("identity", "spark", "W1"), 1.15, 1.05, True),),
    ),
    Row(
        "capture file to all columns, one core, vs tshark with out-of-order reassembly",
        (OURS, "capture", "recording"),
        (Against(("tshark", "capture", "recording"), 60, 100),),
    ),
    Row(
        "events, all columns, by message all columns",
        (OURS, "events", "recording"),
        (Against(("messages", "events", "recording"), 1.5, 1.1, True),),
    ),
    *(
        Row(
            f"{name}, {what}: time against 0-9-1",
            (peer, operation, "W1"),
            (Against((OURS, operation, "W1"), 1.05, 1.0, True),),
        )
        for name, peer in VERSIONS
        for what, operation in VERSION_WORK
    ),
    # What the gates do not cover, so that nothing is tuned to the gates alone.
    _columns("batch decode to views, one size", "views", "W1", "decode", None, None),
    _columns("batch decode to a full Arrow table, one size", "table", "W1", "decode", None, None),
    _columns(
        "batch encode, headers as a struct, one size", "encode_columns", "W1", "encode", None, None
    ),
    _info(
        "batch encode, headers as JSON text", "encode_json", UNEVEN, "encode", ("pamqp", "msgspec")
    ),
    _info("batch encode, headers as a map", "encode_map", UNEVEN, "encode", PACKED),
    _info("W1 decode, each frame found by what the last consumed", "walk", "W1", theirs="decode"),
    _info("W1 decode, Decoder.feed, frames not joined", "frames", "W1", theirs="decode"),
    _info("W2a decode, one frame a call (64 KiB bodies)", "decode", "W2a"),
    _info("W2b decode, one frame a call (frame_max 4096)", "decode", "W2b"),
    _info("W2a message stream encode", "encode_message", "W2a", theirs="encode"),
    _info("W2b message stream encode", "encode_message", "W2b", theirs="encode"),
    _info("W4 encode, one frame a call", "encode", "W4"),
    _info("construct + encode, W4, the others", "construct", "W4", peers=("py-amqp", "msgspec")),
    _info("cache-hostile message stream, eager", "stream", "hostile", theirs="decode"),
    _info("cache-hostile message stream encode", "encode_message", "hostile", theirs="encode"),
)


def cells(rows: tuple[Row, ...] | list[Row]) -> list[Cell]:
    """Every cell of these rows once, so that those compared stand next to each other."""
    unique_cells: dict[Cell, None] = {}
    for row in rows:
        unique_cells[row.ours] = None
        unique_cells.update(dict.fromkeys(against.cell for against in row.against))
    return list(unique_cells)
