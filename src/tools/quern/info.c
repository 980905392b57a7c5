// SPDX-License-Identifier: MIT
//
// quern info: the program, the libraries it finds, and the machine.
#include "tools/quern/commands.h"
#include "tools/quern/machine.h"
#include "tools/quern/output.h"

typedef struct info_options {
    bool json;
} info_options;

static const qt_flag flags[] = {
    {"json", 0, QT_BOOL, NULL, offsetof(info_options, json), NULL, "print the report as JSON"},
    {0},
};

static const char *version_text(const Qnn_Version_t *v, char *buf, size_t size) {
    snprintf(buf, size, "%u.%u.%u", v->major, v->minor, v->patch);
    return buf;
}

static json_t *json_library(const qt_library *l) {
    char core[32], own[32];
    if (!l->found)
        return json_pack("{s:s,s:s,s:b,s:s}", "backend", l->name, "file", l->file, "found", 0,
                         "reason", l->error);
    return json_pack(
        "{s:s,s:s,s:b,s:s,s:s,s:s,s:s,s:s,s:b,s:I,s:I,s:s}", "backend", l->name, "file", l->file,
        "found", 1, "path", l->path, "provider", l->provider, "build", l->build, "core_api",
        version_text(&l->version.coreApiVersion, core, sizeof core), "backend_api",
        version_text(&l->version.backendApiVersion, own, sizeof own), "quern", l->is_quern, "ops",
        (json_int_t)l->n_ops, "devices", (json_int_t)l->n_devices, "reason", l->error);
}

static int info_json(const qt_library *libs, const qt_machine *m) {
    json_t *list = json_array();
    for (size_t i = 0; i < QT_N_LIBRARIES; i++)
        json_array_append_new(list, json_library(&libs[i]));
    return qt_print_json(json_pack("{s:s,s:o,s:{s:s,s:s,s:I,s:f,s:f}}", "version", QUERN_VERSION,
                                   "libraries", list, "machine", "cpu", m->cpu, "features", m->isa,
                                   "cpus", (json_int_t)m->cpus, "quota", m->quota,
                                   "memory_available_bytes", m->memory_free));
}

static int run(const void *options, const qt_list *args) {
    (void)args;
    qt_library libs[QT_N_LIBRARIES];
    qt_machine m;
    qt_libraries_read(libs);
    qt_machine_read(&m);
    if (((const info_options *)options)->json)
        return info_json(libs, &m);
    qt_print("quern %s\n\n%slibraries%s\n", QUERN_VERSION, qt_style_on(QT_BOLD), qt_style_off());
    for (size_t i = 0; i < QT_N_LIBRARIES; i++) {
        const qt_library *l = &libs[i];
        char core[32], own[32];
        if (!l->found) {
            qt_print("  %-6s %s not found\n", l->name, l->file);
            continue;
        }
        if (i == QT_N_LIBRARIES - 1) {
            qt_print("  %-6s %s\n         %s, System API %s\n", l->name, l->path, l->provider,
                     version_text(&l->version.backendApiVersion, own, sizeof own));
            continue;
        }
        qt_print("  %-6s %s\n         %s, build %s, QNN API %s, backend API %s", l->name, l->path,
                 l->provider, l->build, version_text(&l->version.coreApiVersion, core, sizeof core),
                 version_text(&l->version.backendApiVersion, own, sizeof own));
        if (l->n_ops) // the recorder was not asked
            qt_print(", %u ops", l->n_ops);
        else if (l->error[0])
            qt_print(", cannot be used: %s", l->error);
        qt_print("\n");
        if (l->n_devices)
            qt_print("         %u device%s\n", l->n_devices, l->n_devices == 1 ? "" : "s");
    }
    char memory[32];
    qt_print("\n%smachine%s\n  CPU      %s\n  features %s\n  CPUs     %u", qt_style_on(QT_BOLD),
             qt_style_off(), m.cpu, m.isa[0] ? m.isa : "none", m.cpus);
    if (m.quota > 0)
        qt_print(" (limited to %.3g)", m.quota);
    qt_print("\n  memory   %s available\n", qt_bytes_text(m.memory_free, memory, sizeof memory));
    return qt_close_stdout();
}

const qt_command qt_info = {
    .name = "info",
    .summary = "show libraries, versions and CPU features",
    .args = "[--json]",
    .about = "Shows the QNN libraries that this program finds, their versions, and the CPU "
             "features that kernels use.",
    .groups = {{"options", flags}},
    .examples = {{"quern info", "Everything."}},
    .options_size = sizeof(info_options),
    .run = run,
};
