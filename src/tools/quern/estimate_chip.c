// SPDX-License-Identifier: MIT
//
// Chips of estimates by what people call them; one that nobody measured borrows the constants of a
// relative, and says so.
#include "tools/quern/estimate.h"
#include "tools/quern/output.h"
#include "tools/quern/soc.h"

#include "base/soc.h"

#include <string.h>

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
        return qt_soc_unknown("--soc", text);
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
