/* The one mutant of a module that is compiled with -DMUTANT=number; none for -1. */
#ifndef AMQPCODEC_ONE_MUTANT_H
#define AMQPCODEC_ONE_MUTANT_H

static inline __attribute__((always_inline)) int mutant(int k) { return k == MUTANT; }

#endif
