// SPDX-License-Identifier: MIT
//
// The table of chips.
#include "base/soc.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

static const qrn_soc socs[] = {
#define SOC(id, name, aliases, arch, vtcm, hvx, hmx, cores, fp16, dlbc, spd, slc)                  \
    {id, name, aliases, arch, vtcm, hvx, hmx, cores, fp16, dlbc, spd, slc},
#define ARCH(...)
#include "base/socs.def"
#undef ARCH
#undef SOC
};

static const qrn_soc archs[] = {
#define SOC(...)
#define ARCH(arch, name, vtcm, hvx, hmx, fp16, dlbc)                                               \
    {0, name, "", arch, vtcm, hvx, hmx, 1, fp16, dlbc, true, false},
#include "base/socs.def"
#undef ARCH
#undef SOC
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

const qrn_soc *qrn_soc_at(uint32_t i) { return i < COUNT(socs) ? &socs[i] : NULL; }

const qrn_soc *qrn_soc_by_id(uint32_t id) {
    for (size_t i = 0; i < COUNT(socs); i++)
        if (socs[i].id == id)
            return &socs[i];
    return NULL;
}

const qrn_soc *qrn_soc_of_arch(uint32_t arch) {
    for (size_t i = 0; i < COUNT(archs); i++)
        if (archs[i].arch == arch)
            return &archs[i];
    return NULL;
}

// Is `name` one of the words of `list`?
static bool has_word(const char *list, const char *name) {
    size_t n = strlen(name);
    for (const char *p = list; *p;) {
        size_t word = strcspn(p, " ");
        if (word == n && strncasecmp(p, name, n) == 0)
            return true;
        p += word;
        p += strspn(p, " ");
    }
    return false;
}

const qrn_soc *qrn_soc_by_name(const char *name) {
    for (size_t i = 0; i < COUNT(socs); i++)
        if (strcasecmp(socs[i].name, name) == 0 || has_word(socs[i].aliases, name))
            return &socs[i];
    return NULL;
}

const char *qrn_soc_warning(uint32_t i) {
    (void)i;
    return NULL;
}
