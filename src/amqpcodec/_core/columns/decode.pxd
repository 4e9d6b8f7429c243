# What other files use of decode.pxi.

cdef Columns new_columns(Request request, int64_t limit)

cdef int fill_columns(object protocol, Request request, Columns out, Values* values, int mode,
                      uintptr_t reading, bint borrow=*, tuple others=*, list held=*,
                      list progress=*) except -1
