/* libFuzzer looks for a mutator when it is loaded, which is before Python: atheris' own comes too late. */

#include <stddef.h>
#include <stdint.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most) __attribute__((weak));

/* atheris' own, once it is there. */
size_t (*late_mutator)(uint8_t *data, size_t size, size_t most, unsigned int seed);

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned int seed) {
    return late_mutator ? late_mutator(data, size, most, seed) : LLVMFuzzerMutate(data, size, most);
}
