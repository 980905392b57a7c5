// SPDX-License-Identifier: MIT
//
// quern show --compiled: the steps that a backend makes of a model, or finds in a context binary,
// as the library logs them with QUERN_VERBOSE=compiled.
#include "tools/quern/show_compiled.h"

#include "tools/quern/binary.h"
#include "tools/quern/output.h"
#include "tools/quern/report.h"

#include <string.h>

typedef struct dump {
    json_t *lines;
    bool failed; // out of memory
} dump;

static void keep_line(void *ctx, const char *line) {
    static const char mark[] = "compiled: ";
    dump *d = ctx;
    if (strncmp(line, mark, sizeof mark - 1) == 0 &&
        json_array_append_new(d->lines, qt_json_text(line + sizeof mark - 1)) != 0)
        d->failed = true;
}

static int compile_model(const char *path, const qt_input_options *opt,
                         const qt_backend_options *backend) {
    ox_model *m = NULL;
    int code = qt_open_shaped(path, opt, &m);
    if (code != QT_EXIT_OK)
        return code;
    qt_inputs in = {0};
    qt_session s = {0};
    const qt_list none = {0};
    code = qt_inputs_open(m, opt, &none, 0, &in);
    if (code == QT_EXIT_OK) {
        const ox_options import = {0};
        code = qt_session_open(path, m, backend, &import, &s);
    }
    if (code == QT_EXIT_OK && s.model.graph->n_nodes == 0) {
        qt_error("%s: nothing to compile: every output is constant", path);
        code = QT_EXIT_REFUSED;
    }
    qt_session_close(&s);
    qt_inputs_close(&in);
    ox_model_close(m);
    return code;
}

// All graphs, on the backend and SoC that they were made for, unless others are asked for.
static int load_binary(const char *path, qt_backend_options backend) {
    qt_binary b = {0};
    qc_client *c = NULL;
    int code = qt_binary_open(path, &b);
    if (code != QT_EXIT_OK)
        return code;
    const qt_backend_extras extras = {.soc = b.info->socModel, .no_context = true};
    code = qt_backend_of_binary(path, b.info->backendId, &backend);
    if (code == QT_EXIT_OK)
        code = qt_open_backend(&backend, &extras, &c);
    if (code == QT_EXIT_OK && qc_load(c, b.bytes, b.n_bytes, NULL, NULL) != QRN_OK) {
        qt_error("%s: %s", path, qrn_message());
        code = QT_EXIT_REFUSED;
    }
    qc_close(c);
    qt_binary_close(&b);
    return code;
}

int qt_compiled_lines(const char *path, const qt_input_options *in,
                      const qt_backend_options *options, json_t **out) {
    dump d = {.lines = json_array()};
    const qt_watch watch = {.ctx = &d, .line = keep_line};
    qt_backend_options backend = *options;
    backend.watch = &watch;
    int code = QT_EXIT_OK;
    if (!d.lines || !qt_ask_verbose("compiled"))
        d.failed = true;
    else
        code = qt_is_binary(path) ? load_binary(path, backend) : compile_model(path, in, &backend);
    if (d.failed) {
        qt_error("out of memory");
        code = QT_EXIT_FAILURE;
    } else if (code == QT_EXIT_OK && json_array_size(d.lines) == 0) {
        qt_error("%s: backend '%s' does not print compiled graphs; allowed are those of Quern that "
                 "execute, such as cpu, gpu and htp",
                 path, qt_backend_name(&backend));
        code = QT_EXIT_FAILURE;
    }
    if (code == QT_EXIT_OK)
        *out = d.lines;
    else
        json_decref(d.lines);
    return code;
}

int qt_show_compiled(const char *path, const qt_input_options *in,
                     const qt_backend_options *options, bool json) {
    json_t *lines = NULL;
    int code = qt_compiled_lines(path, in, options, &lines);
    if (code != QT_EXIT_OK)
        return code;
    if (json)
        return qt_print_json(
            json_pack("{s:o,s:o}", "model", qt_json_text(path), "compiled", lines));
    for (size_t i = 0; i < json_array_size(lines); i++)
        qt_print("%s\n", json_string_value(json_array_get(lines, i)));
    json_decref(lines);
    return qt_close_stdout();
}
