"""How this end attaches a link: its options, its unsettled map, and the rules of both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ... import v1_0 as amqp
from ...errors import EncodeError, ValidationError
from ..errors import LocalProtocolError
from .objects import Link, Receiver
from .options import AcceptOptions
from .resumption import is_outcome, map_state, unsettled_of

__all__ = [
    "accept_link",
    "answer_attach",
    "attach",
    "can_answer",
    "can_refuse",
    "check_rules",
    "forget_settled",
]

_OPTIONS = frozenset(
    (
        *("source", "target", "snd_settle_mode", "rcv_settle_mode", "max_message_size"),
        *("offered_capabilities", "desired_capabilities", "properties"),
        *("unsettled", "incomplete_unsettled", "initial_delivery_count"),
    )
)

#: More than what the settle modes and an error's flag take in an attach or detach.
_ROOM_FOR_MODES = 16
#: More than what an attach without source and target takes, but for its name.
_ROOM_FOR_ATTACH = 128


def accept_link(link: Link, options: AcceptOptions) -> None:
    """Answer the peer's attach; its source and target by default."""
    remote = link.remote_attach
    assert remote is not None
    attach(
        link,
        {
            "snd_settle_mode": remote.snd_settle_mode,
            "rcv_settle_mode": remote.rcv_settle_mode,
            "source": remote.source if link.sends else _without_dynamic(remote.source),
            "target": _without_dynamic(remote.target) if link.sends else remote.target,
            **options,
        },
    )


def attach(link: Link, options: Mapping[str, Any], /, **terminus: Any) -> None:
    """Send this end's attach. options and terminus: its fields; see `Link`."""
    unknown = set(options) - _OPTIONS
    if unknown:
        raise TypeError(f"a link has no option {', '.join(sorted(unknown))}")
    links = link.session.connection._links
    key = (link.name, link.sends)
    if links.get(key, link) is not link:
        raise LocalProtocolError(f"a link with the name {link.name!r} is attached")
    fields: dict[str, Any] = {**terminus, **options}
    in_doubt = _note_unsettled(link, fields)
    _complete(link, fields)
    handle = link.session._free_handle() if link.handle is None else link.handle
    frame = amqp.Attach(
        link.name,
        handle,
        amqp.Role.SENDER if link.sends else amqp.Role.RECEIVER,
        **fields,
    )
    check_rules(frame)
    try:
        link.session._queue(frame)
    except LocalProtocolError as error:
        if not frame.unsettled:
            raise
        text = f"{error}: pass a part of the unsettled map and incomplete_unsettled=True"
        raise LocalProtocolError(text) from None
    link.attach = frame
    link._is_incomplete = bool(frame.incomplete_unsettled)
    link._in_doubt = in_doubt
    if link.remote_attach is not None:
        forget_settled(link)
    if link.handle is None:
        link.session._map(handle, link)
        link.handle = handle
    links[key] = link
    link.snd_settle_mode = frame.snd_settle_mode
    link.rcv_settle_mode = frame.rcv_settle_mode
    if link.state == "ATTACH_RCVD":
        link.state = "ATTACHED"
    else:
        link.state = "ATTACH_SENT"
        link.session._unanswered.setdefault(key, []).append(link)


def _note_unsettled(link: Link, options: dict[str, Any]) -> dict[bytes, Any]:
    """Turn what unsettled= was given into the map of an attach; what has to be resumed."""
    unsettled = options.get("unsettled")
    if unsettled is None:
        return {}
    if isinstance(unsettled, Link):
        if unsettled.sends is not link.sends:
            raise TypeError("unsettled takes a link of the same direction")
        unsettled = unsettled._unsettled or None
    elif not isinstance(unsettled, Mapping):
        raise TypeError(f"unsettled takes a link, or tag -> state, not {type(unsettled).__name__}")
    options["unsettled"] = unsettled and {
        tag: map_state(delivery) for tag, delivery in unsettled.items()
    }
    return dict(unsettled or {})


def forget_settled(link: Link) -> None:
    """Both maps are there: forget what the other end's says to be settled."""
    peer = link.remote_attach
    assert peer is not None
    if not link._in_doubt or peer.incomplete_unsettled:
        return
    if (peer.target if link.sends else peer.source) is None:
        return
    remote_unsettled = unsettled_of(peer)
    link._in_doubt = {
        tag: delivery
        for tag, delivery in link._in_doubt.items()
        if tag in remote_unsettled or (link.sends and not is_outcome(map_state(delivery)))
    }


def _complete(link: Link, options: dict[str, Any]) -> None:
    """What an end has to say in its attach."""
    if isinstance(link, Receiver):
        if options.pop("initial_delivery_count", None) is not None:
            raise LocalProtocolError("only a sender has an initial_delivery_count (Part 2 §2.7.3)")
        if options.get("max_message_size") is None:
            options["max_message_size"] = link.session.connection._limits.message_size
        link.max_message_size = options["max_message_size"]
        if link.attach is None and "target" not in options:
            options["target"] = amqp.Target()
        return
    if options.setdefault("initial_delivery_count", 0) is None:
        raise TypeError("a sender has an initial_delivery_count")
    link.delivery_count = options["initial_delivery_count"]
    if link.attach is None and "source" not in options:
        options["source"] = amqp.Source()


def can_refuse(link: Link) -> bool:
    """Whether the peer's frames hold an attach of this end without source and target."""
    most = 4 * len(link.name) + _ROOM_FOR_ATTACH  # a character takes 4 bytes at most
    return most <= link.session.connection._frame_size or can_answer(link, None, None)


def can_answer(link: Link, source: Any, target: Any) -> bool:
    """Whether the peer's frames hold this end's attach with that source and target."""
    role = amqp.Role.SENDER if link.sends else amqp.Role.RECEIVER
    options = {"source": source, "target": target}
    _complete(link, options)
    frame = amqp.Attach(link.name, link.handle, role, **options)
    size = len(amqp.encode(0, frame)) + _ROOM_FOR_MODES
    return size <= link.session.connection._frame_size


def answer_attach(link: Link) -> None:
    """Attach only to detach."""
    if link.session.state == "BEGIN_RCVD":
        link.session._answer_to_end()
    attach(link, {}, source=None, target=None)


def _without_dynamic(terminus: Any) -> Any:
    """The other end's terminus for an answer: only the end that makes a node says that it did."""
    if not getattr(terminus, "dynamic", False):
        return terminus
    return terminus.__replace__(dynamic=None, dynamic_node_properties=None)


def check_rules(frame: amqp.Attach) -> None:
    """Raise LocalProtocolError where an attach breaks a rule; the text names its section.

    Values that have no encoding raise EncodeError where the frame is encoded.
    """
    try:
        frame.validate()
    except ValidationError as error:
        node = error.field if error.method == "attach" else error.method
        section = {"source": "Part 3 §3.5.3", "target": "Part 3 §3.5.4"}.get(node or "")
        if error.method == "attach" and error.field == "properties":
            return  # peers send other keys than symbols there, and nothing depends on them
        raise LocalProtocolError(f"{error} ({section or 'Part 2 §2.7.3'})") from None
    except EncodeError:
        pass
