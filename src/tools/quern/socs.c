// SPDX-License-Identifier: MIT
//
// quern socs: the chips that --soc names, and what is known of them.
#include "tools/quern/commands.h"

#include "base/soc.h"
#include "device/cost.h"
#include "tools/quern/output.h"
#include "tools/quern/report.h"
#include "tools/quern/soc.h"

#include <string.h>
#include <strings.h>

typedef struct socs_options {
    bool json;
} socs_options;

static const qt_flag flags[] = {
    {"json", 0, QT_BOOL, NULL, offsetof(socs_options, json), NULL, "print the list as JSON"},
    {0},
};

// Names and devices of a chip that the fitted constants know; NULL: none.
static const char *devices_of(const qd_chip *fitted) { return fitted ? fitted->others : NULL; }

static bool contains(const char *text, const char *word) {
    size_t n = strlen(word);
    for (; text && *text; text++)
        if (strncasecmp(text, word, n) == 0)
            return true;
    return false;
}

// Does the chip match one of the words, or are there none? What --soc accepts is a word, too:
// "57" and "8gen3" are part of no name.
static bool is_wanted(const qrn_soc *s, const qd_chip *fitted, const qt_list *words) {
    char arch[16];
    uint32_t id;
    snprintf(arch, sizeof arch, "v%u", s->arch);
    for (size_t i = 0; i < words->n; i++)
        if (contains(s->name, words->items[i]) || contains(s->aliases, words->items[i]) ||
            contains(devices_of(fitted), words->items[i]) ||
            strcasecmp(arch, words->items[i]) == 0 ||
            (qt_soc_find(words->items[i], &id) && id == s->id))
            return true;
    return words->n == 0;
}

// A name of n bytes, with a space for each _.
static json_t *spaced(const char *name, size_t n) {
    char text[128];
    snprintf(text, sizeof text, "%.*s", (int)n, name);
    for (char *c = text; *c; c++)
        *c = *c == '_' ? ' ' : *c;
    return json_string(text);
}

static json_t *json_names(const qrn_soc *s, const qd_chip *fitted) {
    json_t *list = json_array();
    const char *sources[] = {s->aliases, devices_of(fitted)};
    for (size_t i = 0; i < 2; i++)
        for (const char *p = sources[i]; p && *p;) {
            size_t n = strcspn(p, i ? "|" : " ");
            bool twice = i == 0 && fitted && memchr(p, '_', n); // the fitted names have it
            if (n && !twice)
                json_array_append_new(list, spaced(p, n));
            p += n + (p[n] != '\0');
        }
    return list;
}

static json_t *json_soc(const qrn_soc *s, const qd_chip *fitted) {
    double rate;
    return json_pack(
        "{s:I,s:o,s:o,s:I,s:I,s:I,s:I,s:I,s:b,s:b,s:b,s:b,s:o,s:o}", "id", (json_int_t)s->id,
        "name", qt_json_text(s->name), "names", json_names(s, fitted), "arch", (json_int_t)s->arch,
        "vtcm_mb", (json_int_t)s->vtcm_mb, "hvx_units", (json_int_t)s->hvx, "hmx_units",
        (json_int_t)s->hmx, "cores", (json_int_t)s->cores, "fp16", s->fp16, "dlbc", s->dlbc,
        "fitted", fitted != NULL, "fitted_decode", fitted && qd_decodes(fitted, &rate),
        "fitted_ddr_gb_s", fitted ? json_real(fitted->ddr) : json_null(), "fitted_int8_tmac_s",
        fitted ? json_real(fitted->r8) : json_null());
}

static void print_soc(const qrn_soc *s, const qd_chip *fitted) {
    double rate;
    const char *estimate = !fitted ? "-" : qd_decodes(fitted, &rate) ? "+ tokens" : "yes";
    const char *names = fitted ? fitted->others : s->aliases;
    qt_print("%4u  %-10s v%u  %4u MB  %4u  %4u  %5u  %-4s  ", s->id, s->name, s->arch, s->vtcm_mb,
             s->hvx, s->hmx, s->cores, s->fp16 ? "yes" : "no");
    if (fitted)
        qt_print("%4.0f  %s", fitted->ddr, estimate);
    else
        qt_print("   -  %s", estimate);
    for (int gap = 10 - (int)strlen(estimate); *names && gap > 0; gap--)
        qt_print(" ");
    for (bool list = !fitted; *names; names++)
        if (*names == '|' || (list && *names == ' '))
            qt_print(", ");
        else
            qt_print("%.1s", list && *names == '_' ? " " : names);
    qt_print("\n");
}

static int run(const void *options, const qt_list *args) {
    bool json = ((const socs_options *)options)->json;
    json_t *list = json ? json_array() : NULL;
    uint32_t shown = 0;
    for (uint32_t i = 0; qrn_soc_at(i); i++) {
        const qrn_soc *s = qrn_soc_at(i);
        const qd_chip *fitted = qd_chip_of_soc(s->id);
        if (!is_wanted(s, fitted, args))
            continue;
        if (json)
            json_array_append_new(list, json_soc(s, fitted));
        else if (shown == 0)
            qt_print(
                "%s  id  name       arch VTCM     HVX   HMX  cores  fp16  GB/s  estimate  also "
                "called%s\n",
                qt_style_on(QT_BOLD), qt_style_off());
        if (!json)
            print_soc(s, fitted);
        shown++;
    }
    if (json)
        return qt_print_json(list);
    if (shown == 0) {
        qt_error("no SoC matches '%s'; 'quern socs' lists all", args->items[0]);
        return QT_EXIT_USAGE;
    }
    return qt_close_stdout();
}

const qt_command qt_socs = {
    .name = "socs",
    .summary = "list the target SoCs",
    .args = "[WORD...]",
    .max_args = 16,
    .about = "Lists the SoCs that --soc accepts: NPU architecture, VTCM, vector and matrix units "
             "(HVX, HMX), cores, fp16 support, the memory bandwidth that fits published latencies "
             "best, and whether 'quern estimate' is calibrated for it ('+ tokens': also for the "
             "decode rate of language models). WORD filters by name, number, device or "
             "architecture.\nQUERN_SOCS names a file with further SoCs.",
    .groups = {{"options", flags}},
    .examples = {{"quern socs", "All of them."},
                 {"quern socs galaxy", "Which SoC has the phone?"},
                 {"quern socs v79 --json", "One architecture, for a script."}},
    .options_size = sizeof(socs_options),
    .run = run,
};
