# Which methods say that something happened, and where their arguments stand: by name, so for each version.

# The order is that of EVENT_METHODS.
cdef enum:
    ON_OTHER
    ON_START
    ON_START_OK
    ON_TUNE_OK
    ON_CONNECTION_OPEN
    ON_CONNECTION_OPEN_OK
    ON_CONNECTION_CLOSE
    ON_CONNECTION_CLOSE_OK
    ON_BLOCKED
    ON_UNBLOCKED
    ON_CHANNEL_OPEN
    ON_CHANNEL_OPEN_OK
    ON_CHANNEL_FLOW
    ON_CHANNEL_CLOSE
    ON_CHANNEL_CLOSE_OK
    ON_QUEUE_DECLARE            # requests of a channel, from here to ON_ROLLBACK
    ON_QUEUE_BIND
    ON_QUEUE_UNBIND
    ON_QUEUE_PURGE
    ON_QUEUE_DELETE
    ON_EXCHANGE_DECLARE
    ON_EXCHANGE_DELETE
    ON_EXCHANGE_BIND
    ON_EXCHANGE_UNBIND
    ON_CONSUME
    ON_CANCEL
    ON_GET
    ON_CONFIRM_SELECT
    ON_QOS
    ON_RECOVER
    ON_ACCESS
    ON_TX_SELECT
    ON_COMMIT
    ON_ROLLBACK
    ON_QUEUE_DECLARE_OK         # their replies, in the same order
    ON_QUEUE_BIND_OK
    ON_QUEUE_UNBIND_OK
    ON_QUEUE_PURGE_OK
    ON_QUEUE_DELETE_OK
    ON_EXCHANGE_DECLARE_OK
    ON_EXCHANGE_DELETE_OK
    ON_EXCHANGE_BIND_OK
    ON_EXCHANGE_UNBIND_OK
    ON_CONSUME_OK
    ON_CANCEL_OK
    ON_GET_OK
    ON_CONFIRM_SELECT_OK
    ON_QOS_OK
    ON_RECOVER_OK
    ON_ACCESS_OK
    ON_TX_SELECT_OK
    ON_COMMIT_OK
    ON_ROLLBACK_OK
    ON_GET_EMPTY
    ON_PUBLISH
    ON_RETURN
    ON_DELIVER
    ON_ACK
    ON_NACK
    ON_REJECT
    ON_RECOVER_ASYNC
    N_EVENT_METHODS

cdef tuple EVENT_METHODS = (
    "", "connection.start", "connection.start-ok", "connection.tune-ok", "connection.open", "connection.open-ok",
    "connection.close", "connection.close-ok", "connection.blocked", "connection.unblocked", "channel.open",
    "channel.open-ok", "channel.flow", "channel.close", "channel.close-ok", "queue.declare", "queue.bind",
    "queue.unbind", "queue.purge", "queue.delete", "exchange.declare", "exchange.delete", "exchange.bind",
    "exchange.unbind", "basic.consume", "basic.cancel", "basic.get", "confirm.select", "basic.qos", "basic.recover",
    "access.request", "tx.select", "tx.commit", "tx.rollback", "queue.declare-ok", "queue.bind-ok", "queue.unbind-ok",
    "queue.purge-ok", "queue.delete-ok", "exchange.declare-ok", "exchange.delete-ok", "exchange.bind-ok",
    "exchange.unbind-ok", "basic.consume-ok", "basic.cancel-ok", "basic.get-ok", "confirm.select-ok", "basic.qos-ok",
    "basic.recover-ok", "access.request-ok", "tx.select-ok", "tx.commit-ok", "tx.rollback-ok", "basic.get-empty",
    "basic.publish", "basic.return", "basic.deliver", "basic.ack", "basic.nack", "basic.reject", "basic.recover-async")

# Arguments, in the order of EVENT_ARGUMENTS; from ARG_MESSAGE_ID on they are properties.
cdef enum:
    ARG_QUEUE
    ARG_EXCHANGE
    ARG_ROUTING_KEY
    ARG_CONSUMER_TAG
    ARG_DELIVERY_TAG
    ARG_MULTIPLE
    ARG_REQUEUE
    ARG_NO_WAIT
    ARG_NO_ACK
    ARG_PASSIVE
    ARG_DURABLE
    ARG_EXCLUSIVE
    ARG_AUTO_DELETE
    ARG_TYPE
    ARG_SOURCE
    ARG_DESTINATION
    ARG_REDELIVERED
    ARG_REPLY_CODE
    ARG_REPLY_TEXT
    ARG_CLASS_ID
    ARG_METHOD_ID
    ARG_MESSAGE_COUNT
    ARG_HEARTBEAT
    ARG_VIRTUAL_HOST
    ARG_REASON
    ARG_ACTIVE
    ARG_MANDATORY
    ARG_IMMEDIATE
    ARG_RESPONSE
    ARG_MECHANISM
    ARG_CLIENT_PROPERTIES
    ARG_ARGUMENTS
    ARG_MESSAGE_ID
    ARG_CORRELATION_ID
    ARG_HEADERS
    N_EVENT_ARGUMENTS

cdef tuple EVENT_ARGUMENTS = (
    "queue", "exchange", "routing_key", "consumer_tag", "delivery_tag", "multiple", "requeue", "no_wait", "no_ack",
    "passive", "durable", "exclusive", "auto_delete", "type", "source", "destination", "redelivered", "reply_code",
    "reply_text", "class_id", "method_id", "message_count", "heartbeat", "virtual_host", "reason", "active",
    "mandatory", "immediate", "response", "mechanism", "client_properties", "arguments", "message_id", "correlation_id",
    "headers")

# A method, and the place of each argument among its own, or -1.
cdef struct EventMethod:
    uint8_t on
    int8_t[N_EVENT_ARGUMENTS] place


cdef void find_arguments(const Desc* d, EventMethod* m, int first, int end):
    cdef int i, k
    for i in range(d.n):
        name = d.field[i].decode().replace("nowait", "no_wait")
        for k in range(first, end):
            if EVENT_ARGUMENTS[k] == name and d.op[i].wire_type != W_CONTENT:
                m.place[k] = <int8_t>i


cdef EventMethod* new_event_methods(const Desc* descs, int n) except NULL:
    """Of each descriptor of a protocol; the caller frees it."""
    cdef EventMethod* methods = <EventMethod*>calloc(<size_t>max(n, 1), sizeof(EventMethod))
    cdef dict numbers = {name: number for number, name in enumerate(EVENT_METHODS)}
    cdef int i
    if methods == NULL:
        raise MemoryError
    for i in range(n):
        methods[i].on = <uint8_t>numbers.get(descs[i].name.decode(), ON_OTHER)
        memset(methods[i].place, -1, N_EVENT_ARGUMENTS)
        find_arguments(&descs[i], &methods[i], 0, ARG_MESSAGE_ID)
        if descs[i].has_content and descs[i].properties != NULL:
            find_arguments(descs[i].properties, &methods[i], ARG_MESSAGE_ID, N_EVENT_ARGUMENTS)
    return methods
