# py-amqp: what its own code does: frames that come in parts, and frames that nobody waits for.

cdef extern from "wire/python.h":
    object python_take_raised()

cdef extern from "dropins/instance.h":
    PyObject* raise_after(object cls, object before)


cdef PyObject* pyamqp_read_again(AmqpCodec codec, object transport, object raw,
                                 PyObject* got) except? NULL:
    """A frame by py-amqp's own code, after a socket gave these bytes and then something that is not
    the rest of a frame: `got`, which is taken over, or an exception that is set, where it is NULL.

    A socket that has nothing to read is the way of a client that looks for frames before it writes:
    then it is a timeout, as py-amqp has it.
    """
    cdef object outcome
    if got == NULL:
        outcome = python_take_raised()
        if (PyBytes_GET_SIZE(raw) == 0 and isinstance(outcome, OSError)
                and outcome.errno in codec.nothing_errors and transport.raise_on_initial_eintr):
            return raise_after(codec.transports.module.socket.timeout, outcome)
    else:
        outcome = <object>got
        Py_DecRef(got)
    codec.reason = "frame in parts"
    codec.fell_back()
    outcome = codec.transports.again(transport, raw, outcome)
    return Py_NewRef(<PyObject*>outcome)


cdef int pyamqp_unexpected(AmqpCodec codec, object frame_type, uint64_t wanted) except -1:
    raise codec.messages.framing.UnexpectedFrame(
        f"Received frame {frame_type} while expecting type: {wanted}")
