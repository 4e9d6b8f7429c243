/* What can be wrong with bytes, or with values that become bytes: one line for each fault of either family.
 *
 * FAULT(code, class of amqpcodec.errors, condition of 1.0 or "", text). In a text {name} stands for a value of the
 * Fault; its first letter says which: fault_value() in wire/errors.pxi. */
#ifndef AMQPCODEC_FAULTS_H
#define AMQPCODEC_FAULTS_H

#include "v1_constants.h"

#define V1_DECODE "amqp:decode-error"
#define V1_FRAMING "amqp:connection:framing-error"
#define V1_RESOURCE "amqp:resource-limit-exceeded"

#define FAULTS(FAULT) \
    FAULT(OK, DecodeError, "", "") \
    FAULT(BAD_TRUNCATED, TruncatedError, V1_DECODE, "{what} needs {need} bytes, {have} remain (offset {offset})") \
    FAULT(BAD_TRAILING, TrailingError, V1_DECODE, "{have} bytes after the last field (offset {offset})") \
    FAULT(BAD_TAG, UnknownTagError, "", "unknown field table tag {byte} (offset {offset})") \
    FAULT(BAD_DEPTH, DepthError, V1_RESOURCE, "tables nested deeper than {levels} levels (offset {offset})") \
    FAULT(BAD_FRAME_END, FrameEndError, "", "frame ends with {byte}, not 0xce (offset {offset})") \
    FAULT(BAD_FRAME_SIZE, FrameTooLargeError, V1_FRAMING, \
          "frame of {need} bytes exceeds {what} {have} (offset {offset})") \
    FAULT(BAD_FRAME_TYPE, FrameTypeError, "", "frame type {type} is not defined (offset {offset})") \
    FAULT(BAD_HEARTBEAT, HeartbeatError, "", \
          "heartbeat on channel {channel} with {have} bytes of payload, must be 0 and none (offset {offset})") \
    FAULT(BAD_METHOD, UnknownMethodError, "", \
          "no method with class id {Class} and method id {Method} (offset {offset})") \
    FAULT(BAD_HEADER_CLASS, HeaderError, "", \
          "content header for class id {Class}, which carries no content (offset {offset})") \
    /* columns alone: Arrow text must be UTF-8 */ \
    FAULT(BAD_TEXT, DecodeError, "", "{what} is not UTF-8 (offset {offset})") \
    /* columns alone: a number that the column's type cannot hold */ \
    FAULT(BAD_RANGE, DecodeError, "", "{what} {need} does not fit the column (offset {offset})") \
    /* a frame that the grammar of content forbids */ \
    FAULT(BAD_ORDER, UnexpectedFrameError, "", "{what} (offset {offset})") \
    FAULT(BAD_CHANNEL, ChannelError, "", "content on channel 0 (offset {offset})") \
    FAULT(BAD_BODY_SIZE, ContentTooLargeError, "amqp:link:message-size-exceeded", \
          "body of {need} bytes exceeds max_body_size {have} (offset {offset})") \
    FAULT(BAD_INCOMPLETE, IncompleteError, V1_FRAMING, \
          "the stream ended inside {what}, {have} bytes into it (offset {offset})") \
    /* columns of captures alone: bytes that are no frame */ \
    FAULT(BAD_CAPTURE, DecodeError, "", "{have} bytes {what}") \
    /* 0-9's type content: neither inline nor a reference */ \
    FAULT(BAD_CONTENT, UnknownTagError, "", \
          "content is inline (0) or a reference (1), not {type} (offset {offset})") \
    /* columns of captures alone: a property of another version that has no column */ \
    FAULT(BAD_COLUMN, DecodeError, "", "no column for this property of {what} (offset {offset})") \
    /* more contents or deliveries are open at once than are wanted */ \
    FAULT(BAD_OPEN, ResourceLimitError, V1_RESOURCE, \
          "more than {have} {what} are open at once (offset {offset})") \
    /* columns alone: a number that a column of decimals cannot hold */ \
    FAULT(BAD_DIGITS, DecodeError, "", "{what} does not fit decimal({digits}) (offset {offset})") \
    /* encode from columns: `text` of the Fault says why */ \
    FAULT(BAD_VALUE, EncodeError, "", "") \
    FAULT(V1_BAD_CONSTRUCTOR, UnknownTagError, V1_DECODE, "no type has the constructor {byte} (offset {offset})") \
    /* size and count of a compound do not fit what it holds */ \
    FAULT(V1_BAD_SIZE, SizeError, V1_DECODE, "{what}: size and count do not fit what it holds (offset {offset})") \
    /* what: "string is not UTF-8", ... */ \
    FAULT(V1_BAD_TEXT, TextError, V1_DECODE, "{what} (offset {offset})") \
    /* what: the type that was due; byte: the constructor */ \
    FAULT(V1_BAD_FIELD, FieldError, V1_DECODE, "takes {what}, not {kind} ({byte}) (offset {offset})") \
    /* a value of the right type that the field's type does not have */ \
    FAULT(V1_BAD_VALUE, FieldError, "amqp:invalid-field", "{what} has no such choice (offset {offset})") \
    /* need: fields there are, have: at most */ \
    FAULT(V1_BAD_FIELDS, FieldError, V1_DECODE, "{need} fields, at most {have} are defined (offset {offset})") \
    /* zero-width elements beyond the limit */ \
    FAULT(V1_BAD_COUNT, SizeError, V1_RESOURCE, \
          "{need} elements without bytes exceed the limit of {have} (offset {offset})") \
    /* what: the rule */ \
    FAULT(V1_BAD_SECTION, SectionError, V1_DECODE, "{what} (offset {offset})") \
    /* a performative was due */ \
    FAULT(V1_BAD_DESCRIPTOR, UnknownMethodError, V1_DECODE, "no {what} has the descriptor {xneed} (offset {offset})") \
    /* what: the rule; need: the number that is there */ \
    FAULT(V1_BAD_ENVELOPE, FramingError, V1_FRAMING, "{what}, not {need} (offset {offset})") \
    FAULT(V1_BAD_TYPE, FrameTypeError, V1_FRAMING, "frame type {type} is not defined (offset {offset})") \
    /* what: the rule */ \
    FAULT(V1_BAD_ORDER, UnexpectedFrameError, "amqp:illegal-state", "{what} (offset {offset})")

#define FAULT_CODE(code, error, condition, text) code,
enum { FAULTS(FAULT_CODE) FAULT_CODES };
#undef FAULT_CODE

typedef struct {
    const char *error;     /* name of the class in amqpcodec.errors */
    const char *condition; /* that the specification of 1.0 has for it, or NULL */
    const char *text;
} FaultKind;

#define FAULT_KIND(code, error, condition, text) {#error, sizeof(condition) > 1 ? condition : NULL, text},
static const FaultKind FAULT_KINDS[FAULT_CODES] = {FAULTS(FAULT_KIND)};
#undef FAULT_KIND

/* What a constructor of 1.0 stands for. */
static inline const char *fault_type_name(uint8_t constructor) {
    return V1_NAMES[CTOR_WIRE_TYPE[constructor]];
}

#endif
