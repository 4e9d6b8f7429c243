# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, binding=False, embedsignature=True, embedsignature.format=clinic
# cython: freethreading_compatible=True, auto_pickle=False
# What other modules, and the files of this one, use of _codec: declarations alone, in the order of its files.

include "_core/wire/python.pxd"

include "_core/wire/wire.pxd"
include "_core/wire/buffer.pxd"
include "_core/wire/value.pxd"
include "_gen/constants.pxd"
include "_core/wire/errors.pxd"
include "_core/wire/frame.pxd"
include "_core/tables/check.pxd"
include "_core/tables/read.pxd"
include "_core/tables/write.pxd"
include "_core/objects/message_class.pxd"
include "_core/objects/legacy.pxd"
include "_core/objects/objects.pxd"
include "_core/objects/bases.pxd"
include "_core/protocol/options.pxd"
include "_core/protocol/descs.pxd"
include "_core/protocol/core.pxd"
include "_core/protocol/content.pxd"
include "_core/protocol/frame_write.pxd"
include "_core/protocol/protocol.pxd"
include "_core/protocol/stream.pxd"
include "_core/protocol/messages.pxd"
