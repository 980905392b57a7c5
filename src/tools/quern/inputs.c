// SPDX-License-Identifier: MIT
//
// Finding a source for every input of a model. What the sources hold is read in input_load.c.
#include "tools/quern/inputs.h"

#include "tools/quern/input_list.h"

#include "base/suggest.h"
#include "tools/quern/heap.h"
#include "tools/quern/report.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const char *qt_file_name(const char *name, char *buf, size_t size) {
    size_t i = 0;
    for (; name[i] && i + 1 < size; i++) {
        char c = name[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        buf[i] = plain ? c : '_';
    }
    buf[i] = '\0';
    return buf;
}

static int collect_ports(const ox_graph *g, qt_inputs *in) {
    in->ports = calloc(g->n_inputs ? g->n_inputs : 1, sizeof *in->ports);
    if (!in->ports)
        return qt_no_memory();
    for (uint32_t i = 0; i < g->n_inputs; i++) {
        bool constant = false;
        for (uint32_t k = 0; k < g->n_constants && !constant; k++)
            constant = strcmp(g->constants[k].name, g->inputs[i].name) == 0;
        if (!constant)
            in->ports[in->n_ports++] = &g->inputs[i];
    }
    return QT_EXIT_OK;
}

// "0.5" or "0.485,0.456,0.406".
static bool parse_numbers(const char *text, bool positive, double *out, uint32_t *n) {
    for (*n = 0; text && *n < 3;) {
        char *end = NULL;
        double v = strtod(text, &end);
        if (end == text || !isfinite(v) || (positive && !(v > 0)))
            return false;
        out[(*n)++] = v;
        if (!*end)
            return *n == 1 || *n == 3;
        if (*end != ',')
            return false;
        text = end + 1;
    }
    return !text;
}

static int parse_picture(const qt_input_options *opt, qt_picture_options *p) {
    p->layout = opt->layout;
    p->fit = opt->fit;
    p->largest = opt->largest;
    p->bgr = opt->bgr;
    if (!parse_numbers(opt->mean, false, p->mean, &p->n_mean)) {
        qt_error("--mean '%s': expected one or three numbers: 0.485,0.456,0.406", opt->mean);
        return QT_EXIT_USAGE;
    }
    if (!parse_numbers(opt->std, true, p->std, &p->n_std)) {
        qt_error("--std '%s': expected one or three numbers above 0", opt->std);
        return QT_EXIT_USAGE;
    }
    return QT_EXIT_OK;
}

static bool is_port(const ox_info *p, const char *name, size_t len) {
    char plain[256];
    return (strlen(p->name) == len && strncmp(p->name, name, len) == 0) ||
           (strlen(p->name) == len &&
            strncmp(qt_file_name(p->name, plain, sizeof plain), name, len) == 0);
}

static int64_t find_port(const qt_inputs *in, const char *name, size_t len) {
    for (uint32_t i = 0; i < in->n_ports; i++)
        if (is_port(in->ports[i], name, len))
            return i;
    return -1;
}

// Names the inputs that there are.
static int no_input(const qt_inputs *in, const char *where, const char *given) {
    char list[512] = "none";
    size_t n = 0;
    for (uint32_t i = 0; i < in->n_ports && n < sizeof list - 80; i++) {
        char cell[QT_CELL];
        n += (size_t)snprintf(list + n, sizeof list - n, "%s%s", i ? ", " : "",
                              qt_cell_name(in->ports[i]->name, 40, cell));
    }
    qt_error("%s: the model has no input '%s'; it has %s", where, given, list);
    return QT_EXIT_INPUT;
}

