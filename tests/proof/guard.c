// SPDX-License-Identifier: MIT
//
// Guarded memory: each slot is one mapping with a page that cannot be touched at either end, grown
// when more is asked for. A fault anywhere in the process prints the text of guard_say first.
#include "guard.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SLOTS 256

static struct slot {
    char *begin; // behind the first guard page
    size_t bytes;
} slots[SLOTS];

static char text[512];

static void on_fault(int number) {
    static const char head[] = "an access outside the operands: ";
    if (write(STDERR_FILENO, head, sizeof head - 1) < 0 ||
        write(STDERR_FILENO, text, strlen(text)) < 0 || write(STDERR_FILENO, "\n", 1) < 0)
        _exit(3);
    signal(number, SIG_DFL);
    raise(number);
}

void guard_say(const char *what) {
    snprintf(text, sizeof text, "%s", what);
    signal(SIGSEGV, on_fault); // every time: others set theirs
    signal(SIGBUS, on_fault);
}

static bool grow(struct slot *s, size_t bytes, size_t page) {
    size_t size = (bytes + page - 1) / page * page;
    if (s->begin)
        munmap(s->begin - page, s->bytes + 2 * page);
    *s = (struct slot){0};
    char *all =
        mmap(NULL, size + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED)
        return false;
    if (mprotect(all + page, size, PROT_READ | PROT_WRITE) != 0) {
        munmap(all, size + 2 * page);
        return false;
    }
    *s = (struct slot){all + page, size};
    return true;
}

void *guard_place(unsigned slot, size_t bytes, size_t align, guard_side side) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (slot >= SLOTS)
        return NULL;
    struct slot *s = &slots[slot];
    if ((!s->begin || bytes > s->bytes) && !grow(s, bytes ? 2 * bytes : 1, page))
        return NULL;
    if (side == GUARD_BEFORE)
        return s->begin;
    return (char *)((uintptr_t)(s->begin + s->bytes - bytes) & ~(uintptr_t)(align - 1));
}
