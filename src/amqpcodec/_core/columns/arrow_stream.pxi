# Arrow's C Data Interface: its structs, and a stream of one batch, made of a batch in its capsules.

from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_IsValid, PyCapsule_New

cdef extern from "errno.h" nogil:
    enum:
        NO_MEMORY_ERRNO "ENOMEM"

# What a stream gives: the schema as often as it is asked for, the batch once.
cdef struct OneBatch:
    ArrowSchema schema
    ArrowArray batch


cdef void release_copy(ArrowSchema* s) noexcept nogil:
    """Of a copied schema; it may be half made."""
    cdef int64_t i
    for i in range(s.n_children):
        if s.children[i] != NULL and s.children[i].release != NULL:
            s.children[i].release(s.children[i])
    if s.children != NULL:
        free(s.children[0])
    free(s.children)
    free(s.private_data)
    s.release = NULL


cdef int copy_schema(const ArrowSchema* from_, ArrowSchema* to) noexcept nogil:
    """A schema of ours all the way down, which needs no GIL; -1 where there is no memory."""
    cdef size_t name = strlen(from_.name) + 1, format_ = strlen(from_.format) + 1
    cdef ArrowSchema* child
    cdef int64_t i
    memset(to, 0, sizeof(ArrowSchema))
    to.private_data = malloc(name + format_)
    if to.private_data == NULL:
        return -1
    memcpy(to.private_data, from_.name, name)
    memcpy(<char*>to.private_data + name, from_.format, format_)
    to.name = <const char*>to.private_data
    to.format = to.name + name
    to.metadata = from_.metadata        # ours never goes away
    to.flags = from_.flags
    to.release = release_copy
    if from_.n_children == 0:
        return 0
    to.children = <ArrowSchema**>calloc(<size_t>from_.n_children, sizeof(ArrowSchema*))
    child = <ArrowSchema*>calloc(<size_t>from_.n_children, sizeof(ArrowSchema))
    if to.children == NULL or child == NULL:
        free(child)
        release_copy(to)
        return -1
    to.n_children = from_.n_children
    for i in range(from_.n_children):
        to.children[i] = &child[i]
    for i in range(from_.n_children):
        if copy_schema(from_.children[i], &child[i]) < 0:
            release_copy(to)
            return -1
    return 0


cdef int stream_schema(ArrowArrayStream* s, ArrowSchema* out) noexcept nogil:
    if copy_schema(&(<OneBatch*>s.private_data).schema, out) < 0:
        return NO_MEMORY_ERRNO
    return 0


cdef int stream_next(ArrowArrayStream* s, ArrowArray* out) noexcept nogil:
    cdef OneBatch* one = <OneBatch*>s.private_data
    out[0] = one.batch          # moved; a released one is the end
    one.batch.release = NULL
    return 0


cdef const char* stream_error(ArrowArrayStream* s) noexcept nogil:
    return NULL


cdef void release_stream(ArrowArrayStream* s) noexcept nogil:
    cdef OneBatch* one = <OneBatch*>s.private_data
    if one.schema.release != NULL:
        one.schema.release(&one.schema)
    if one.batch.release != NULL:
        one.batch.release(&one.batch)
    free(one)
    s.release = NULL


cdef void free_stream_capsule(object capsule) noexcept:
    cdef ArrowArrayStream* s = <ArrowArrayStream*>PyCapsule_GetPointer(capsule, "arrow_array_stream")
    if s.release != NULL:
        s.release(s)
    free(s)


cdef object stream_capsule(object schema, object array):
    """A stream of the batch in these capsules, which are ours, and empty afterwards."""
    cdef ArrowSchema* from_schema = <ArrowSchema*>PyCapsule_GetPointer(schema, "arrow_schema")
    cdef ArrowArray* from_array = <ArrowArray*>PyCapsule_GetPointer(array, "arrow_array")
    cdef ArrowArrayStream* s = <ArrowArrayStream*>calloc(1, sizeof(ArrowArrayStream))
    cdef OneBatch* one = <OneBatch*>calloc(1, sizeof(OneBatch))
    if s == NULL or one == NULL:
        free(s)
        free(one)
        raise MemoryError
    one.schema = from_schema[0]
    from_schema.release = NULL
    one.batch = from_array[0]
    from_array.release = NULL
    s.private_data = one
    s.get_schema = stream_schema
    s.get_next = stream_next
    s.get_last_error = stream_error
    s.release = release_stream
    try:
        return PyCapsule_New(s, "arrow_array_stream", free_stream_capsule)
    except BaseException:
        release_stream(s)
        free(s)
        raise


# ---- streams of others ----

cdef ArrowArrayStream* begin_stream(object capsule, ArrowSchema* schema) except NULL:
    """The stream of a capsule, which keeps it, and its schema, which the caller releases."""
    cdef ArrowArrayStream* stream
    cdef int failed
    if not PyCapsule_IsValid(capsule, "arrow_array_stream"):
        raise TypeError("__arrow_c_stream__ must return a capsule arrow_array_stream")
    stream = <ArrowArrayStream*>PyCapsule_GetPointer(capsule, "arrow_array_stream")
    if stream.release == NULL:
        raise ValueError("the Arrow stream was released already")
    memset(schema, 0, sizeof(ArrowSchema))
    failed = stream.get_schema(stream, schema)
    if failed:
        raise_of_stream(stream, failed)
    return stream


cdef bint next_array(ArrowArrayStream* stream, ArrowArray* a) except -1:
    """Whether a stream has another array, which the caller releases."""
    cdef int failed
    memset(a, 0, sizeof(ArrowArray))
    failed = stream.get_next(stream, a)
    if failed:
        raise_of_stream(stream, failed)
    return a.release != NULL


cdef int raise_of_stream(ArrowArrayStream* stream, int code) except -1:
    cdef const char* text = stream.get_last_error(stream)
    raise ValueError("the Arrow stream failed: "
                     + (f"error {code}" if text == NULL else text.decode("utf-8", "replace")))
