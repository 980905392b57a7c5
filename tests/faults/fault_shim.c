// SPDX-License-Identifier: MIT
//
// Faults for whole programs: a library for LD_PRELOAD that stands before the C library's allocation
// and I/O calls and makes some of them fail. It reaches what no hook inside Quern does: libpng,
// jansson, the C library's own streams and the dynamic linker.
//
//     FAULT_ALLOC=n        allocation n fails (1 = the first); n+ : all from it on
//     FAULT_READ, FAULT_WRITE=what
//                          short: half of what was asked for; eintr: every second call is
//                          interrupted; ERRNO@n: fails with this number once n bytes are through
//     FAULT_IN=text        only allocations made by a library whose path holds the text
//     FAULT_COUNT=file     at exit, the number of allocations seen is written there
//
// Allocations are malloc and its relatives, mmap without a file, and threads. Children are left
// alone: the shim takes itself out of the environment. Only for the GNU C library.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SHOWN __attribute__((visibility("default")))

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t align, size_t n);

static bool ready; // the environment has been read
static uint64_t fail_at;
static bool fail_forever;
static char only_in[256];
static char count_file[4096];
static atomic_uint_fast64_t n_allocs;

typedef struct flow {
    bool halved, interrupted;
    int error; // after `left` bytes
    atomic_llong left;
    atomic_uint calls;
} flow;

static flow reads, writes;

static void flow_read(flow *f, const char *text) {
    if (!text)
        return;
    const char *at = strchr(text, '@');
    f->halved = strcmp(text, "short") == 0;
    f->interrupted = strcmp(text, "eintr") == 0;
    f->error = at ? atoi(text) : 0;
    atomic_init(&f->left, at ? atoll(at + 1) : 0);
}

static void copy_env(const char *name, char *to, size_t size) {
    const char *text = getenv(name);
    snprintf(to, size, "%s", text ? text : "");
}

__attribute__((constructor)) static void start(void) {
    const char *alloc = getenv("FAULT_ALLOC");
    flow_read(&reads, getenv("FAULT_READ"));
    flow_read(&writes, getenv("FAULT_WRITE"));
    copy_env("FAULT_IN", only_in, sizeof only_in);
    copy_env("FAULT_COUNT", count_file, sizeof count_file);
    char *end = NULL;
    fail_at = alloc ? strtoull(alloc, &end, 10) : 0;
    fail_forever = end && *end == '+';
    unsetenv("LD_PRELOAD");
    ready = true;
}

__attribute__((destructor)) static void stop(void) {
    if (!count_file[0])
        return;
    ready = false;
    char text[32];
    int n = snprintf(text, sizeof text, "%llu\n", (unsigned long long)atomic_load(&n_allocs));
    int fd = open(count_file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd >= 0 && syscall(SYS_write, fd, text, (size_t)n) == n)
        close(fd);
}

// --- allocations

// Was the call made from a library that is meant? Answers are kept by return address.
static bool is_meant(const void *caller) {
    enum { ROOM = 1 << 14 };
    static _Atomic(uintptr_t) known[ROOM]; // address << 1 | answer
    uintptr_t a = (uintptr_t)caller, k = atomic_load(&known[a % ROOM]);
    if (k >> 1 == a)
        return k & 1;
    Dl_info info;
    bool yes = dladdr(caller, &info) && info.dli_fname && strstr(info.dli_fname, only_in);
    atomic_store(&known[a % ROOM], a << 1 | yes);
    return yes;
}

static bool fails(const void *caller) {
    if (!ready || (only_in[0] && !is_meant(caller)))
        return false;
    uint64_t n = atomic_fetch_add(&n_allocs, 1) + 1;
    if (!fail_at || (fail_forever ? n < fail_at : n != fail_at))
        return false;
    errno = ENOMEM;
    return true;
}

