// SPDX-License-Identifier: MIT
//
// qnn-profile-viewer: the command line that is published for it, in front of quern profile. Readers
// are chosen by the names of their libraries, which are not opened: what they print is built in.
#include "tools/profile_viewer/optrace.h"
#include "tools/profile_viewer/sources.h"
#include "tools/profile_viewer/viewer.h"
#include "tools/quern/flags.h"
#include "tools/quern/output.h"

#include <stdlib.h>
#include <string.h>

typedef struct viewer_options {
    const char *input_log, *output, *reader, *schematic, *dlc, *config, *zoom_start, *zoom_end;
    bool gzip, extract, json, version;
} viewer_options;

#define AT(field) offsetof(viewer_options, field)

static const qt_flag flags[] = {
    {"input_log", 0, QT_FILE, "FILE[,FILE]", AT(input_log), NULL, "logs to read"},
    {"output", 0, QT_FILE, "FILE", AT(output), NULL, "file that the reader writes"},
    {"reader", 0, QT_TEXT, "LIBRARY", AT(reader), NULL,
     "HtpProfilingReader, GpuProfilingReader, ChrometraceProfilingReader, JsonProfilingReader or "
     "optrace in its name"},
    {"schematic", 0, QT_FILE, "FILE", AT(schematic), NULL, "schematic of the graph (optrace)"},
    {"gzip", 0, QT_BOOL, NULL, AT(gzip), NULL, "compress a trace"},
    {"extract_opaque_objects", 0, QT_BOOL, NULL, AT(extract), NULL,
     "write opaque objects to files in the current folder"},
    {"standardized_json_output", 0, QT_BOOL, NULL, AT(json), NULL,
     "write the output as JSON, whatever the reader; optrace: beside it as NAME_profile.json"},
    {"config", 0, QT_FILE, "FILE", AT(config), NULL, "features to write, as JSON (optrace)"},
    {"zoom_start", 0, QT_TEXT, "NODE", AT(zoom_start), NULL,
     "first node of the part to look at (optrace)"},
    {"zoom_end", 0, QT_TEXT, "NODE", AT(zoom_end), NULL,
     "last node of the part to look at (optrace)"},
    {"dlc", 0, QT_FILE, "FILE", AT(dlc), NULL,
     "DLC file of the model: names and types of its nodes are added to those of ops"},
    {"version", 0, QT_BOOL, NULL, AT(version), NULL, "print the version"},
    {0},
};

typedef enum reader { READ_DEFAULT, READ_HTP, READ_CHROME, READ_JSON, READ_OPTRACE } reader;

static int find_reader(const char *text, reader *out) {
    static const struct {
        const char *part;
        reader kind;
    } readers[] = {{"HtpOptraceProfilingReader", READ_OPTRACE},
                   {"HtpProfilingReader", READ_HTP},
                   {"GpuProfilingReader", READ_HTP},
                   {"ChrometraceProfilingReader", READ_CHROME},
                   {"JsonProfilingReader", READ_JSON}};
    *out = READ_DEFAULT;
    if (!text)
        return QT_EXIT_OK;
    *out = READ_OPTRACE;
    if (strcmp(text, "optrace") == 0)
        return QT_EXIT_OK;
    for (size_t i = 0; i < sizeof readers / sizeof readers[0]; i++)
        if (strstr(text, readers[i].part)) {
            *out = readers[i].kind;
            return QT_EXIT_OK;
        }
    qt_error("--reader %s: no such reader here; known are libQnnHtpProfilingReader, "
             "libQnnGpuProfilingReader, libQnnChrometraceProfilingReader, "
             "libQnnJsonProfilingReader and optrace",
             text);
    return QT_EXIT_USAGE;
}

static const char *only_for_optrace(const viewer_options *o) {
    return o->schematic    ? "--schematic"
           : o->config     ? "--config"
           : o->zoom_start ? "--zoom_start"
           : o->zoom_end   ? "--zoom_end"
                           : NULL;
}

static int check(const viewer_options *o, reader kind) {
    const char *other = kind == READ_OPTRACE ? NULL : only_for_optrace(o);
    if (!o->input_log)
        qt_error("--input_log is needed");
    else if (other)
        qt_error("%s is for the reader optrace", other);
    else if (!o->zoom_start != !o->zoom_end)
        qt_error("--zoom_start and --zoom_end go together");
    else if ((kind == READ_OPTRACE || kind == READ_JSON) && !o->output)
        qt_error("this reader needs --output");
    else if (kind == READ_OPTRACE && !o->schematic) {
        qt_error("No Valid Input Schematics: the optrace reader needs --schematic");
        return QT_EXIT_INPUT;
    } else
        return QT_EXIT_OK;
    return QT_EXIT_USAGE;
}