int qt_inputs_bind(qt_inputs *in, size_t set, const char *where, const char *name, size_t name_len,
                   const char *path, size_t path_len) {
    qt_source *row = in->sources + set * in->n_ports;
    int64_t at = -1;
    if (name) {
        at = find_port(in, name, name_len);
        if (at < 0) {
            char given[QT_CELL * 4];
            snprintf(given, sizeof given, "%.*s", (int)name_len, name);
            return no_input(in, where, given);
        }
    } else {
        for (uint32_t i = 0; i < in->n_ports && at < 0; i++)
            if (!row[i].path && !row[i].array)
                at = i;
        if (at < 0) {
            qt_error("%s: too many files; the model has %u input%s", where, in->n_ports,
                     in->n_ports == 1 ? "" : "s");
            return QT_EXIT_INPUT;
        }
    }
    if (row[at].path || row[at].array) {
        qt_error("%s: input '%s' is given twice", where, in->ports[at]->name);
        return QT_EXIT_INPUT;
    }
    row[at].path = qt_copy_text(path, path_len);
    return row[at].path ? QT_EXIT_OK : qt_no_memory();
}

// Arrays of an archive bind by name; those NumPy numbered (arr_0, ...) by position.
static int bind_archive(qt_inputs *in, const char *path) {
    qt_npz *grown = realloc(in->archives, (in->n_archives + 1) * sizeof *grown);
    if (!grown)
        return qt_no_memory();
    in->archives = grown;
    qt_npz *z = &in->archives[in->n_archives];
    if (qt_npz_read(path, z) != QRN_OK) {
        qt_error("%s", qrn_message());
        return QT_EXIT_INPUT;
    }
    in->n_archives++;
    for (size_t i = 0; i < z->n; i++) {
        int64_t at = find_port(in, z->names[i], strlen(z->names[i]));
        if (at < 0 && strncmp(z->names[i], "arr_", 4) == 0) {
            char *end = NULL;
            unsigned long number = strtoul(z->names[i] + 4, &end, 10);
            if (end != z->names[i] + 4 && !*end && number < in->n_ports)
                at = (int64_t)number;
        }
        if (at < 0) {
            qt_warn("%s: the model has no input '%s'", path, z->names[i]);
        } else if (in->sources[at].path || in->sources[at].array) {
            qt_error("%s: input '%s' is given twice", path, in->ports[at]->name);
            return QT_EXIT_INPUT;
        } else {
            in->sources[at].array = &z->arrays[i];
        }
    }
    return QT_EXIT_OK;
}

static bool ends_with(const char *text, const char *end) {
    size_t n = strlen(text), k = strlen(end);
    return n >= k && strcmp(text + n - k, end) == 0;
}

// NAME=FILE where NAME is an input; a file whose own name holds '=' stays one.
static int bind_file(qt_inputs *in, const char *word) {
    const char *eq = strchr(word, '=');
    if (eq && find_port(in, word, (size_t)(eq - word)) >= 0)
        return qt_inputs_bind(in, 0, word, word, (size_t)(eq - word), eq + 1, strlen(eq + 1));
    struct stat st;
    if (eq && stat(word, &st) != 0) {
        char given[QT_CELL * 4];
        snprintf(given, sizeof given, "%.*s", (int)(eq - word), word);
        return no_input(in, word, given);
    }
    if (ends_with(word, ".onnx") || ends_with(word, ".tflite")) {
        qt_error("%s: a model, but data for an input is expected; --against compares two models",
                 word);
        return QT_EXIT_USAGE;
    }
    if (ends_with(word, ".npz"))
        return bind_archive(in, word);
    return qt_inputs_bind(in, 0, word, NULL, 0, word, strlen(word));
}

