# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, binding=False, embedsignature=True, embedsignature.format=clinic
# cython: freethreading_compatible=True, auto_pickle=False
"""The codec: frames, field tables, message classes and decoders of AMQP 0-8, 0-9 and 0-9-1.

Root of the module: directives, what it uses of others, and its files in order; no logic.
"""

cimport cython

include "_core/wire/wire.pxi"
include "_core/wire/value.pxi"
include "_core/wire/errors.pxi"
include "_core/wire/frame.pxi"
include "_core/tables/check.pxi"
include "_core/tables/read.pxi"
include "_core/tables/write.pxi"
include "_core/tables/walk.pxi"
include "_core/objects/message_class.pxi"
include "_core/objects/legacy.pxi"
include "_core/objects/objects.pxi"
include "_core/objects/bases.pxi"
include "_core/objects/fast.pxi"
include "_gen/fast.pxi"
include "_core/protocol/options.pxi"
include "_core/protocol/descs.pxi"
include "_core/protocol/core.pxi"
include "_core/protocol/frame_write.pxi"
include "_core/protocol/frame_read.pxi"
include "_core/protocol/protocol.pxi"
include "_core/protocol/stream.pxi"
include "_core/protocol/messages.pxi"
