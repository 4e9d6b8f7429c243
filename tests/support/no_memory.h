/* Allocations that fail, for tests: put before libc by LD_PRELOAD. Two kinds of them: those of code between
 * addresses that no_memory_watch() was told, and those of Python's objects. The one after `left` of a kind
 * gets NULL. */
#include <stddef.h>
#include <stdint.h>

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t count, size_t n);
void *__libc_realloc(void *p, size_t n);

enum { CORE, PYTHON };
static long left[2] = {-1, -1}; /* -1: none fails */
static struct { uintptr_t first, last; } watched[32];
static int ranges;

void no_memory_watch(uintptr_t first, uintptr_t last) {
    if (ranges < 32) {
        watched[ranges].first = first;
        watched[ranges++].last = last;
    }
}

void no_memory_begin(int kind, long after) { left[kind] = after; }

/* Whether it came to that. */
int no_memory_end(int kind) {
    int failed = left[kind] < 0;
    left[kind] = -1;
    return failed;
}

static int fails(const void *caller) {
    if (left[CORE] < 0) return 0;
    for (int i = 0; i < ranges; i++)
        if ((uintptr_t)caller - watched[i].first < watched[i].last - watched[i].first)
            return left[CORE]-- == 0;
    return 0;
}

void *malloc(size_t n) { return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(n); }

void *calloc(size_t count, size_t n) {
    return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(count, n);
}

void *realloc(void *p, size_t n) {
    return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(p, n);
}

/* PyMemAllocatorEx, as the C API manual has it. */
typedef struct {
    void *ctx;
    void *(*malloc)(void *, size_t);
    void *(*calloc)(void *, size_t, size_t);
    void *(*realloc)(void *, void *, size_t);
    void (*free)(void *, void *);
} Allocator;

static int object_fails(void) { return left[PYTHON] >= 0 && left[PYTHON]-- == 0; }

static void *object_malloc(void *ctx, size_t n) {
    Allocator *before = ctx;
    return object_fails() ? NULL : before->malloc(before->ctx, n);
}

static void *object_calloc(void *ctx, size_t count, size_t n) {
    Allocator *before = ctx;
    return object_fails() ? NULL : before->calloc(before->ctx, count, n);
}

static void *object_realloc(void *ctx, void *p, size_t n) {
    Allocator *before = ctx;
    return object_fails() ? NULL : before->realloc(before->ctx, p, n);
}

static void object_free(void *ctx, void *p) {
    Allocator *before = ctx;
    before->free(before->ctx, p);
}

/* PyMem_GetAllocator and PyMem_SetAllocator, which a library that comes before Python cannot name. */
void no_memory_hook(void (*get)(int, Allocator *), void (*set)(int, Allocator *)) {
    static Allocator before;
    Allocator hooked = {&before, object_malloc, object_calloc, object_realloc, object_free};
    get(2, &before); /* PYMEM_DOMAIN_OBJ */
    set(2, &hooked);
}
