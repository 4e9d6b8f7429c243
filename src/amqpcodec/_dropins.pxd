# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, binding=False, embedsignature=True, embedsignature.format=clinic
# cython: freethreading_compatible=True, auto_pickle=False
# What other modules, and the files of this one, use of _dropins: declarations alone, in the order of its files.

cimport cython

include "_core/wire/python.pxd"

from amqpcodec._codec cimport PyTypeObject

include "_core/dropins/profile.pxd"
include "_core/dropins/class.pxd"
include "_core/dropins/method.pxd"
include "_core/dropins/codec.pxd"