// A folder holds input_<i> or <name> with one of the endings that can be read.
static int bind_folder(qt_inputs *in, const char *dir) {
    static const char *const endings[] = {".npy", ".raw", ".png", ".jpg", ".jpeg"};
    struct stat st;
    if (stat(dir, &st) == 0 && !S_ISDIR(st.st_mode))
        return bind_file(in, dir);
    for (uint32_t i = 0; i < in->n_ports; i++) {
        if (in->sources[i].path || in->sources[i].array)
            continue;
        char plain[256], number[32];
        snprintf(number, sizeof number, "input_%u", i);
        const char *const names[] = {number, in->ports[i]->name,
                                     qt_file_name(in->ports[i]->name, plain, sizeof plain)};
        for (size_t k = 0; k < 3 && !in->sources[i].path; k++)
            for (size_t e = 0; e < sizeof endings / sizeof endings[0]; e++) {
                char path[4096];
                int n = snprintf(path, sizeof path, "%s/%s%s", dir, names[k], endings[e]);
                // A name with a slash would leave the folder.
                if (n < 0 || (size_t)n >= sizeof path || strchr(names[k], '/') ||
                    stat(path, &st) != 0 || !S_ISREG(st.st_mode))
                    continue;
                in->sources[i].path = strdup(path);
                if (!in->sources[i].path)
                    return qt_no_memory();
                break;
            }
    }
    return QT_EXIT_OK;
}

// Every input needs a source unless random ones were asked for.
static int check_complete(const qt_inputs *in, const qt_input_options *opt) {
    for (size_t s = 0; s < in->n_sets && !opt->random; s++)
        for (uint32_t i = 0; i < in->n_ports; i++) {
            const qt_source *src = &in->sources[s * in->n_ports + i];
            if (src->path || src->array)
                continue;
            if (opt->input_list)
                qt_error("%s: run %zu has no file for input '%s'", opt->input_list, s,
                         in->ports[i]->name);
            else if (opt->inputs)
                qt_error("%s: no input_%u.npy, nor a file named after input '%s'", opt->inputs, i,
                         in->ports[i]->name);
            else
                qt_error("input '%s' is missing; use --inputs DIR, %s=FILE or --random",
                         in->ports[i]->name, in->ports[i]->name);
            return QT_EXIT_INPUT;
        }
    return QT_EXIT_OK;
}

static int bind_all(const qt_input_options *opt, const qt_list *files, size_t first,
                    qt_inputs *in) {
    if (opt->input_list) {
        if (opt->inputs || files->n > first) {
            qt_error("--input-list goes with neither --inputs nor input files");
            return QT_EXIT_USAGE;
        }
        return qt_input_list_read(opt->input_list, in);
    }
    in->n_sets = 1;
    in->sources = calloc(in->n_ports ? in->n_ports : 1, sizeof *in->sources);
    if (!in->sources)
        return qt_no_memory();
    int code = QT_EXIT_OK;
    for (size_t i = first; i < files->n && code == QT_EXIT_OK; i++)
        code = bind_file(in, files->items[i]);
    if (code == QT_EXIT_OK && opt->inputs)
        code = bind_folder(in, opt->inputs);
    return code;
}

int qt_inputs_open(const ox_model *m, const qt_input_options *opt, const qt_list *files,
                   size_t first_file, qt_inputs *out) {
    qt_inputs in = {.opt = opt};
    int code = collect_ports(m->graph, &in);
    if (code == QT_EXIT_OK)
        code = parse_picture(opt, &in.picture);
    if (code == QT_EXIT_OK)
        code = bind_all(opt, files, first_file, &in);
    if (code == QT_EXIT_OK)
        code = check_complete(&in, opt);
    if (code != QT_EXIT_OK) {
        qt_inputs_close(&in);
        return code;
    }
    *out = in;
    return QT_EXIT_OK;
}

void qt_inputs_close(qt_inputs *in) {
    for (size_t i = 0; in->sources && i < in->n_sets * in->n_ports; i++)
        free(in->sources[i].path);
    free(in->sources);
    for (size_t i = 0; i < in->n_archives; i++)
        qt_npz_free(&in->archives[i]);
    free(in->archives);
    for (size_t i = 0; i < in->n_selected; i++)
        free(in->selected[i]);
    free(in->selected);
    free(in->ports);
    *in = (qt_inputs){0};
}
