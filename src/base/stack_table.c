// SPDX-License-Identifier: MIT
#include "base/stack_table.h"

#include <link.h>
#include <string.h>

#define MOST_SLOTS 256u // more than any table has

typedef struct search {
    uintptr_t address;
    bool found;
} search;

// Is the address in code of this object?
static int in_code(struct dl_phdr_info *info, size_t size, void *arg) {
    (void)size;
    search *s = arg;
    for (int i = 0; i < info->dlpi_phnum && !s->found; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        s->found = p->p_type == PT_LOAD && (p->p_flags & PF_X) &&
                   s->address - (info->dlpi_addr + p->p_vaddr) < p->p_memsz;
    }
    return s->found;
}

static bool is_code(uint64_t word) {
    search s = {.address = (uintptr_t)word};
    return word && dl_iterate_phdr(in_code, &s) != 0;
}

bool qrn_stack_table(va_list *args, unsigned n_head, uint64_t *words, unsigned n_words,
                     uint64_t *behind) {
    memset(words, 0, n_words * sizeof *words);
    for (unsigned i = 0; i < n_head; i++)
        words[i] = va_arg(*args, uint64_t);
    for (unsigned i = n_head; i < n_head + MOST_SLOTS; i++) {
        uint64_t word = va_arg(*args, uint64_t);
        if (!is_code(word)) {
            *behind = word;
            return true;
        }
        if (i < n_words)
            words[i] = word;
    }
    return false;
}
