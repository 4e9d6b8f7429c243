# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, binding=False, embedsignature=True, embedsignature.format=clinic
# cython: freethreading_compatible=True, auto_pickle=False
# What other modules, and the files of this one, use of _dropins_v1: declarations alone, in the order of its files.

include "_core/wire/python.pxd"
