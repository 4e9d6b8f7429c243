"""Changes of values, messages and frames of AMQP 1.0: sizes and counts around them fit."""

from __future__ import annotations

import struct
from collections.abc import Callable
from random import Random

from tests.fuzz import v1_model as model
from tests.fuzz.mutators import below, edit, lead
from tests.fuzz.target import Mutator
from tests.support import client_bytes_v1 as octets

#: Bytes behind a constructor by its first four bits; -1 and -4: a size of so many comes first.
WIDTHS = {4: 0, 5: 1, 6: 2, 7: 4, 8: 8, 9: 16} | {
    bits: -1 if bits % 2 == 0 else -4 for bits in range(0xA, 0x10)
}
#: Pairs of constructors of one type.
TWINS = {
    0x43: 0x52, 0x52: 0x70, 0x70: 0x52, 0x44: 0x53, 0x53: 0x80, 0x80: 0x53, 0x41: 0x56, 0x42: 0x56,
    0x54: 0x71, 0x71: 0x54, 0x55: 0x81, 0x81: 0x55,
}  # fmt: skip
LEVELS = 140


def after(data: bytes, at: int, code: int) -> int:
    """The end of what stands behind a constructor."""
    width = WIDTHS.get(code >> 4)
    if width is None:
        raise ValueError(f"no constructor: {code}")
    if width == -1:
        at += 1 + data[at]
    elif width == -4:
        at += 4 + int.from_bytes(data[at : at + 4])
    else:
        at += width
    if at > len(data):
        raise ValueError("cut off")
    return at


def end_of(data: bytes, at: int) -> int:
    """The end of the value at a place."""
    open_ = 1
    while open_:
        code = data[at]
        at += 1
        if code == 0:
            open_ += 1  # a descriptor, then a value
        else:
            at = after(data, at, code)
            open_ -= 1
    return at


def split(data: bytes) -> list[bytes]:
    """Values behind each other; what is none stands at the end."""
    values, at = [], 0
    while at < len(data):
        try:
            stop = end_of(data, at)
        except (IndexError, ValueError):
            stop = len(data)
        values.append(data[at:stop])
        at = stop
    return values


def rearrange(parts: list[bytes], rng: Random, fresh: Callable[[Random], bytes]) -> None:
    """Repeat, leave out, swap, replace, cut off."""
    how = below(rng, 7) if parts else 0
    place = below(rng, len(parts))
    if how == 0:
        parts.insert(below(rng, len(parts) + 1), fresh(rng))
    elif how == 1:
        parts.insert(below(rng, len(parts) + 1), parts[place])
    elif how == 2:
        del parts[place]
    elif how == 3:
        other = below(rng, len(parts))
        parts[place], parts[other] = parts[other], parts[place]
    elif how == 4:
        parts[place] = fresh(rng)
    elif how == 5:
        del parts[place:]
    else:
        parts[place] = b"\x40"


def change(value: bytes, rng: Random, level: int = 0) -> bytes:
    """A value with one change in it; what is around it fits.

    Raises:
        IndexError, ValueError: it is not whole.
    """
    code = value[0]
    if level > LEVELS or rng.random() < 0.03:
        return model.anything(rng)
    if code == 0:
        return changed_described(value, rng, level)
    if code >= 0xE0:
        return changed_array(value, rng, level)
    if code >= 0xC0:
        return changed_compound(value, rng, level)
    return changed_scalar(value, rng)


def changed_described(value: bytes, rng: Random, level: int) -> bytes:
    descriptor_end = end_of(value, 1)
    how = below(rng, 20)
    if how == 0:
        return value[descriptor_end:]
    if how == 1:
        return model.descriptor(rng) + value[descriptor_end:]
    if how == 2:
        return b"\0" + change(value[1:descriptor_end], rng, level + 1) + value[descriptor_end:]
    if how == 3:
        return model.descriptor(rng) + value
    if how == 4 and value[1] == 0x53 and value[2] in model.KNOWN:
        return model.described(rng, model.KNOWN[value[2]])
    return value[:descriptor_end] + change(value[descriptor_end:], rng, level + 1)


def changed_compound(value: bytes, rng: Random, level: int) -> bytes:
    code = value[0]
    parts = split(value[9 if code & 0x10 else 3 :])
    if parts and rng.random() < 0.6:
        place = below(rng, len(parts))
        parts[place] = change(parts[place], rng, level + 1)
    else:
        rearrange(parts, rng, model.anything)
    if rng.random() < 0.1:
        code ^= model.one(rng, (1, 0x10))
    return lied(model.compound(code, len(parts), b"".join(parts)), rng)


def changed_array(value: bytes, rng: Random, level: int) -> bytes:
    start = at = 9 if value[0] & 0x10 else 3
    while value[at] == 0:
        at = end_of(value, at + 1)
    code, head = value[at], value[start:at]
    at += 1
    items = []
    while at < len(value) and not 0x40 <= code < 0x50:
        stop = after(value, at, code)
        items.append(value[at:stop])
        at = stop
    count = len(items)
    how = below(rng, 6)
    if how == 0:
        head = b"" if head and rng.random() < 0.5 else model.descriptor(rng) + head
    elif how == 1:
        code = TWINS.get(code, code ^ 0x10 if code >= 0xA0 else code)
        items = [model.content(rng, code) for _ in items]
    elif 0x40 <= code < 0x50:
        count = model.one(rng, (0, 1, 2, 255, 256, 65535, 65536, 65537))
    elif how < 4 and items:
        place = below(rng, len(items))
        new_value = change(bytes([code]) + items[place], rng, level + 1)
        if new_value[0] == code:
            items[place] = new_value[1:]
    else:
        rearrange(items, rng, lambda rng: model.content(rng, code))
    count = len(items) or count
    new_value = model.compound(value[0], count, head + bytes([code]) + b"".join(items))
    return lied(new_value, rng)


