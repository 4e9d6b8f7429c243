/* What libFuzzer has to find before Python is there: the mutator, which it looks for when it is loaded, so that
   atheris' own comes too late; and whose edges count. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most) __attribute__((weak));

/* atheris' own, once it is there. */
size_t (*late_mutator)(uint8_t *data, size_t size, size_t most, unsigned int seed);

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned int seed) {
    return late_mutator ? late_mutator(data, size, most, seed) : LLVMFuzzerMutate(data, size, most);
}

/* Whether the edges of the module with this address count: AMQPCODEC_FUZZ_MODULE names the one of the core that
   does, where it is set. The package's Python has no module at its address. */
static int counts(const void *address) {
    const char *wanted = getenv("AMQPCODEC_FUZZ_MODULE");
    Dl_info found;
    return wanted == NULL || !dladdr(address, &found) || strstr(found.dli_fname, "/amqpcodec/_") == NULL
        || strstr(found.dli_fname, wanted) != NULL;
}

/* Each module calls both when it is loaded. */
void __sanitizer_cov_8bit_counters_init(uint8_t *start, uint8_t *stop) {
    void (*next)(uint8_t *, uint8_t *) = dlsym(RTLD_NEXT, __func__);
    if (counts(start))
        next(start, stop);
}

void __sanitizer_cov_pcs_init(const uintptr_t *start, const uintptr_t *stop) {
    void (*next)(const uintptr_t *, const uintptr_t *) = dlsym(RTLD_NEXT, __func__);
    if (counts(start))
        next(start, stop);
}
