// SPDX-License-Identifier: MIT
//
// What the linker puts in the place of each allocating function (--wrap, src/tools/CMakeLists.txt).
#include "tools/quern/heap.h"

#include "base/status.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static atomic_bool failed;

bool qt_out_of_memory(void) { return atomic_load(&failed) || qrn_failed_for_memory(); }

void qt_note_no_memory(void) { atomic_store(&failed, true); }

static void *seen(void *p) {
    if (!p)
        qt_note_no_memory();
    return p;
}

// Functions that also fail for other reasons.
static void *seen_errno(void *p) {
    if (!p && errno == ENOMEM)
        qt_note_no_memory();
    return p;
}

// name, result, parameters, arguments, judgement
#define WRAP(name, type, parameters, arguments, judge)                                             \
    type __real_##name parameters;                                                                 \
    type __wrap_##name parameters;                                                                 \
    type __wrap_##name parameters { return judge(__real_##name arguments); }

WRAP(malloc, void *, (size_t n), (n), seen)
WRAP(calloc, void *, (size_t n, size_t size), (n, size), seen)
WRAP(realloc, void *, (void *p, size_t n), (p, n), seen)
WRAP(aligned_alloc, void *, (size_t align, size_t n), (align, n), seen)
WRAP(strdup, char *, (const char *s), (s), seen)
WRAP(strndup, char *, (const char *s, size_t n), (s, n), seen)
WRAP(realpath, char *, (const char *path, char *to), (path, to), seen_errno)
WRAP(fopen, FILE *, (const char *path, const char *mode), (path, mode), seen_errno)
WRAP(fdopen, FILE *, (int fd, const char *mode), (fd, mode), seen_errno)

char *qt_copy_text(const char *bytes, size_t n) {
    char *text = malloc(n + 1);
    if (text) {
        memcpy(text, bytes, n);
        text[n] = '\0';
    }
    return text;
}
