/* Which mutant a process runs, and which sites it has reached: a set for each module. */
#ifndef AMQPCODEC_MUTANTS_H
#define AMQPCODEC_MUTANTS_H

/* Python.h, which comes later, defines it too: no header of the system may come before. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <stdio.h>
#include <stdlib.h>

int mutant_selected = -1;
unsigned char mutant_seen[@count@];

static __attribute__((constructor)) void mutant_ask(void) {
    const char *number = getenv("AMQPCODEC_MUTANT");
    if (number) mutant_selected = atoi(number);
}

/* A process that a test starts says at its end which sites it has reached. */
static __attribute__((destructor)) void mutant_tell(void) {
    const char *path = getenv("AMQPCODEC_MUTANTS_SEEN");
    FILE *file = path ? fopen(path, "ab") : NULL;
    if (!file) return;
    fwrite(mutant_seen, 1, sizeof(mutant_seen), file);
    fclose(file);
}

static inline int mutant(int k) {
    mutant_seen[k] = 1;
    return k == mutant_selected;
}

#endif
