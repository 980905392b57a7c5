// SPDX-License-Identifier: MIT
//
// Outputs and comparisons as text and JSON.
#include "tools/quern/report.h"

#include "base/file.h"
#include "frontend/tflite/tflite.h"
#include "tools/quern/files.h"
#include "tools/quern/flags.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_TOP 100
#define MAX_ROWS 8 // of a batch of scores

int qt_failed(const char *path, int code) {
    if (path)
        qt_error("%s: %s", path, qrn_message());
    else
        qt_error("%s", qrn_message());
    return code;
}

int qt_no_memory(void) {
    qt_error("out of memory");
    return QT_EXIT_FAILURE;
}

static bool ends_with(const char *text, const char *end) {
    size_t n = strlen(text), k = strlen(end);
    return n >= k && strcmp(text + n - k, end) == 0;
}

// One that was compiled is a context binary, which cannot be read node by node.
static qrn_status open_tflite(const char *path, ox_model **out) {
    ox_model *m;
    QRN_TRY(tl_model_open(path, &m));
    if (tl_is_compiled(m)) {
        ox_model_close(m);
        return QRN_FAIL(QRN_E_UNSUPPORTED,
                        "%s: it was compiled for an NPU; the model before that is needed here",
                        path);
    }
    *out = m;
    return QRN_OK;
}

int qt_open_model(const char *path, ox_model **out) {
    if (access(path, R_OK) != 0) {
        qt_error("%s: %s", path, strerror(errno));
        return QT_EXIT_FAILURE;
    }
    struct stat st;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
        qt_error("%s: a folder; name the model file in it", path);
        return QT_EXIT_REFUSED;
    }
    if (ends_with(path, ".bin") || ends_with(path, ".pte") || ends_with(path, ".dlc")) {
        qt_error("%s: %s; this command needs the ONNX or .tflite model that it was made from", path,
                 ends_with(path, ".bin")   ? "a context binary"
                 : ends_with(path, ".pte") ? "an ExecuTorch program"
                                           : "a DLC file");
        return QT_EXIT_REFUSED;
    }
    qrn_status s = tl_is_file(path) ? open_tflite(path, out) : ox_model_open(path, out);
    if (s == QRN_OK)
        return QT_EXIT_OK;
    qt_error("%s", qrn_message());
    if (ends_with(path, ".npy") || ends_with(path, ".npz") || qt_is_picture(path))
        qt_hint("name the model first, then the data for its inputs");
    return s == QRN_E_MAPPING ? QT_EXIT_FAILURE : QT_EXIT_REFUSED; // the disk, not the model
}

int qt_check_ending(const char *output, const char *const *wrong, const char *writes) {
    for (; *wrong; wrong++)
        if (ends_with(output, *wrong)) {
            qt_error("--output %s: this command writes %s", output, writes);
            return QT_EXIT_USAGE;
        }
    return QT_EXIT_OK;
}

const ox_tensor *qt_find_constant(const ox_graph *g, const char *name) {
    for (uint32_t i = 0; i < g->n_constants; i++)
        if (strcmp(g->constants[i].name, name) == 0)
            return &g->constants[i];
    return NULL;
}

json_t *qt_json_number(double v) { return isfinite(v) ? json_real(v) : json_null(); }

json_t *qt_json_shape(unsigned rank, const uint64_t *dims) {
    json_t *list = json_array();
    for (unsigned i = 0; i < rank; i++)
        json_array_append_new(list, json_integer((json_int_t)dims[i]));
    return list;
}