def changed_scalar(value: bytes, rng: Random) -> bytes:
    code, how = value[0], below(rng, 8)
    if how == 0:
        return model.anything(rng)
    if how == 1:
        return model.descriptor(rng) + value
    if how == 2:
        return model.of_list(rng, [value])
    if how < 5 or code < 0xA0:
        if how & 1:
            code = TWINS.get(code, code ^ 0x10 if code >= 0xA0 else code)
        is_known_code = code in octets.CODES
        return bytes([code]) + model.content(rng, code) if is_known_code else model.anything(rng)
    inside = bytearray(value[5 if code & 0x10 else 2 :])
    edit(inside, rng)
    return model.run(code, bytes(inside))


def lied(value: bytes, rng: Random) -> bytes:
    """A compound, of which size or count is wrong by one now and then."""
    if rng.random() > 0.04:
        return value
    damaged = bytearray(value)
    wide = 3 if damaged[0] & 0x10 else 0
    place = wide + 1 if rng.random() < 0.5 else 2 * wide + 2
    damaged[place] = (damaged[place] + 2 * below(rng, 2) - 1) & 255
    return bytes(damaged)


def bytewise(data: bytes, rng: Random) -> bytes:
    """Some changes of single bytes."""
    changed_bytes = bytearray(data)
    for _ in range(1 + below(rng, 4)):
        edit(changed_bytes, rng)
    return bytes(changed_bytes)


def message_change(data: bytes, rng: Random) -> bytes:
    """A message with one change in a section, or of its sections."""
    parts = split(data)
    if not parts or rng.random() < 0.25:
        rearrange(parts, rng, lambda rng: model.section(rng, model.one(rng, model.SECTIONS)))
    else:
        place = below(rng, len(parts))
        parts[place] = change(parts[place], rng)
    return b"".join(parts)


def value_change(data: bytes, rng: Random) -> bytes:
    """A value with one change in it, and what follows."""
    stop = end_of(data, 0)
    return change(data[:stop], rng) + data[stop:]


def structured(
    head: int, fresh: Callable[[Random], bytes], changed: Callable[[bytes, Random], bytes]
) -> Mutator:
    """A fresh one at times; one that was changed, or of which bytes were."""

    def mutate(data: bytes, rng: Random) -> bytes:
        choosing, remainder = bytes(lead(data, head, rng)), data[head:]
        how = rng.random()
        if how < 0.12:
            return choosing + fresh(rng)
        if how < 0.7:
            try:
                return choosing + changed(remainder, rng)
            except (IndexError, ValueError):
                pass  # not whole: any bytes
        return choosing + bytewise(remainder, rng)

    return mutate


def values(head: int) -> Mutator:
    """Of a value after so many choosing bytes."""
    return structured(head, model.value, value_change)


def messages(head: int) -> Mutator:
    """Of a message after so many choosing bytes."""
    return structured(head, model.message, message_change)


def split_frames(stream: bytes) -> list[bytes]:
    """The frames of a stream; what is none stands at the end."""
    frames, place = [], 0
    while len(stream) - place >= 8:
        plain = stream[place : place + 4] == b"AMQP"
        size = 8 if plain else int.from_bytes(stream[place : place + 4])
        if not 8 <= size <= len(stream) - place:
            break
        frames.append(stream[place : place + size])
        place += size
    return [*frames, stream[place:]]


def body_change(body: bytes, rng: Random) -> bytes:
    """A performative or the message behind it with a change."""
    stop = end_of(body, 0)
    if stop < len(body) and rng.random() < 0.6:
        return body[:stop] + message_change(body[stop:], rng)
    return change(body[:stop], rng) + body[stop:]


def frame_change(frame: bytes, rng: Random) -> bytes:
    """A frame with a change of its body, or of bytes; its size fits."""
    if len(frame) < 8 or frame[:4] == b"AMQP":
        return bytewise(frame, rng)
    start = 4 * frame[4]
    if rng.random() < 0.5:
        try:
            body = body_change(frame[start:], rng)
            return struct.pack(">I", start + len(body)) + frame[4:start] + body
        except (IndexError, ValueError):
            pass  # not whole: any bytes
    changed_frame = bytearray(frame)
    for _ in range(1 + below(rng, 3)):
        edit(changed_frame, rng, 4 if rng.random() < 0.1 else 8)
    changed_frame[:4] = struct.pack(">I", len(changed_frame))
    return bytes(changed_frame)


def streams(head: int) -> Mutator:
    """Of frames after so many choosing bytes."""

    def mutate(data: bytes, rng: Random) -> bytes:
        choosing, frames = bytes(lead(data, head, rng)), split_frames(data[head:])
        which = below(rng, len(frames))
        how = rng.random()
        if how < 0.06:
            frames.insert(which, model.frame(rng))
        elif how < 0.1:
            frames[which:which] = model.delivery(rng)
        elif how < 0.2:
            frames.insert(below(rng, len(frames) + 1), frames[which])
        elif how < 0.3:
            del frames[which]
        else:
            frames[which] = frame_change(frames[which], rng)
        return choosing + b"".join(frames)

    return mutate
