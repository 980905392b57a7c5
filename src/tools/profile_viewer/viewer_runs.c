// SPDX-License-Identifier: MIT
//
// Calls one by one, as the HTP reader prints them: estimates of finalize by their nesting, then
// each execution with its nodes.
#include "tools/profile_viewer/viewer.h"
#include "tools/quern/output.h"

#include <string.h>

// How far estimates are moved to the right: they stand side by side in a profile.
static int nesting(const qt_event *e) {
    static const struct {
        const char *start;
        int spaces;
    } rows[] = {{"Simulated", 2},  {"Bandwidth Stats", 2}, {"Number of ops", 2},
                {"HTP ID", 4},     {"Input Fill", 6},      {"Intermediate ", 6},
                {"Inter HTP ", 6}, {"Output Spill", 6}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strncmp(e->name, rows[i].start, strlen(rows[i].start)) == 0)
            return rows[i].spaces;
    return 0;
}

static void print_events(const qt_event *list, uint32_t n, int indent, const char *between) {
    for (uint32_t i = 0; i < n; i++) {
        const qt_event *e = &list[i];
        char units[32];
        if (strcmp(e->unit, "object") == 0)
            continue;
        qt_print("%*s%s :", indent + nesting(e), "", e->name);
        if (strcmp(e->name, "Resources") == 0)
            qt_print(" %s", qt_profile_units(e->value, units, sizeof units));
        else if (strcmp(e->name, "Performance Estimates") != 0 &&
                 strcmp(e->name, "Bandwidth Stats") != 0)
            qt_print(" %llu%s%s", (unsigned long long)e->value,
                     strcmp(e->unit, "none") == 0 ? "" : between,
                     strcmp(e->unit, "none") == 0 ? "" : e->unit);
        qt_print("\n");
        print_events(e->sub, e->n_sub, indent + 3, between);
    }
}

int qv_print_runs(const qt_profile *p) {
    static const char *const titles[QT_CALL_KINDS] = {"Init Stats:",
                                                      "Compose Graphs Stats:",
                                                      "Finalize Stats:",
                                                      "De-Init Stats:",
                                                      "ApplyBinarySection Stats:",
                                                      "Execute Stat",
                                                      "Rate Stats:",
                                                      "Other Stats:"};
    uint32_t runs = 0;
    for (uint32_t i = 0; i < p->n; i++) {
        const qt_call *c = &p->calls[i];
        bool execute = c->kind == QT_CALL_EXECUTE;
        if (execute)
            qt_print("%s %u\n", titles[c->kind], runs++);
        else
            qt_print("%s\n", titles[c->kind]);
        print_events(c->events, c->n, 0, execute ? "  " : " ");
        qt_print("\n");
    }
    return qt_close_stdout();
}