// For hosts that open the shim themselves: counts from here on, and lets allocation n fail (0:
// none).
SHOWN void fault_arm(uint64_t n, bool forever);
SHOWN void fault_arm(uint64_t n, bool forever) {
    fail_forever = forever;
    atomic_store(&n_allocs, 0);
    fail_at = n;
}

SHOWN uint64_t fault_seen(void);
SHOWN uint64_t fault_seen(void) { return atomic_load(&n_allocs); }

#define FAILS() fails(__builtin_return_address(0))

SHOWN void *malloc(size_t n) { return FAILS() ? NULL : __libc_malloc(n); }
SHOWN void *calloc(size_t n, size_t size) { return FAILS() ? NULL : __libc_calloc(n, size); }
SHOWN void *realloc(void *p, size_t n) { return FAILS() ? NULL : __libc_realloc(p, n); }
SHOWN void *memalign(size_t align, size_t n) { return FAILS() ? NULL : __libc_memalign(align, n); }

SHOWN void *aligned_alloc(size_t align, size_t n) {
    return FAILS() ? NULL : __libc_memalign(align, n);
}

SHOWN int posix_memalign(void **out, size_t align, size_t n) {
    void *p = FAILS() ? NULL : __libc_memalign(align, n);
    if (p)
        *out = p;
    return p ? 0 : ENOMEM;
}

SHOWN void *reallocarray(void *p, size_t n, size_t size) {
    size_t bytes;
    if (FAILS() || __builtin_mul_overflow(n, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return __libc_realloc(p, bytes);
}

SHOWN void *mmap(void *at, size_t n, int prot, int flags, int fd, off_t offset) {
    if (fd < 0 && FAILS())
        return MAP_FAILED;
    return (void *)syscall(SYS_mmap, at, n, prot, flags, fd, offset);
}

SHOWN void *mmap64(void *at, size_t n, int prot, int flags, int fd, off_t offset)
    __attribute__((alias("mmap")));

SHOWN int pthread_create(pthread_t *out, const pthread_attr_t *attr, void *(*run)(void *),
                         void *arg) {
    static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    return FAILS() ? EAGAIN : real(out, attr, run, arg);
}

// --- I/O

// How many of n bytes may pass; -1 with errno when the call fails.
static ssize_t allowed(flow *f, size_t n) {
    if (!ready || n == 0)
        return (ssize_t)n;
    if (f->interrupted && atomic_fetch_add(&f->calls, 1) % 2 == 0) {
        errno = EINTR;
        return -1;
    }
    if (f->halved)
        return (ssize_t)((n + 1) / 2);
    if (!f->error)
        return (ssize_t)n;
    long long left = atomic_load(&f->left);
    if (left <= 0) {
        errno = f->error;
        return -1;
    }
    size_t pass = n < (size_t)left ? n : (size_t)left;
    atomic_fetch_sub(&f->left, (long long)pass);
    return (ssize_t)pass;
}

#define PASS(flow, number, fd, ...)                                                                \
    ssize_t pass = fd > STDERR_FILENO ? allowed(&flow, n) : (ssize_t)n;                            \
    return pass < 0 ? -1 : syscall(number, fd, p, (size_t)pass __VA_ARGS__)

SHOWN ssize_t read(int fd, void *p, size_t n) { PASS(reads, SYS_read, fd, ); }
SHOWN ssize_t write(int fd, const void *p, size_t n) { PASS(writes, SYS_write, fd, ); }
#define COMMA ,
SHOWN ssize_t pread(int fd, void *p, size_t n, off_t at) { PASS(reads, SYS_pread64, fd, COMMA at); }
SHOWN ssize_t pwrite(int fd, const void *p, size_t n, off_t at) {
    PASS(writes, SYS_pwrite64, fd, COMMA at);
}
SHOWN ssize_t pread64(int fd, void *p, size_t n, off_t at) __attribute__((alias("pread")));
SHOWN ssize_t pwrite64(int fd, const void *p, size_t n, off_t at) __attribute__((alias("pwrite")));
