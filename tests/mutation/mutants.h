/* Which mutant a process runs, and which sites it has reached: a set for each module. */
#ifndef AMQPCODEC_MUTANTS_H
#define AMQPCODEC_MUTANTS_H

/* Python.h, which comes later, defines it too: no header of the system may come before. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <stdlib.h>

int mutant_selected = -1;
unsigned char mutant_seen[@count@];

static __attribute__((constructor)) void mutant_ask(void) {
    const char *number = getenv("AMQPCODEC_MUTANT");
    if (number) mutant_selected = atoi(number);
}

static inline int mutant(int k) {
    mutant_seen[k] = 1;
    return k == mutant_selected;
}

#endif
