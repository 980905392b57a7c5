// SPDX-License-Identifier: MIT
//
// --dim and --shape: sizes for what a model leaves open. They are set in the model itself, so that
// every command that reads one sees fixed shapes.
#include "base/suggest.h"
#include "tools/quern/inputs.h"
#include "tools/quern/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NAMES 64 // among which a mistyped name is sought

// The inputs that a user may set, or the names of their dimensions.
typedef struct names {
    const char *items[MAX_NAMES];
    size_t n;
} names;

static void add_name(names *list, const char *name) {
    if (name && list->n < MAX_NAMES)
        list->items[list->n++] = name;
}

// Reads a size from 1 to 2^32 - 1 at *text and moves behind it.
static bool read_size(const char **text, int64_t *out) {
    char *end = NULL;
    errno = 0;
    long long v = strtoll(*text, &end, 10);
    if (end == *text || errno || v < 1 || v > UINT32_MAX)
        return false;
    *text = end;
    *out = v;
    return true;
}

static int64_t input_named(const ox_model *m, const char *name, size_t len) {
    for (uint32_t i = 0; i < m->graph->n_inputs; i++)
        if (strlen(m->graph->inputs[i].name) == len &&
            strncmp(m->graph->inputs[i].name, name, len) == 0 &&
            !qt_find_constant(m->graph, m->graph->inputs[i].name))
            return i;
    return -1;
}

// --dim or --shape of one thing twice: one of them is a mistake.
static int repeated(const char *flag, const qt_list *list, size_t at) {
    const char *text = list->items[at], *eq = strrchr(text, '=');
    size_t n = eq ? (size_t)(eq - text) + 1 : 0;
    for (size_t i = 0; i < at && n; i++)
        if (strncmp(list->items[i], text, n) == 0 && strcmp(list->items[i], text) != 0) {
            qt_error("--%s '%s': given twice, before as '%s'", flag, text, list->items[i]);
            return QT_EXIT_USAGE;
        }
    return QT_EXIT_OK;
}

static int unknown(const char *flag, const char *given, const char *what, const names *list) {
    const char *near = qrn_suggest(given, list->items, list->n);
    if (near)
        qt_error("--%s '%s': no %s; did you mean '%s'?", flag, given, what, near);
    else {
        char all[256] = "";
        size_t n = 0;
        for (size_t i = 0; i < list->n && n < sizeof all - 80; i++)
            n +=
                (size_t)snprintf(all + n, sizeof all - n, "%s%.60s", i ? ", " : "", list->items[i]);
        qt_error("--%s '%s': no %s%s%s", flag, given, what, list->n ? "; expected " : "", all);
    }
    return QT_EXIT_USAGE;
}

static bool is_open(const ox_model *m) {
    for (uint32_t i = 0; i < m->graph->n_inputs; i++) {
        const ox_info *p = &m->graph->inputs[i];
        bool open = !p->has_shape;
        for (uint32_t d = 0; d < p->rank; d++)
            open |= p->dims[d] < 0 || p->symbols[d];
        if (open && !qt_find_constant(m->graph, p->name))
            return true;
    }
    return false;
}

// The dimensions have no names, only places: "use x.2=SIZE, x.3=SIZE or --shape".
static int unnamed_dims(const ox_model *m, const char *text) {
    char all[256] = "";
    size_t n = 0;
    for (uint32_t i = 0; i < m->graph->n_inputs; i++)
        for (uint32_t d = 0; d < m->graph->inputs[i].rank && n < sizeof all - 80; d++)
            if (m->graph->inputs[i].dims[d] < 0)
                n += (size_t)snprintf(all + n, sizeof all - n, "%s%.50s.%u=SIZE", n ? ", " : "",
                                      m->graph->inputs[i].name, d);
    qt_error("--dim '%s': the dynamic dimensions have no names; use %s%s--shape", text, all,
             n ? " or " : "");
    return QT_EXIT_USAGE;
}

// A name that no dimension has: what else it may be.
static int unknown_dim(const ox_model *m, const char *text, const char *name) {
    const char *dot = strrchr(name, '.');
    int64_t input = dot ? input_named(m, name, (size_t)(dot - name)) : -1;
    names list = {.n = 0};
    for (uint32_t i = 0; i < m->graph->n_inputs; i++)
        for (uint32_t d = 0; d < m->graph->inputs[i].rank; d++)
            add_name(&list, m->graph->inputs[i].symbols[d]);
    if (strchr(name, '='))
        qt_error("--dim '%s': expected one NAME=SIZE; repeat --dim for each dimension", text);
    else if (input >= 0 && m->graph->inputs[input].has_shape && dot[1] >= '0' && dot[1] <= '9')
        qt_error("--dim '%s': input '%s' has %u dimension%s, counted from 0", text,
                 m->graph->inputs[input].name, m->graph->inputs[input].rank,
                 m->graph->inputs[input].rank == 1 ? "" : "s");
    else if (!is_open(m))
        qt_error("--dim '%s': the model has no dynamic dimension; leave out --dim", text);
    else if (list.n == 0)
        return unnamed_dims(m, text);
    else
        return unknown("dim", name, "input has such a dimension", &list);
    return QT_EXIT_USAGE;
}

