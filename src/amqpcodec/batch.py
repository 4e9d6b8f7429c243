"""Bytes to Arrow columns and back, many frames a call, without a Python object a row.

What comes out offers Arrow's C Data Interface in PyCapsules: ``pyarrow.record_batch(result)``,
``polars.from_arrow(result)`` and others take it without a copy. This module imports none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, overload

from amqpcodec._facade.interpreter import _codec

from . import _columns, _encode, _v1
from . import protocol as _protocol_module
from ._columns import Columns, Schema
from ._encode import ArrowColumn, Encoded
from ._facade.arrays import columns_to_arrow, values_to_arrow
from ._facade.keys import values_and_groups
from ._facade.public import listing
from ._facade.scalars import as_text

if TYPE_CHECKING:
    from ._capture import CaptureBatch

__all__ = [
    "ArrowColumn",
    "Columns",
    "Encoded",
    "Schema",
    "decode",
    "encode",
    "kept_memory",
    "limit_memory",
    "release_memory",
    "schema",
]

__dir__ = listing(__name__)

#: What the options are; any case is taken, so that a text of a configuration may be one.
Level = Literal["frame", "message", "event"]
Mode = Literal["PERMISSIVE", "DROPMALFORMED", "FAILFAST"]
Layout = Literal["plain", "view"]
Tables = Literal["json", "variant", "map"]
Dialect = Literal["rabbitmq", "0-9-1"]

#: What connections may speak beside 0-9-1 where their headers decide, in the order of the core.
_OTHERS = ("0-9", "0-8", "1.0")


@overload
def decode(
    data: Any,
    protocol: str | ModuleType | None,
    level: Literal["event"],
    fields: Iterable[str] | None = None,
    *,
    by: Iterable[Any],
    column: str = "frame",
    direction: Any = "direction",
    time: Any = "timestamp",
    src: Any = "src",
    dst: Any = "dst",
    on_progress: Callable[[int, int], object] | None = None,
) -> CaptureBatch: ...
@overload
def decode(
    data: Any,
    protocol: str | ModuleType | None = None,
    *,
    level: Literal["event"],
    fields: Iterable[str] | None = None,
    by: Iterable[Any],
    column: str = "frame",
    direction: Any = "direction",
    time: Any = "timestamp",
    src: Any = "src",
    dst: Any = "dst",
    on_progress: Callable[[int, int], object] | None = None,
) -> CaptureBatch: ...
@overload
def decode(
    data: Any,
    protocol: str | ModuleType | None = None,
    level: Literal["frame", "message"] = "frame",
    fields: Iterable[str] | None = None,
    mode: Mode = "PERMISSIVE",
    layout: Layout = "plain",
    *,
    dialect: Dialect = "rabbitmq",
    field_tables: Tables = "json",
    by: Iterable[Any] | None = None,
    column: str = "frame",
    on_progress: Callable[[int, int], object] | None = None,
) -> Columns: ...
def decode(
    data: Any,
    protocol: str | ModuleType | None = None,
    level: Level = "frame",
    fields: Iterable[str] | None = None,
    mode: Mode = "PERMISSIVE",
    layout: Layout = "plain",
    *,
    dialect: Dialect = "rabbitmq",
    field_tables: Tables = "json",
    by: Iterable[Any] | None = None,
    column: str = "frame",
    direction: Any = "direction",
    time: Any = "timestamp",
    src: Any = "src",
    dst: Any = "dst",
    on_progress: Callable[[int, int], object] | None = None,
) -> Columns | CaptureBatch:
    """Decode frames to columns; the GIL is released meanwhile.

    Columns at frame level, a row each frame: row (int64; index of the input value), offset (int64;
    bytes from the start of that value), frame_type (utf8: "method", "header", "body",
    "heartbeat", "protocol-header"), channel (int32), method (utf8, such as "basic.deliver"),
    arguments (utf8; a JSON object), properties (struct; headers as JSON text, timestamp in µs
    UTC), body_size (int64; bytes, of content headers), payload (binary; of body frames), frame
    (binary; the raw bytes), error (utf8), error_offset (int64; bytes from the start of the
    value). What does not apply to a row is null.

    A bad frame is a row: what was read before the fault stays, frame holds the bytes. Where a
    frame's end is lost, the rest of that value is one row, and the next value goes on. Text that
    is not UTF-8 and numbers that their column cannot hold are null, with an error that says so.
    Reserved arguments appear in the JSON only where they are not zero.

    Columns at message level, a row each method, with its content where it carries one: row,
    channel, method, exchange, routing_key, consumer_tag, delivery_tag, redelivered, mandatory,
    reply_code, reply_text, properties, body (binary; null without content), error. A method
    stands where its last frame came. Heartbeats and protocol headers give no row. row and offset
    are those of the method. Frames that make no message (content that is cut off or comes without
    a method, bad frames) are rows with an error, whose error_offset counts in the value that holds
    the fault; what is open ends so where a frame's end is lost. frame holds the bytes of all frames
    of the row, in order.

    Which frames belong together at message level: without ``by`` each value holds whole messages,
    and what one begins and does not end is a row with an error. With ``by`` messages go on in later
    values that have the same keys, such as those of one connection and direction; keys are put
    together one after the other, in order of their first value, each in the order of its values.

    ``fields`` may name more than the columns above, at both levels; the column is called by the
    text that asked for it:

    - "queue": the argument of that name, of whatever method has one; "basic.consume.no_ack":
      that of one method. bit: bool; octet and short: int32; long and longlong: int64; shortstr:
      utf8; longstr: binary; timestamp: µs UTC; table: utf8, JSON text.
    - "properties.message_id": one property; "properties_json": all of them, as a JSON object;
      "properties.raw_headers": the bytes of headers, untouched (binary).
    - "headers.x-death": one header as JSON text (utf8). "headers.n:long": as one type, null where
      the value has another: json, string (utf8; of decimals their digits), long or int (int64; any
      integer), double (float64; also integers), boolean or bool, timestamp (µs UTC), binary (bytes
      of strings, too), decimal(p,s) (decimals and integers, exactly: decimal128, decimal256 where p
      is above 38), in any case. A value of the type that its column cannot hold (a timestamp beyond
      64 bits of µs, a decimal with other digits) is null, with an error that says so.
      What stands after the last colon is a type, and one that there is not is refused: for a
      header with a colon in its name ask for "headers.a:b:json". Names may contain dots. Of headers
      that come twice the last one counts.

    AMQP 1.0 (protocol="1.0") has its own columns. At frame level: row, offset, frame_type ("amqp",
    "sasl", "heartbeat", "protocol-header"), channel, performative (utf8, such as "transfer"),
    arguments (the fields that are there), payload (of transfers), frame, error, error_offset. At
    message level, a row each delivery, its transfers joined by link as MessageDecoder does, and
    each other performative: row, channel, performative, handle, delivery_id, delivery_tag,
    message_format, settled, header (struct), delivery_annotations, message_annotations (JSON
    text), properties (struct), application_properties (JSON text), body_kind ("data", "sequence",
    "value"), body (binary; data sections joined), value (JSON text; of sequences a list of lists),
    footer, frame, error; on request message (its bytes), arguments, offset, frame_type and
    error_offset. Aborted deliveries give no row. An error begins with the specification's error
    condition where it has one. fields may also name:

    - "delivery_id", "attach.source": a field of a performative. boolean: bool; up to short and
      int: int32; uint, long, ulong: int64; float and double: float64; string, symbol, char, uuid,
      decimals: utf8; binary; timestamp: µs UTC; all else, fields of many among it: JSON text.
    - at message level "header.priority", "properties.to" and "application_properties.n:long", as
      for headers. Ids and addresses are utf8: a string is itself, other types have a prefix
      ("AMQP_ULONG:5", "AMQP_UUID:...", "AMQP_BINARY:" and hexadecimal digits, "AMQP_VALUE:" and
      JSON text), and so has a string that begins like one ("AMQP_STRING:").

    At event level the values are what connections said, one after the other, as frames or cut
    anywhere: of each key of ``by`` those of both directions, in the order of the rows. The columns
    and rows are those of ``capture.read(level="event")`` for a capture with the same bytes, whose
    connections are open at its end. packet_offset is the index of the value, position counts the
    rows of a value, file is empty, and connection is a hash of the key. A null value stands for
    bytes that are missing (an event "gap"), and so does an empty one whose column flags has "gap",
    as in a table of ``capture.read(level="frame")``. What cannot be read is a "protocol-error". A
    protocol header of the client after its connection was open begins another connection.

    Its JSON text has symbols as strings, arrays as lists, {"$timestamp_ms": n}, {"$uuid": text},
    {"$char": text}, {"$map": pairs} where a key is no text, {"$described": [descriptor, value]} and
    {"$described_array": [descriptor, list]}. A type of the protocol's own is an object with its
    name and the fields that are there: {"$type": "rejected", "error": {"$type": "error", ...}}.

    Args:
        data: bytes of consecutive frames (any C-contiguous buffer; all but bytes is copied
            first, as others may write to it meanwhile), or an Arrow array, chunked array or stream
            (any object with ``__arrow_c_array__`` or ``__arrow_c_stream__``, such as a Series of
            Polars; or a Series of pandas) of binary, large_binary, binary_view or a dictionary of
            these, each value one or more whole frames. A null or empty value gives no row. Arrays
            are copied first, too. Of NumPy: dtype object (bytes, None) and S are values, one a row;
            uint8 is one buffer. NumPy pads S with NULs: those after the last frame are no part of
            the value, those within its frames are.
        protocol: a version, or a protocol module such as load_xml_spec returns. None: 0-9-1; at
            event level what each connection's protocol header says, as capture.read has it.
        level: "frame", "message" or "event"; as mode, layout and field_tables in any case. At event
            level these three have their first values alone.
        fields: names of columns, which chooses and orders them; None for those above (frame level:
            all; message level: offset, frame_type, arguments, body_size, frame and error_offset
            can be asked for). Only what they need is decoded; an error is looked for in all of a
            frame where ``error`` or ``error_offset`` is asked for, or mode is not "PERMISSIVE".
        mode: "PERMISSIVE" (bad frames are rows with an error), "DROPMALFORMED" (they are
            dropped) or "FAILFAST" (the first one raises).
        layout: "plain" or "view". Plain: utf8 and binary; the column frame may borrow the bytes
            of data where it is bytes (or a memoryview of bytes), and then keeps them alive; all
            else is copied. View: string_view and binary_view, which point into data as far as they
            can and keep it alive (what may change is copied once).
        dialect: "rabbitmq" or "0-9-1", what the tags of field tables mean.
        by: at message level, the columns that tell conversations apart, at event level those that
            tell connections apart (required there). Arrays of keys, one a value
            (anything of Arrow, or lists), or names: then data is a table (any object of Arrow's)
            with these columns and the one of bytes. An empty list: all values are one conversation.
            Keys that are null are equal. It needs pyarrow.
        column: the name of the bytes in data, where by names columns of it; at event level, where
            data is a table.
        direction, time, src, dst: of event level alone: who sent each value ("client" or "server"),
            when (timestamps, or integers of µs since 1970; null: unknown) and from and to which
            "address:port". Names of columns of data, or arrays. data may lack the columns
            "timestamp", "src" and "dst": then times are null, and addresses empty, as are those
            that are none. The addresses of a connection are those of its first value.
        field_tables: the type of columns of field tables (the headers of properties; an argument
            that is one; of 1.0 application_properties): "json" (utf8), "variant" (a struct of the
            binaries value and metadata, Spark's and Parquet's Variant encoding) or "map" (map of
            utf8 to utf8: strings as they are, other values as JSON text, void as null). Text inside
            of other columns stays JSON. Keys are written as in JSON text; a table that has a key
            twice is an object or map with the one key ``$table`` and a list of all pairs.
        on_progress: called after each MiB or so, and at the end, with the bytes of data that were
            decoded so far and how many there are; what it raises ends the decoding.

    Returns:
        A struct array with ``__arrow_c_array__`` and ``__arrow_c_schema__``; at event level a
        ``capture.Batch``.

    Raises:
        DecodeError: mode is "FAILFAST" and a frame is bad. ``offset`` counts from the start of
            the input value, whose index is ``row``.
        TypeError: data is neither a buffer nor an Arrow binary array; or an array of NumPy of
            another dtype, with a mask or with several dimensions; or keys are no plain values.
        ValueError: by is given at frame level, or not at event level, or has not one key for each
            value; a direction is neither of the two, and the error names its row.
        ValueError: a name is not known, or stands for arguments of several types; or a column
            would pass 2 GiB, where its offsets end: decode fewer bytes at a time.

    Spec: 0-9-1 §4.2.3 to §4.2.6; 1.0 Part 2 §2.3, Part 3 §3.2.
    """
    level, mode, layout, field_tables = _any_case(level, mode, layout, field_tables)
    core = _protocol(protocol)
    groups: Any = None
    if level == "event":
        from ._facade.event_rows import decode_events

        plain = {"mode": "PERMISSIVE", "layout": "plain", "field_tables": "json"}
        for name, value in (("mode", mode), ("layout", layout), ("field_tables", field_tables)):
            if value != plain[name]:
                raise ValueError(f"{name} is {plain[name]!r} at level='event', not {value!r}")
        names = {"column": column, "direction": direction, "time": time, "src": src, "dst": dst}
        values = values_to_arrow(data, isinstance(core, _v1.V1Core))
        forced = protocol is not None
        events = decode_events(values, _protocols(protocol), forced, fields, by, names)
        if on_progress is not None:
            size = len(data) if isinstance(data, bytes) else getattr(data, "nbytes", 0)
            on_progress(size, size)
        return events
    data = values_to_arrow(data, isinstance(core, _v1.V1Core))
    if by is not None:
        if level != "message":
            raise ValueError("by is for level='message': frames stand for themselves")
        data, groups = values_and_groups(data, by, column)
    return _columns.decode_columns(
        core, data, fields, mode, dialect, level=level, layout=layout, field_tables=field_tables,
        groups=groups, on_progress=on_progress,
    )  # fmt: skip


def decode_held(
    data: Any,
    protocol: str | ModuleType,
    fields: Iterable[str] | None,
    mode: str,
    *,
    field_tables: str,
    groups: Any,
    links: list[int],
) -> tuple[Columns, list[tuple[int, bytes, int]], list[int]]:
    """Decode messages whose frames go on in the next call: not for users, but for amqpcodec.spark.

    groups: True, or int32 in a buffer, a key a value. links: what the call before gave.

    Returns:
        The columns; of each message that is open at the end the row of its first frame, the bytes
        of its frames, which the next call takes as a value, and its link; and the links (AMQP 1.0)
        of deliveries that were discarded, which the next call must know.
    """
    columns = _columns.decode_columns(
        _protocol(protocol), data, fields, mode, "rabbitmq", level="message",
        field_tables=field_tables, groups=groups, held=links,
    )  # fmt: skip
    assert columns.held is not None
    return columns, *columns.held


def encode(
    columns: Any,
    protocol: str | ModuleType = "0-9-1",
    frame_max: int = 131072,
    mode: str = "PERMISSIVE",
    *,
    dialect: str | None = None,
) -> Encoded:
    """Encode messages in columns, a value each with all its frames; the GIL is released meanwhile.

    The bytes are those of ``encode_message`` for the same values (``encode`` for a method without
    content). Columns, in any order, none of them required; a null says what a missing column says:

    - ``method``: text such as "basic.deliver". Without the column: "basic.publish"; a null is an
      error, since nobody said what to send.
    - ``channel``: integers; 1.
    - Arguments by name (``exchange``, ``"basic.consume.no_ack"``), and ``arguments``: JSON text of
      an object with them. A column goes before the text, a full name before a short one. What a
      row's method does not have must be null, false, zero or empty there.
    - ``properties``: a struct of any of them, or columns ``properties.message_id``, or
      ``properties_json``. Null: the property is absent.
    - Headers, as ``properties.headers`` or, one by one, ``headers.x-tenant``: JSON text of an
      object as decode writes it (with ``$`` forms), a map, or a struct, whose nulls are not
      written.
    - ``body``: binary or text.
    - ``error``: a row with one is not encoded, but an error here, too. ``row``, ``offset``,
      ``frame``, ``frame_type``, ``body_size`` and ``error_offset`` are ignored. Thus what decode
      gives at message level can be encoded as it is.

    Text is any Arrow text or binary, also as dictionary; a number any integer; a timestamp of any
    unit, floored to seconds (one without a zone is taken for UTC), or integer seconds. In tables
    the type says the tag: integers I or, beyond 32 bits, l; float64 d, smaller floats f; bool t;
    text S; binary x; timestamp T; decimal D; list A; struct and map F; a null in a map or list V.

    AMQP 1.0 (``protocol="1.0"``): a value holds a performative's frame, or all transfers of a
    message, whose bytes are those of ``v1_0.encode_message`` for the same values. Columns:

    - ``performative``: text such as "attach" or "sasl-init". Without the column: "transfer"; a null
      is an error.
    - ``channel``: integers; 0.
    - Fields by name (``handle``, ``delivery_tag``, ``"attach.name"``), and ``arguments``: JSON text
      of an object with them, as above. Of a transfer handle and message_format are 0 where nobody
      says, and ``more`` is set as needed; a delivery_id that nobody gave is absent (they are not
      counted). Fields of many symbols take a list of text too; maps, sources, states and errors
      JSON text.
    - ``header`` and ``properties``: structs, or columns ``header.ttl``, ``properties.to``. A struct
      that is not null is a section, if an empty one.
    - message_id, correlation_id, to and reply_to: text is a string; with the prefixes of the JMS
      mapping another type ("AMQP_ULONG:5", "AMQP_UUID:...", "AMQP_BINARY:" and hexadecimal
      digits, "AMQP_VALUE:" and JSON text), and "AMQP_STRING:" stands in front of a string that
      begins with one of these. Integers are a ulong, binary is a binary.
    - ``delivery_annotations``, ``message_annotations``, ``footer`` and ``application_properties``:
      JSON text, a map or a struct, whose nulls are not written; the latter also one by one,
      ``application_properties.x``. Keys are symbols (or ulongs), those of the latter strings.
    - ``body`` (binary or text: a data section), or ``value``: JSON text, or any other type.
      ``body_kind``: "data", "value" or "sequence" (a list of lists, one for each section); a null
      takes the one that is there.
    - ``message``: the bytes of a whole message, taken as they are. ``payload``: what one transfer
      carries, as level="frame" gives it; that frame is never split, and nothing is set in it.
    - Performatives that are no transfer must have nulls in all columns of messages.

    JSON text is what decode writes: strings, longs (ulongs beyond 63 bits), doubles, lists, maps,
    ``{"$binary": base64}``, ``$decimal``, ``$timestamp_ms``, ``$double``, ``$uuid``, ``$char``,
    ``{"$described": [descriptor, value]}``, ``{"$described_array": [descriptor, list]}`` (elements
    of one type), ``{"$map": [[key, value], ...]}`` and ``{"$type": "accepted", ...}``; also
    ``{"$symbol": text}``, as decode writes symbols as strings.
    Elsewhere the Arrow type says the type: integers keep width and sign, float64 double, smaller
    floats float, text string, timestamp timestamp (floored to ms), decimal decimal128, list list,
    struct and map map.

    Args:
        columns: messages as a struct array, record batch or table: any object with
            ``__arrow_c_array__``, or ``__arrow_c_stream__`` with any number of batches. A null
            struct gives a null. Or a dict of columns (lists, arrays of NumPy or of Arrow), or a
            structured array of NumPy, whose fields are the columns; a field with fields is a
            struct, and what a mask covers is null. (NumPy takes NULs off the end of values of
            dtype S: bodies are better objects.) Both need pyarrow.
        protocol: a version, or a protocol module such as load_xml_spec returns.
        frame_max: bytes of a frame, the 8 of its envelope included; 0 for no limit. Bodies are
            cut to fit (1.0: messages; 512 at least).
        mode: "PERMISSIVE" (a row that cannot be encoded is null, with its error in ``errors``) or
            "FAILFAST" (the first one raises).
        dialect: "rabbitmq", "0-9-1", "0-9" or "0-8", the types of field tables; None for the
            protocol's own. 1.0 has none.

    Returns:
        A binary array with ``__arrow_c_array__``, one value a row; its ``errors`` is a utf8 array
        with ``__arrow_c_array__``, null where the row is fine, ``error_count`` how many are not.

    Raises:
        EncodeError: mode is "FAILFAST" and a row cannot be encoded; ``row`` and ``column`` say
            which, ``method`` and ``field`` what it was for. Or frame_max is too small.
        TypeError: columns is no Arrow struct, dict or structured array, or one of them no column.
        ValueError: a column is no part of a message or there twice; or the messages would take
            more than 2 GiB, where offsets end: encode fewer rows at a time.

    Spec: 0-9-1 §4.2.3 to §4.2.6; 1.0 Part 2 §2.6.14, Part 3 §3.2.
    """
    rows = columns_to_arrow(columns)
    mode = as_text(mode)
    return _encode.encode_columns(_protocol(protocol), rows, frame_max, mode, dialect)


def schema(
    protocol: str | ModuleType | None = None,
    level: Level = "frame",
    fields: Iterable[str] | None = None,
    layout: Layout = "plain",
    *,
    field_tables: Tables = "json",
) -> Schema:
    """The schema of what decode will return, as an object with ``__arrow_c_schema__``.

    ``pyarrow.schema(batch.schema())`` takes it.

    Raises:
        ValueError: a name is not known.
    """
    level, _, layout, field_tables = _any_case(level, "PERMISSIVE", layout, field_tables)
    if level == "event":
        from ._facade.event_rows import schema_of_events

        return schema_of_events(_protocol(protocol), fields)
    return _columns.columns_schema(_protocol(protocol), fields, level, layout, field_tables)


def _any_case(level: Any, mode: Any, layout: Any, field_tables: Any) -> Any:
    """These options as the core spells them; what is no text it refuses itself."""
    options = (level, mode, layout, field_tables)
    lower = [option.lower() if isinstance(option, str) else option for option in options]
    lower[1] = mode.upper() if isinstance(mode, str) else mode
    return lower


def _protocols(protocol: str | ModuleType | None) -> list[_codec.Protocol | _v1.V1Core]:
    """What connections may speak: one version, or all where their headers decide."""
    return [_protocol(protocol), *(map(_protocol, _OTHERS) if protocol is None else ())]


def _protocol(protocol: str | ModuleType | None) -> _codec.Protocol | _v1.V1Core:
    protocol = "0-9-1" if protocol is None else protocol
    module = _protocol_module(protocol) if isinstance(protocol, str) else protocol
    core = getattr(module, "PROTOCOL", module)
    if not isinstance(core, (_codec.Protocol, _v1.V1Core)):
        raise TypeError(f"protocol is a version or a protocol module, not {protocol!r}")
    return core


def release_memory() -> int:
    """Give the memory that is kept for the next decode or encode back to the system.

    Columns that their consumer has released are kept, up to a limit (see limit_memory), because
    writing to memory that was used before is several times as fast. Columns that are still in use
    are not touched. Any thread may call this at any time. Returns how many bytes were given back.
    """
    return _columns.release_memory()


def limit_memory(limit: int) -> int:
    """Keep no more than so many bytes for the next decode or encode; 0: none.

    The limit is one for the process, 64 MiB at first; until it is set, reading a capture keeps
    48 MiB. It counts what is kept between calls only; a call takes what its columns need. What is
    kept beyond it is given back at once. Returns the limit until now. Raises ValueError where it is
    negative, OverflowError where it is too large.
    """
    return _columns.limit_memory(limit)


def kept_memory() -> int:
    """Bytes that are kept for the next decode or encode at the moment."""
    return _columns.kept_memory()
