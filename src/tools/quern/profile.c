// SPDX-License-Identifier: MIT
//
// quern profile: what a profile says, calls of one kind added up, and nodes with what was measured
// on the host beside what is modelled for a chip.
#include "tools/quern/commands.h"
#include "tools/quern/output.h"
#include "tools/quern/page_data.h"
#include "tools/quern/profile_sums.h"

#include "page_texts.h"

typedef struct profile_options {
    const char *trace, *html;
    uint64_t top;
    bool json, all;
} profile_options;

#define AT(field) offsetof(profile_options, field)

static const qt_flag flags[] = {
    {"all", 'a', QT_BOOL, NULL, AT(all), NULL, "print every event, with minima and maxima"},
    {"top", 0, QT_COUNT1, "N", AT(top), NULL, "number of nodes to list (default 20)"},
    {"trace", 0, QT_FILE, "FILE", AT(trace), NULL,
     "write a timeline that Perfetto and chrome://tracing open"},
    {"json", 0, QT_BOOL, NULL, AT(json), NULL, "print the report as JSON"},
    {"html", 0, QT_FILE, "FILE", AT(html), NULL, "write a page: nodes and calls"},
    {0},
};

// --- the command

static bool write_page(const profile_options *o, const qt_profile *p, const qt_groups *groups,
                       const qt_list *logs) {
    json_t *all = qt_profile_json(p, groups), *names = json_array();
    for (size_t i = 0; i < logs->n; i++)
        json_array_append_new(names, qt_json_text(logs->items[i]));
    if (all)
        json_object_set(all, "logs", names);
    json_decref(names);
    if (all)
        json_object_set_new(all, "version", json_string(QUERN_VERSION));
    return qt_page_write(qt_page_profile_page, "Profile", logs->items[0], all, o->html);
}

static int report(const profile_options *o, const qt_profile *p, const qt_list *logs) {
    qt_groups groups;
    if (!qt_profile_sum(p, &groups)) {
        qt_error("out of memory");
        return QT_EXIT_FAILURE;
    }
    if (o->trace && !qt_profile_trace(p, o->trace))
        return QT_EXIT_FAILURE;
    if (o->html && !write_page(o, p, &groups, logs))
        return QT_EXIT_FAILURE;
    return o->json ? qt_print_json(qt_profile_json(p, &groups))
                   : qt_profile_print(p, &groups, o->all, o->top ? o->top : 20);
}

static int run(const void *options, const qt_list *args) {
    qt_profile p = {0};
    int code = QT_EXIT_OK;
    for (size_t i = 0; i < args->n && code == QT_EXIT_OK; i++)
        code = qt_profile_read(&p, args->items[i]);
    if (code == QT_EXIT_OK)
        code = report(options, &p, args);
    qrn_arena_destroy(p.arena);
    return code;
}

const qt_command qt_profile_command = {
    .name = "profile",
    .summary = "print a profile log",
    .args = "LOG...",
    .min_args = 1,
    .max_args = 64,
    .about =
        "Prints profile logs, which qnn-net-run and other QNN clients write, and CSV profiles of "
        "ONNX Runtime providers, averaged over the calls of each graph.\nNodes are listed with "
        "their measured time on this "
        "machine and the cycles modelled for the SoC (docs/profiling.md).",
    .groups = {{"options", flags}},
    .examples = {{"quern profile net_qnn.log", "Averages of all calls, and the slowest nodes."},
                 {"quern profile net.csv --html net.html", "To look at."},
                 {"quern profile net.csv --trace net.json", "A timeline for Perfetto."}},
    .options_size = sizeof(profile_options),
    .run = run,
};