// "INPUT.AXIS": the position of the input, and of the dimension.
static bool find_axis(const ox_model *m, const char *name, uint32_t *input, uint32_t *axis) {
    const char *dot = strrchr(name, '.');
    char *end = NULL;
    if (!dot || dot[1] < '0' || dot[1] > '9')
        return false;
    unsigned long d = strtoul(dot + 1, &end, 10);
    int64_t i = *end ? -1 : input_named(m, name, (size_t)(dot - name));
    if (i < 0 || !m->graph->inputs[i].has_shape || d >= m->graph->inputs[i].rank)
        return false;
    *input = (uint32_t)i;
    *axis = (uint32_t)d;
    return true;
}

static int shape_error(const char *flag, const char *text) {
    qt_error("--%s '%s': %s", flag, text, qrn_message());
    return QT_EXIT_USAGE;
}

static int set_dim(ox_model *m, const char *text) {
    const char *eq = strrchr(text, '='), *at = eq ? eq + 1 : "";
    int64_t size;
    if (!eq || eq == text || !read_size(&at, &size) || *at) {
        qt_error("--dim '%s': expected NAME=SIZE with a size of at least 1", text);
        return QT_EXIT_USAGE;
    }
    char *name = strndup(text, (size_t)(eq - text));
    uint32_t found = 0, input, axis;
    if (!name) {
        qt_error("out of memory");
        return QT_EXIT_FAILURE;
    }
    int code = QT_EXIT_OK;
    if (ox_bind_symbol(m, name, size, &found) != QRN_OK)
        code = shape_error("dim", text);
    else if (!found && find_axis(m, name, &input, &axis))
        code = ox_bind_dim(m, input, axis, size) == QRN_OK ? QT_EXIT_OK : shape_error("dim", text);
    else if (!found) // it would change nothing, and be missed where it was meant
        code = unknown_dim(m, text, name);
    free(name);
    return code;
}

static int set_shape(ox_model *m, const char *text) {
    const char *eq = strrchr(text, '='), *at = eq ? eq + 1 : "";
    int64_t dims[OX_MAX_RANK];
    uint32_t rank = 0;
    bool ok = eq && eq != text;
    while (ok && *at) {
        ok = rank < OX_MAX_RANK && read_size(&at, &dims[rank]) &&
             (!*at || ((*at == ',' || *at == 'x') && at[1]));
        at += ok && *at;
        rank++;
    }
    if (!ok || !rank) {
        qt_error("--shape '%s': expected INPUT=N,N,... with sizes of at least 1", text);
        return QT_EXIT_USAGE;
    }
    int64_t input = input_named(m, text, (size_t)(eq - text));
    if (input >= 0)
        return ox_bind_shape(m, (uint32_t)input, rank, dims) == QRN_OK ? QT_EXIT_OK
                                                                       : shape_error("shape", text);
    names list = {.n = 0};
    for (uint32_t i = 0; i < m->graph->n_inputs; i++)
        add_name(&list, m->graph->inputs[i].name);
    char *name = strndup(text, (size_t)(eq - text));
    int code = unknown("shape", name ? name : text, "input has that name", &list);
    free(name);
    return code;
}

int qt_set_shapes(const qt_input_options *opt, ox_model *m) {
    int code = QT_EXIT_OK;
    for (size_t i = 0; i < opt->shapes.n && code == QT_EXIT_OK; i++)
        code = repeated("shape", &opt->shapes, i);
    for (size_t i = 0; i < opt->dims.n && code == QT_EXIT_OK; i++)
        code = repeated("dim", &opt->dims, i);
    for (size_t i = 0; i < opt->shapes.n && code == QT_EXIT_OK; i++)
        code = set_shape(m, opt->shapes.items[i]);
    for (size_t i = 0; i < opt->dims.n && code == QT_EXIT_OK; i++)
        code = set_dim(m, opt->dims.items[i]);
    return code;
}

int qt_open_shaped(const char *path, const qt_input_options *opt, ox_model **out) {
    int code = qt_open_model(path, out);
    if (code != QT_EXIT_OK)
        return code;
    code = qt_set_shapes(opt, *out);
    if (code != QT_EXIT_OK) {
        ox_model_close(*out);
        *out = NULL;
    }
    return code;
}

// Names come from files and go to a shell.
static bool is_plain(const char *name) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    return *name && name[strspn(name, letters)] == '\0';
}

// A name of --dim for dimension d of an input, "" where the shell could not have it.
static void dim_name(const ox_info *input, uint32_t d, char *out, size_t n_bytes) {
    const char *symbol = input->symbols[d];
    out[0] = '\0';
    if (input->dims[d] >= 0 || !is_plain(symbol ? symbol : input->name))
        return;
    if (symbol)
        snprintf(out, n_bytes, "%s", symbol);
    else
        snprintf(out, n_bytes, "%s.%u", input->name, d);
}

void qt_print_dims(const char *word) {
    size_t n = strlen(word);
    ox_model *m = NULL;
    names seen = {.n = 0};
    if (n < 5 || strcmp(word + n - 5, ".onnx") != 0 || ox_model_open(word, &m) != QRN_OK)
        return;
    for (uint32_t i = 0; i < m->graph->n_inputs; i++)
        for (uint32_t d = 0; d < m->graph->inputs[i].rank; d++) {
            const ox_info *input = &m->graph->inputs[i];
            char name[256];
            dim_name(input, d, name, sizeof name);
            bool wanted = name[0] && !qt_find_constant(m->graph, input->name);
            for (size_t k = 0; wanted && k < seen.n; k++)
                wanted = strcmp(seen.items[k], name) != 0;
            if (wanted) {
                if (input->symbols[d])
                    add_name(&seen, input->symbols[d]);
                qt_print("%s\n", name);
            }
        }
    ox_model_close(m);
}