static int read_logs(const char *list, qt_profile *p) {
    int code = QT_EXIT_OK;
    for (const char *at = list; *at && code == QT_EXIT_OK;) {
        size_t n = strcspn(at, ",");
        char *path = strndup(at, n);
        code = path ? qt_profile_read(p, path) : QT_EXIT_FAILURE;
        free(path);
        at += n + (at[n] == ',');
    }
    return code;
}

static bool write_output(const viewer_options *o, reader kind, const qt_profile *p,
                         const qt_groups *g) {
    if (!o->output)
        return true;
    if (o->json || kind == READ_JSON)
        return qv_write_json(qt_profile_json(p, g), o->output, o->gzip);
    if (kind == READ_CHROME)
        return qv_write_json(qt_profile_trace_json(p), o->output, o->gzip);
    return qv_write_table(p, o->output);
}

static int view_optrace(const viewer_options *o, const qt_profile *p, const qt_sources *sources) {
    qv_optrace_options x = {.output = o->output,
                            .schematic = o->schematic,
                            .zoom =
                                qv_zoom_of_sources((qv_zoom){o->zoom_start, o->zoom_end}, sources),
                            .sources = sources,
                            .features = qv_default_features};
    int code = o->config ? qv_read_features(o->config, &x.features) : QT_EXIT_OK;
    x.features.gzip |= o->gzip;
    if (code == QT_EXIT_OK && o->extract && !qv_extract_objects(p))
        code = QT_EXIT_FAILURE;
    if (code == QT_EXIT_OK)
        code = qv_write_optrace(p, &x);
    qt_groups g;
    if (code == QT_EXIT_OK && o->json &&
        !(qt_profile_sum(p, &g) &&
          qv_write_beside(qt_profile_json(p, &g), o->output, "_profile.json")))
        code = QT_EXIT_FAILURE;
    return code;
}

static int view(const viewer_options *o, reader kind, const qt_profile *p,
                const qt_sources *sources) {
    qt_groups g;
    if (!qv_name_events(p, sources))
        return QT_EXIT_FAILURE;
    if (kind == READ_OPTRACE)
        return view_optrace(o, p, sources);
    if (!qt_profile_sum(p, &g)) {
        qt_error("out of memory");
        return QT_EXIT_FAILURE;
    }
    if (!write_output(o, kind, p, &g) || (o->extract && !qv_extract_objects(p)))
        return QT_EXIT_FAILURE;
    if (kind == READ_JSON)
        return QT_EXIT_OK;
    return kind == READ_HTP ? qv_print_runs(p) : qt_profile_print(p, &g, true, 0);
}

static int run(const void *options, const qt_list *args) {
    const viewer_options *o = options;
    reader kind;
    (void)args;
    if (o->version) {
        qt_print("%s\n", "qnn-profile-viewer of Quern " QUERN_VERSION);
        return qt_close_stdout();
    }
    qt_profile p = {0};
    qt_sources sources = {0};
    int code = find_reader(o->reader, &kind);
    if (code == QT_EXIT_OK)
        code = check(o, kind);
    if (code == QT_EXIT_OK)
        code = read_logs(o->input_log, &p);
    if (code == QT_EXIT_OK && o->dlc)
        code = qv_sources_open(o->dlc, &sources);
    if (code == QT_EXIT_OK)
        code = view(o, kind, &p, &sources);
    qt_sources_free(&sources);
    qrn_arena_destroy(p.arena);
    return code;
}

static const qt_command viewer = {
    .name = "qnn-profile-viewer",
    .args = "--input_log FILE [--output FILE] [--reader LIBRARY]",
    .alone = true,
    .about =
        "Prints profile logs that the System library of Quern wrote: mean, minimum and maximum "
        "of every event; with --output also as a table (CSV).\n",
    .groups = {{"options", flags}},
    .examples = {{"qnn-profile-viewer --input_log net_qnn.log --output net.csv", NULL},
                 {"qnn-profile-viewer --reader optrace --input_log net_qnn.log --schematic "
                  "net_schematic.bin --output net.json",
                  "A trace and the analysis page."}},
    .options_size = sizeof(viewer_options),
    .run = run,
};

const qt_command *const qt_commands[] = {&viewer, NULL};

int main(int argc, char **argv) {
    viewer_options options = {0};
    qt_list args = {0};
    qt_output_init();
    qt_set_program("qnn-profile-viewer");
    int code = qt_flags_parse(&viewer, argc - 1, argv + 1, &options, &args);
    qt_set_inputs(&options.input_log, options.input_log ? 1 : 0);
    if (code == QT_EXIT_OK)
        code = run(&options, &args);
    else if (code < 0)
        code = qt_close_stdout();
    qt_flags_free(&viewer, &options, &args);
    return qt_finish(code);
}
