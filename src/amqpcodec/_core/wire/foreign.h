/* Other protocols on AMQP's port: an HTTP or TLS client at a broker, a web server at a client. */
#ifndef AMQPCODEC_FOREIGN_H
#define AMQPCODEC_FOREIGN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* As many bytes as the shortest that is recognised, a TLS alert, and the beginning of any AMQP frame. */
#define FOREIGN_BYTES 7

/* The lowest first byte of any. */
#define FOREIGN_LEAST 0x10

/* Whether FOREIGN_BYTES bytes begin an MQTT CONNECT: its type, a length of 1 to 4 bytes, a name. */
static inline int begins_mqtt(const uint8_t *p) {
    static const char *const names[] = {"\0\4MQTT", "\0\6MQIsdp"};
    size_t at = 1, i;
    if (p[0] != 0x10) return 0;
    while (at < 4 && p[at] & 0x80) at++;
    at++;
    for (i = 0; i < 2; i++)
        if (memcmp(p + at, names[i], FOREIGN_BYTES - at) == 0) return 1;
    return 0;
}

/* The protocol that a stream of FOREIGN_BYTES or more bytes begins with: "HTTP", "TLS", "MQTT", "STOMP" or "SSH".
   NULL for any other, AMQP included; "" where the eighth byte decides ("CONNECT" is HTTP or STOMP). */
static inline const char *foreign_protocol(const uint8_t *p, size_t n) {
    static const char *const texts[][2] = {
        {"HTTP/", "HTTP"},     {"GET ", "HTTP"},      {"POST ", "HTTP"},   {"PUT ", "HTTP"},
        {"HEAD ", "HTTP"},     {"DELETE ", "HTTP"},   {"OPTIONS", "HTTP"}, {"PATCH ", "HTTP"},
        {"TRACE ", "HTTP"},    {"CONNECT ", "HTTP"},  {"PRI * H", "HTTP"}, {"CONNECT\n", "STOMP"},
        {"CONNECT\r", "STOMP"}, {"CONNECTE", "STOMP"}, {"STOMP\n", "STOMP"}, {"STOMP\r\n", "STOMP"},
        {"ERROR\n", "STOMP"},  {"ERROR\r\n", "STOMP"}, {"SSH-", "SSH"},
    };
    size_t i;
    if (n < FOREIGN_BYTES) return NULL;
    if (p[0] >= 0x14 && p[0] <= 0x17 && p[1] == 3 && p[2] <= 4) return "TLS";
    if (begins_mqtt(p)) return "MQTT";
    for (i = 0; i < sizeof texts / sizeof *texts; i++) {
        size_t size = strlen(texts[i][0]);
        if (memcmp(p, texts[i][0], n < size ? n : size) == 0)
            return n < size ? "" : texts[i][1];
    }
    return NULL;
}

#endif
