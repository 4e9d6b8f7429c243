# What other files use of arrow_out.pxi.

# What all children of an array or a schema lie in: one block, which goes with the last of them, as a
# consumer may have moved a child out of it.
cdef struct Family:
    Atomic refs             # the parent's, and one for each child that was made

# One array of the tree: the struct's own memory, and its hold on the table.
cdef struct Node:
    Table* table
    Family* home            # in which it lies
    Family* kids            # or NULL
    const void* buffers[3]
    const void* few[12]     # of views: theirs, and after them the sizes of those
    const void** many       # of more of them than that

cdef int begin_array(Table* t, ArrowArray* a, int64_t n_children) noexcept nogil
cdef int export_column(Table* t, int index, ArrowArray* a) noexcept nogil
cdef uint8_t[4 + 4 + 7 + 4 + 4] VARIANT_MARK       # {"variant": "true"}, as the interface has it
cdef object array_capsule(ArrowArray** a)
cdef object schema_capsule(tuple children, str format_=*)

@cython.final
cdef class Schema:
    cdef tuple columns

# What batches are: columns, in a struct.
cdef class StructArray:
    cdef tuple columns
    cdef str public_name(self)

@cython.final
cdef class Columns(StructArray):
    cdef Table* table
    cdef int* order
    cdef int n
    cdef tuple open_messages    # see decode_columns