qrn_status qt_labels_read(const char *path, qt_labels *out) {
    qrn_file f = {0};
    QRN_TRY(qrn_file_map(path, &f));
    if (f.size && memchr(f.data, '\0', f.size)) {
        qrn_file_unmap(&f);
        return QRN_FAIL(QRN_E_UNSUPPORTED, "%s: not a text file with one class name per line",
                        path);
    }
    qt_labels l = {.text = malloc(f.size + 1)};
    size_t lines = 1;
    for (size_t i = 0; i < f.size; i++)
        lines += ((const char *)f.data)[i] == '\n';
    l.lines = calloc(lines, sizeof *l.lines);
    if (l.text && l.lines) {
        memcpy(l.text, f.data, f.size);
        l.text[f.size] = '\0';
    }
    qrn_file_unmap(&f);
    if (!l.text || !l.lines) {
        qt_labels_free(&l);
        return QRN_FAIL(QRN_E_MEM, "%s: out of memory", path);
    }
    for (char *at = l.text; at && l.n < lines;) {
        char *stop = strchr(at, '\n');
        if (stop)
            *stop = '\0';
        at[strcspn(at, "\r")] = '\0';
        if (stop || *at)
            l.lines[l.n++] = at;
        at = stop ? stop + 1 : NULL;
    }
    if (!l.n) {
        qt_labels_free(&l);
        return QRN_FAIL(QRN_E_UNSUPPORTED, "%s: empty; expected one class name per line", path);
    }
    *out = l;
    return QRN_OK;
}

void qt_labels_free(qt_labels *l) {
    free(l->lines);
    free(l->text);
    *l = (qt_labels){0};
}

// Scores of classes: floats with one dimension that counts, or a short batch of such rows.
static bool class_scores(const qt_array *a, size_t *rows, size_t *classes) {
    if (a->type != OX_F32 && a->type != OX_F16 && a->type != OX_F64)
        return false;
    size_t longest = 1;
    for (uint32_t d = 0; d < a->rank; d++)
        longest = a->dims[d] > longest ? (size_t)a->dims[d] : longest;
    *rows = 1;
    *classes = a->count;
    if (a->rank == 2 && a->dims[0] <= MAX_ROWS && a->dims[0] > 0) {
        *rows = (size_t)a->dims[0];
        *classes = (size_t)a->dims[1];
        return *classes >= 2;
    }
    return a->count >= 2 && longest == a->count;
}

// Indices of the k largest of a row, largest first, the lower index first among equals.
static size_t find_top(const qt_array *a, size_t first, size_t n, size_t k, size_t *top) {
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        double v = qt_array_at(a, first + i);
        if (isnan(v))
            continue;
        size_t at = found < k ? found : k;
        while (at > 0 && qt_array_at(a, first + top[at - 1]) < v)
            at--;
        if (at == k)
            continue;
        size_t last = found < k ? found++ : k - 1;
        for (; last > at; last--)
            top[last] = top[last - 1];
        top[at] = i;
    }
    return found;
}

void qt_print_array(const char *name, const qt_array *a, size_t top_k, const qt_labels *labels) {
    char shape[256];
    qt_stats s = qt_array_stats(a);
    qt_print("%s%s%s  %s %s", qt_style_on(QT_BOLD), name, qt_style_off(), ox_type_name(a->type),
             qt_shape_text(a->rank, a->dims, shape, sizeof shape));
    if (a->count == 1)
        qt_print("  value %.6g", qt_array_at(a, 0));
    else if (!isnan(s.mean))
        qt_print("  min %.6g  max %.6g  mean %.6g", s.min, s.max, s.mean);
    if (s.n_nan || s.n_inf)
        qt_print("  %s%zu NaN, %zu infinite%s", qt_style_on(QT_RED), s.n_nan, s.n_inf,
                 qt_style_off());
    qt_print("\n");
    size_t rows, classes, top[MAX_TOP];
    top_k = top_k < MAX_TOP ? top_k : MAX_TOP;
    if (!top_k || !class_scores(a, &rows, &classes))
        return;
    for (size_t r = 0; r < rows; r++) {
        size_t n = find_top(a, r * classes, classes, top_k, top);
        if (rows > 1)
            qt_print("  row %zu\n", r);
        for (size_t i = 0; i < n; i++)
            qt_print("  %6zu  %-12.6g %s\n", top[i], qt_array_at(a, r * classes + top[i]),
                     labels && top[i] < labels->n ? labels->lines[top[i]] : "");
    }
}

