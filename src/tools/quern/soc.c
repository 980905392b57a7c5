// SPDX-License-Identifier: MIT
//
// SoCs by name, from the table that the HTP backend uses, and by the devices that have them.
#include "tools/quern/soc.h"

#include "base/soc.h"
#include "base/suggest.h"
#include "device/cost.h"
#include "tools/quern/flags.h"
#include "tools/quern/output.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MAX_NAMES 512
#define MAX_LETTERS 8192 // of all names of devices

bool qt_soc_find(const char *text, uint32_t *model) {
    char *end = NULL;
    unsigned long number = strtoul(text, &end, 10);
    bool is_number = *text >= '0' && *text <= '9' && !*end && number <= UINT32_MAX;
    const qrn_soc *soc = is_number ? qrn_soc_by_id((uint32_t)number) : qrn_soc_by_name(text);
    const qd_chip *chip = soc || is_number ? NULL : qd_chip_find(text); // "Samsung Galaxy S24"
    if (!soc && chip)
        soc = qrn_soc_by_id(chip->soc);
    if (soc)
        *model = soc->id;
    return soc != NULL;
}

typedef struct soc_names {
    const char *list[MAX_NAMES];
    size_t n, used;
    char letters[MAX_LETTERS];
} soc_names;

static void add_name(soc_names *s, const char *name, size_t n_bytes) {
    if (s->n == MAX_NAMES || s->used + n_bytes >= sizeof s->letters)
        return;
    char *copy = s->letters + s->used;
    memcpy(copy, name, n_bytes);
    copy[n_bytes] = '\0';
    s->used += n_bytes + 1;
    s->list[s->n++] = copy;
}

static void list_names(soc_names *out) {
    const qrn_soc *s;
    const qd_chip *c;
    for (uint32_t i = 0; (s = qrn_soc_at(i)); i++)
        add_name(out, s->name, strlen(s->name));
    for (uint32_t i = 0; (c = qd_chip_at(i)); i++) {
        add_name(out, c->name, strlen(c->name));
        for (const char *p = c->others; *p;) { // "A|B|C"
            size_t n_bytes = strcspn(p, "|");
            add_name(out, p, n_bytes);
            p += n_bytes + (p[n_bytes] == '|');
        }
    }
}

// NULL if no name is near the text, in its own letters or in capitals, as SoCs are written.
static const char *nearest(const soc_names *s, const char *text) {
    char upper[32];
    size_t i = 0;
    for (; text[i] && i + 1 < sizeof upper; i++)
        upper[i] = text[i] >= 'a' && text[i] <= 'z' ? (char)(text[i] - 'a' + 'A') : text[i];
    upper[i] = '\0';
    const char *near = qrn_suggest(upper, s->list, s->n);
    near = near ? near : qrn_suggest(text, s->list, s->n);
    bool number = strspn(text, "0123456789") == strlen(text);
    for (i = 0; !near && !number && i < s->n; i++) // "S25" of "Samsung Galaxy S25"
        near = strcasestr(s->list[i], text) ? s->list[i] : NULL;
    for (i = 0; !near && i < s->n; i++) { // "SM8650" of "sm8650-ab", and of "8650"
        const char *name = s->list[i];
        bool plain = strncmp(name, "SM", 2) == 0 && !strchr(name, ' ');
        if (plain && (strcasestr(text, name) || strcmp(name + 2, text) == 0))
            near = name;
    }
    return near;
}

static bool is_architecture(const char *text) {
    const qrn_soc *s;
    for (uint32_t i = 0; (*text == 'v' || *text == 'V') && (s = qrn_soc_at(i)); i++)
        if (strtoul(text + 1, NULL, 10) == s->arch && strlen(text) == 3)
            return true;
    return false;
}

int qt_soc_unknown(const char *flag, const char *text) {
    soc_names names;
    names.n = names.used = 0;
    list_names(&names);
    const char *near = nearest(&names, text);
    if (strcasecmp(text, "all") == 0)
        qt_error("%s all: only 'quern estimate' accepts it; give one SoC, e.g. SM8650", flag);
    else if (strchr(text, ','))
        qt_error("%s '%s': expected one SoC%s", flag, text,
                 strcmp(flag, "--soc") == 0 ? ", or all with 'quern estimate'" : "");
    else if (is_architecture(text))
        qt_error("%s '%s': an NPU architecture, not a SoC; 'quern socs %s' lists its SoCs", flag,
                 text, text);
    else if (near)
        qt_error("%s '%s': unknown SoC; did you mean '%s'?", flag, text, near);
    else
        qt_error("%s '%s': unknown SoC; expected a name or number, e.g. SM8650 or 57 ('quern "
                 "socs' lists them)",
                 flag, text);
    return QT_EXIT_USAGE;
}
