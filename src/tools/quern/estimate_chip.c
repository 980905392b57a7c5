// SPDX-License-Identifier: MIT
//
// Chips of estimates by what people call them; one that nobody measured borrows the constants of a
// relative, and says so.
#include "tools/quern/estimate.h"
#include "tools/quern/output.h"
#include "tools/quern/soc.h"

#include "base/soc.h"
#include "base/suggest.h"

#include <string.h>

#define MAX_NAMES 512

static int unknown_soc(const char *text) {
    const char *names[MAX_NAMES];
    char parts[4096];
    size_t n = 0, used = 0;
    const qd_chip *c;
    for (uint32_t i = 0; (c = qd_chip_at(i)); i++) {
        if (n < MAX_NAMES)
            names[n++] = c->name;
        for (const char *p = c->others; *p && n < MAX_NAMES && used < sizeof parts - 1;) {
            size_t len = strcspn(p, "|");
            names[n++] = parts + used;
            used += (size_t)snprintf(parts + used, sizeof parts - used, "%.*s", (int)len, p) + 1;
            p += len + (p[len] == '|');
        }
    }
    const qrn_soc *s;
    for (uint32_t i = 0; n < MAX_NAMES && (s = qrn_soc_at(i)); i++)
        names[n++] = s->name;
    const char *near = qrn_suggest(text, names, n);
    bool number = strspn(text, "0123456789") == strlen(text);
    for (size_t i = 0; !near && !number && i < n; i++) // "S25" of "Samsung Galaxy S25"
        near = strcasestr(names[i], text) ? names[i] : NULL;
    if (near)
        qt_error("--soc '%s': unknown SoC or device; did you mean '%s'?", text, near);
    else
        qt_error(
            "--soc '%s': unknown SoC or device; 'quern socs' lists them, --soc all uses every one",
            text);
    return QT_EXIT_USAGE;
}

const char *qt_chip_title(const qd_chip *c, char *buf, size_t size) {
    snprintf(buf, size, "%.*s", (int)strcspn(c->others, "|"), c->others);
    return buf;
}

int qt_find_target(const char *soc, uint64_t arch, qt_target *out) {
    const char *text = soc ? soc : QT_DEFAULT_SOC;
    *out = (qt_target){0};
    if (arch) {
        out->chip = qd_chip_of_arch((uint32_t)arch);
        if (!out->chip) {
            qt_error("--arch %llu: no published latencies of a SoC of this architecture; expected "
                     "68, 69, "
                     "73, 75, 79 or 81",
                     (unsigned long long)arch);
            return QT_EXIT_USAGE;
        }
        out->lent_to = "its architecture";
        out->arch = (uint32_t)arch;
        return QT_EXIT_OK;
    }
    out->chip = qd_chip_find(text);
    if (out->chip) {
        out->soc = out->chip->soc;
        out->arch = out->chip->arch;
        return QT_EXIT_OK;
    }
    uint32_t id;
    if (!qt_soc_find(text, &id))
        return unknown_soc(text);
    const qrn_soc *s = qrn_soc_by_id(id);
    out->soc = s->id;
    out->arch = s->arch;
    out->chip = qd_chip_of_soc(s->id);
    if (!out->chip) {
        out->chip = qd_chip_of_arch(s->arch);
        out->lent_to = s->name;
    }
    if (out->chip)
        return QT_EXIT_OK;
    qt_error("--soc %s: no published latencies of SoCs of its architecture (v%u)", s->name,
             s->arch);
    return QT_EXIT_REFUSED;
}
