"""What both ends of a link share: attach, detach, handles (Part 2 §2.6)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

from ... import v1_0 as amqp
from ...errors import EncodeError, ValidationError
from ..errors import LocalProtocolError
from . import events
from .conditions import error_of
from .faults import LinkFault, SessionFault
from .options import AcceptOptions
from .resumption import Resumption, compare_unsettled, is_outcome, unsettled_of

if TYPE_CHECKING:
    from .._types import ClosedBy
    from .delivery import Delivery
    from .session import Session

__all__ = ["Link"]

_FIRST = amqp.ReceiverSettleMode.FIRST
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


class Link:
    """One end of a link: a `Sender`, a `Receiver`, a `Controller` or a `Coordinator`.

    Options of ``session.attach_...`` and ``link.accept``: source, target, snd_settle_mode,
    rcv_settle_mode, max_message_size (bytes; what this end takes), offered_capabilities,
    desired_capabilities, properties, initial_delivery_count (senders), and, to resume deliveries
    of a link that was detached, unsettled: the old link, whose data is kept, or tag -> state; with
    incomplete_unsettled where that is only a part of them.

    Attributes:
        session: which it belongs to.
        name: the same at both ends.
        handle: this end's number, from attach to detach.
        state: "ATTACH_SENT", "ATTACH_RCVD", "ATTACHED", "DETACH_SENT" or "DETACHED".
        remote_attach: what the peer's attach said; None before it came.
        attach: what this end's attach said; None before it was sent.
        snd_settle_mode, rcv_settle_mode: as both attaches have it.
        delivery_count: the sender's count of deliveries, as this end knows it.
        link_credit, drain: the credit after that count, and whether it is to be used up at once.
        unsettled: tag -> delivery, of those that are not settled here. Those of a link before this
            one are added as they are resumed.
    """

    sends: ClassVar[bool]
    state: str
    snd_settle_mode: amqp.SenderSettleMode
    rcv_settle_mode: amqp.ReceiverSettleMode
    delivery_count: int
    link_credit: int
    drain: bool

    def __init__(self, session: Session, name: str) -> None:
        self.session = session
        self.name = name
        self.handle: int | None = None
        self._remote_handle: int | None = None
        self.state = "DETACHED"
        self.remote_attach: amqp.Attach | None = None
        self.attach: amqp.Attach | None = None
        self.delivery_count = 0
        self.link_credit = 0
        self.drain = False
        self.unsettled: dict[bytes, Delivery] = {}
        #: Of the link before this one, not resumed yet: tag -> delivery, or state of one.
        self._in_doubt: dict[bytes, Any] = {}
        self._is_incomplete = False  # whether this end's unsettled map is
        self.snd_settle_mode = amqp.SenderSettleMode.MIXED
        self.rcv_settle_mode = _FIRST
        self._closed = False
        self._errant = False
        self._told_end = False
        self._error: amqp.Error | None = None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}, {self.state}>"

    # --- requests ---------------------------------------------------------------------------------

    def accept(self, **options: Unpack[AcceptOptions]) -> None:
        """Answer LinkRequested by this end's attach. The peer's source and target by default.

        A peer that asks for a dynamic node wants its address: pass source= (a sender) or target= (a
        receiver) with address and dynamic, or refuse.

        Raises:
            LocalProtocolError: no link waits, its session was not accepted, or the attach would
                break a rule of Part 2 §2.7.3 or Part 3 §3.5; the text names it. Where the link,
                its session or its connection is over, nothing happens.
        """
        if self._is_over():
            return
        self._check_requested()
        remote = self.remote_attach
        assert remote is not None
        self._attach(
            {
                "snd_settle_mode": remote.snd_settle_mode,
                "rcv_settle_mode": remote.rcv_settle_mode,
                "source": remote.source if self.sends else _without_dynamic(remote.source),
                "target": _without_dynamic(remote.target) if self.sends else remote.target,
                **options,
            }
        )

    def refuse(self, error: amqp.Error | str, description: str | None = None) -> None:
        """Answer LinkRequested by an attach without terminus and a detach that says why."""
        if self._is_over():
            return
        self._check_requested()
        if self.sends:
            self.accept(source=None)
        else:
            self.accept(target=None)
        self.detach(error, description)

    def detach(
        self,
        error: amqp.Error | str | None = None,
        description: str | None = None,
        *,
        closed: bool = True,
    ) -> None:
        """Detach the link; LinkClosed follows when the peer has answered.

        closed: for good. Otherwise it can be attached again, with `unsettled_map`. A link that is
        over stays as it is. What waits to be sent on it is dropped.
        """
        if self._is_over():
            return
        if self.state == "ATTACH_RCVD":
            raise LocalProtocolError("accept or refuse the link")
        self.session._check()
        self._detach(error_of(error, description), closed)

    @property
    def unsettled_map(self) -> dict[bytes, Any]:
        """Tag -> this end's state of what is not settled: for attaching again.

        A receiver's are outcomes, and of what has none Received: how far the data came. Of a sender
        None says that all can be sent again.

        Spec: 1.0 Part 3 §3.4.6.
        """
        return {tag: _map_state(delivery) for tag, delivery in self._unsettled.items()}

    @property
    def resumptions(self) -> MappingProxyType[bytes, Resumption]:
        """Tag -> what the unsettled maps of both attaches call for; see `compare_unsettled`.

        Raises:
            LocalProtocolError: this end or the peer has not attached yet.
        """
        if self.attach is None or self.remote_attach is None:
            raise LocalProtocolError("the unsettled maps are there after both ends attached")
        own, peer = self.attach, self.remote_attach
        sender, receiver = (own, peer) if self.sends else (peer, own)
        return MappingProxyType(
            compare_unsettled(
                unsettled_of(sender),
                unsettled_of(receiver),
                sender_incomplete=bool(sender.incomplete_unsettled),
                receiver_incomplete=bool(receiver.incomplete_unsettled),
            )
        )

    @property
    def _unsettled(self) -> dict[bytes, Any]:
        """All that is unsettled or in doubt: tag -> delivery, or state of one."""
        return {**self._in_doubt, **self.unsettled}

    @property
    def source(self) -> Any:
        """The source: the sending end's word counts."""
        frame = self.attach if self.sends else self.remote_attach
        return None if frame is None else frame.source

    @property
    def target(self) -> Any:
        """The target: the receiving end's word counts."""
        frame = self.remote_attach if self.sends else self.attach
        return None if frame is None else frame.target

    def _is_over(self) -> bool:
        """Whether the link, its session or its connection has ended: answers do nothing then."""
        return self.state in ("DETACH_SENT", "DETACHED") or self.session._is_over()

    def _check_requested(self) -> None:
        self.session._check()
        if self.state != "ATTACH_RCVD":
            raise LocalProtocolError("no link waits to be accepted")

    def _check(self) -> None:
        self.session._check()
        if self.state != "ATTACHED":
            raise LocalProtocolError(f"the link is {self.state}, not ATTACHED")

    # --- frames out -------------------------------------------------------------------------------

    def _attach(self, options: Mapping[str, Any], **terminus: Any) -> None:
        unknown = set(options) - _OPTIONS
        if unknown:
            raise TypeError(f"a link has no option {', '.join(sorted(unknown))}")
        links = self.session.connection._links
        key = (self.name, self.sends)
        if links.get(key, self) is not self:
            raise LocalProtocolError(f"a link with the name {self.name!r} is attached")
        fields: dict[str, Any] = {**terminus, **options}
        in_doubt = self._note_unsettled(fields)
        self._complete(fields)
        handle = self.session._free_handle() if self.handle is None else self.handle
        frame = amqp.Attach(
            self.name,
            handle,
            amqp.Role.SENDER if self.sends else amqp.Role.RECEIVER,
            **fields,
        )
        _check_rules(frame)
        try:
            self.session._queue(frame)
        except LocalProtocolError as error:
            if not frame.unsettled:
                raise
            text = f"{error}: pass a part of the unsettled map and incomplete_unsettled=True"
            raise LocalProtocolError(text) from None
        self.attach = frame
        self._is_incomplete = bool(frame.incomplete_unsettled)
        self._in_doubt = in_doubt
        if self.remote_attach is not None:
            self._forget_settled()
        if self.handle is None:
            self.session._map(handle, self)
            self.handle = handle
        links[key] = self
        self.snd_settle_mode = frame.snd_settle_mode
        self.rcv_settle_mode = frame.rcv_settle_mode
        if self.state == "ATTACH_RCVD":
            self.state = "ATTACHED"
        else:
            self.state = "ATTACH_SENT"
            self.session._unanswered.setdefault(key, []).append(self)

    def _note_unsettled(self, options: dict[str, Any]) -> dict[bytes, Any]:
        """Turn what unsettled= was given into the map of an attach; what has to be resumed."""
        unsettled = options.get("unsettled")
        if unsettled is None:
            return {}
        if isinstance(unsettled, Link):
            if unsettled.sends is not self.sends:
                raise TypeError("unsettled takes a link of the same direction")
            unsettled = unsettled._unsettled or None
        elif not isinstance(unsettled, Mapping):
            raise TypeError(
                f"unsettled takes a link, or tag -> state, not {type(unsettled).__name__}"
            )
        options["unsettled"] = unsettled and {
            tag: _map_state(delivery) for tag, delivery in unsettled.items()
        }
        return dict(unsettled or {})

    def _forget_settled(self) -> None:
        """Both maps are there: forget what the other end's says to be settled."""
        peer = self.remote_attach
        assert peer is not None
        if not self._in_doubt or peer.incomplete_unsettled:
            return
        if (peer.target if self.sends else peer.source) is None:
            return
        remote_unsettled = unsettled_of(peer)
        self._in_doubt = {
            tag: delivery
            for tag, delivery in self._in_doubt.items()
            if tag in remote_unsettled or (self.sends and not is_outcome(_map_state(delivery)))
        }

    def _complete(self, options: dict[str, Any]) -> None:
        """What an end has to say in its attach."""
        raise NotImplementedError

    def _state_fields(self) -> dict[str, Any]:
        """What a flow tells of this end."""
        raise NotImplementedError

    def _send_state(self, **more: Any) -> None:
        self.session._send_flow(**{"handle": self.handle, **self._state_fields(), **more})

    def _detach(self, error: amqp.Error | None, closed: bool) -> None:
        self.session._queue(amqp.Detach(self.handle, closed, error))
        self.state = "DETACH_SENT"
        self._error = error
        self._closed = closed
        self._errant = error is not None
        links = self.session.connection._links
        if links.get((self.name, self.sends)) is self:
            del links[self.name, self.sends]
        self._release()

    def _release(self) -> None:
        """Nothing comes or goes on this link any more; what is unsettled stays known here."""

    # --- frames in --------------------------------------------------------------------------------

    def _requested(self, handle: int, frame: amqp.Attach) -> None:
        self._note_attach(handle, frame)
        self.state = "ATTACH_RCVD"
        self.session.connection._emit(events.LinkRequested(self, frame))
        self._check_peer(frame)

    def _opened(self, handle: int, frame: amqp.Attach) -> None:
        self._note_attach(handle, frame)
        if self.state != "ATTACH_SENT":  # detached before it was answered
            return
        self.state = "ATTACHED"
        self._check_peer(frame)
        if self.sends:
            self.rcv_settle_mode = frame.rcv_settle_mode
        else:
            self.snd_settle_mode = frame.snd_settle_mode
        self._forget_settled()
        refused = frame.target is None if self.sends else frame.source is None
        if not refused:  # else its detach follows, which says why
            self.session.connection._emit(events.LinkOpened(self, frame))

    def _check_peer(self, frame: amqp.Attach) -> None:
        """Raise LinkFault where the peer's attach breaks a rule about a link's ends."""
        if not isinstance(frame.unsettled, dict | None):
            raise LinkFault(self, amqp.AmqpError.INVALID_FIELD, "an unsettled map has a tag twice")
        try:
            _check_rules(frame)
        except LocalProtocolError as error:
            raise LinkFault(self, amqp.AmqpError.INVALID_FIELD, str(error)) from None

    def _note_attach(self, handle: int, frame: amqp.Attach) -> None:
        self._remote_handle = handle
        self.remote_attach = frame

    def _updated(self, delivery: Any, settled: bool) -> None:
        """The peer told the state of a delivery."""
        self.session.connection._emit(
            events.DeliveryUpdated(self, delivery, delivery.remote_state, settled)
        )

    def _is_errant(self) -> bool:
        """Whether input has to be passed over, since this end has detached.

        Raises:
            SessionFault: it detached with an error, and the peer goes on.
        """
        if self.state != "DETACH_SENT":
            return False
        if self._errant and self.session.connection._limits.after_detach == "end":
            raise SessionFault(
                amqp.SessionError.ERRANT_LINK, "input came for a link detached with an error"
            )
        return True

    def _take_flow(self, frame: amqp.Flow) -> None:
        raise NotImplementedError

    def _take_transfer(self, frame: amqp.Transfer) -> None:
        raise NotImplementedError

    def _take_detach(self, frame: amqp.Detach) -> None:
        by_peer = self.state != "DETACH_SENT"
        if by_peer:
            if self.state == "ATTACH_RCVD":
                self._answer_attach()
            self._detach(None, frame.closed)
        error = frame.error if by_peer or self._error is None else self._error
        self._unmap()
        self._over(error, "remote" if by_peer else "local", frame.closed or self._closed)

    def _can_refuse(self) -> bool:
        """Whether the peer's frames hold an attach of this end without source and target."""
        most = 4 * len(self.name) + _ROOM_FOR_ATTACH  # a character takes 4 bytes at most
        return most <= self.session.connection._frame_size or self._can_answer(None, None)

    def _can_answer(self, source: Any, target: Any) -> bool:
        """Whether the peer's frames hold this end's attach with that source and target."""
        role = amqp.Role.SENDER if self.sends else amqp.Role.RECEIVER
        options = {"source": source, "target": target}
        self._complete(options)
        frame = amqp.Attach(self.name, self.handle, role, **options)
        size = len(amqp.encode(0, frame)) + _ROOM_FOR_MODES
        return size <= self.session.connection._frame_size

    def _answer_attach(self) -> None:
        """Attach only to detach."""
        if self.session.state == "BEGIN_RCVD":
            self.session._answer_to_end()
        self._attach({}, source=None, target=None)

    # --- ends -------------------------------------------------------------------------------------

    def _fail(self, condition: str, text: str) -> None:
        """Detach for a mistake of the peer."""
        if self.state in ("DETACH_SENT", "DETACHED"):
            return
        error = error_of(condition, text[:200])
        if self.session.state in ("END_SENT", "DISCARDING", "UNMAPPED"):
            self._over(error, closed_by="local", closed=True)
            return
        if self.state == "ATTACH_RCVD":
            self._answer_attach()
        self._detach(error, closed=True)
        self._tell_end(error, closed_by="local", closed=True)

    def _over(self, error: amqp.Error | None, closed_by: ClosedBy, closed: bool) -> None:
        """The link is gone: detached on both sides, or its session is over."""
        if self.state not in ("DETACH_SENT", "DETACHED"):
            links = self.session.connection._links
            if links.get((self.name, self.sends)) is self:
                del links[self.name, self.sends]
            self._release()
        self.state = "DETACHED"
        self._tell_end(error, closed_by, closed)

    def _tell_end(self, error: amqp.Error | None, closed_by: ClosedBy, closed: bool) -> None:
        if not self._told_end:
            self._told_end = True
            self.session.connection._emit(events.LinkClosed(self, closed, error, closed_by))

    def _unmap(self) -> None:
        """Both ends are detached: the handles are free again."""
        if self.handle is not None:
            self.session._unmap_handle(self.handle)
        if self._remote_handle is not None:
            self.session._by_remote.pop(self._remote_handle, None)


def _map_state(unsettled: Any) -> Any:
    """What an unsettled map says of a delivery; a state stands for itself."""
    return getattr(unsettled, "_map_state", unsettled)


def _without_dynamic(terminus: Any) -> Any:
    """The other end's terminus for an answer: only the end that makes a node says that it did."""
    if not getattr(terminus, "dynamic", False):
        return terminus
    return terminus.__replace__(dynamic=None, dynamic_node_properties=None)


def _check_rules(frame: amqp.Attach) -> None:
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