static json_t *json_top(const qt_array *a, size_t first, size_t classes, size_t top_k,
                        const qt_labels *labels) {
    size_t top[MAX_TOP], n = find_top(a, first, classes, top_k, top);
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        json_t *o = json_pack("{s:I,s:o}", "index", (json_int_t)top[i], "value",
                              qt_json_number(qt_array_at(a, first + top[i])));
        if (labels && top[i] < labels->n)
            json_object_set_new(o, "label", qt_json_text(labels->lines[top[i]]));
        json_array_append_new(list, o);
    }
    return list;
}

json_t *qt_json_array(const char *name, const qt_array *a, size_t top_k, const qt_labels *labels) {
    qt_stats s = qt_array_stats(a);
    json_t *o = json_pack("{s:o,s:s,s:o,s:o,s:o,s:o,s:I,s:I}", "name", qt_json_text(name), "type",
                          ox_type_name(a->type), "shape", qt_json_shape(a->rank, a->dims), "min",
                          qt_json_number(s.min), "max", qt_json_number(s.max), "mean",
                          qt_json_number(s.mean), "nan", (json_int_t)s.n_nan, "infinite",
                          (json_int_t)s.n_inf);
    size_t rows, classes;
    top_k = top_k < MAX_TOP ? top_k : MAX_TOP;
    if (o && top_k && class_scores(a, &rows, &classes)) {
        json_t *list = json_array();
        for (size_t r = 0; r < rows; r++)
            json_array_append_new(list, json_top(a, r * classes, classes, top_k, labels));
        json_object_set_new(o, "top", list);
    }
    return o;
}

static int worse_first(const void *pa, const void *pb) {
    const qt_compared *a = pa, *b = pb;
    if (a->c.n_mismatch != b->c.n_mismatch)
        return a->c.n_mismatch > b->c.n_mismatch ? -1 : 1;
    double x = qt_sqnr_db(&a->c), y = qt_sqnr_db(&b->c);
    return x < y ? -1 : x > y ? 1 : strcmp(a->name, b->name);
}

void qt_sort_compared(qt_compared *rows, size_t n) {
    if (n)
        qsort(rows, n, sizeof *rows, worse_first);
}

void qt_print_compared(const char *title, const qt_compared *rows, size_t n, size_t max_rows) {
    qt_print("%s%-40s %10s %10s %12s%s\n", qt_style_on(QT_BOLD), title, "SQNR dB", "cosine",
             "max error", qt_style_off());
    for (size_t i = 0; i < n && (!max_rows || i < max_rows); i++) {
        const qt_comparison *c = &rows[i].c;
        double sqnr = qt_sqnr_db(c);
        char text[32] = "equal", cell[QT_CELL];
        if (c->error > 0)
            snprintf(text, sizeof text, "%.1f", sqnr);
        qt_print("%-40s %10s %10.6f %12.4g", qt_cell_name(rows[i].name, 40, cell), text,
                 qt_cosine(c), c->max_error);
        if (c->n_mismatch)
            qt_print("  %s%zu not finite%s", qt_style_on(QT_RED), c->n_mismatch, qt_style_off());
        if (c->n_both)
            qt_print("  %s%zu not finite on both sides%s", qt_style_on(QT_YELLOW), c->n_both,
                     qt_style_off());
        qt_print("\n");
    }
    if (max_rows && n > max_rows)
        qt_print("... and %zu more, no worse\n", n - max_rows);
}

json_t *qt_json_compared(const qt_compared *rows, size_t n) {
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        const qt_comparison *c = &rows[i].c;
        json_array_append_new(
            list,
            json_pack("{s:o,s:o,s:o,s:o,s:b,s:I,s:I}", "name", qt_json_text(rows[i].name),
                      "sqnr_db", qt_json_number(qt_sqnr_db(c)), "cosine",
                      qt_json_number(qt_cosine(c)), "max_error", qt_json_number(c->max_error),
                      "equal", c->error == 0 && c->n_mismatch == 0, "not_finite",
                      (json_int_t)c->n_mismatch, "not_finite_in_both", (json_int_t)c->n_both));
    }
    return list;
}
