// SPDX-License-Identifier: MIT
//
// qairt-dlc-info: what is in a DLC file.
#include "tools/dlc_tools/program.h"

typedef struct info_options {
    const char *input;
    bool all, json, version;
} info_options;

#define AT(field) offsetof(info_options, field)

static const qt_flag flags[] = {
    {"input_dlc", 'i', QT_FILE, "FILE", AT(input), NULL, "the file"},
    {"all", 'a', QT_BOOL, NULL, AT(all), NULL, "every tensor and node"},
    {"json", 0, QT_BOOL, NULL, AT(json), NULL, "print the report as JSON"},
    {"version", 0, QT_BOOL, NULL, AT(version), NULL, "print the version"},
    {0},
};

static int run(const void *options, const qt_list *args);

static const qt_command info = {
    .name = "qairt-dlc-info",
    .args = "-i FILE",
    .max_args = 1,
    .alone = true,
    .about = "Prints the records of a DLC file, its graphs with their inputs, outputs and sizes, "
             "and with --all every tensor and node.\n",
    .groups = {{"options", flags}},
    .examples = {{"qairt-dlc-info -i net.dlc", NULL}},
    .options_size = sizeof(info_options),
    .run = run,
};

static int run(const void *options, const qt_list *args) {
    const info_options *o = options;
    const char *path = o->input ? o->input : args->n ? args->items[0] : NULL;
    qt_dlc d;
    if (o->version)
        return qp_version(&info);
    if (!path) {
        qt_error("--input_dlc is needed");
        return QT_EXIT_USAGE;
    }
    int code = qt_dlc_open(path, &d);
    if (code != QT_EXIT_OK)
        return code;
    code = qt_dlc_show(&d, o->json, o->all);
    qt_dlc_close(&d);
    return code;
}

const qt_command *const qt_commands[] = {&info, NULL};

int main(int argc, char **argv) {
    info_options options = {0};
    return qp_main(&info, &options, argc, argv);
}
