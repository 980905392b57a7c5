// SPDX-License-Identifier: MIT
//
// Folders that QUERN_DUMP wrote: executions, their indices, and arrays as real numbers.
#include "tools/quern/dump.h"

#include "base/file.h"
#include "tools/quern/files.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_DEPTH 2 // folders between QUERN_DUMP's and an execution's

static qrn_status damaged(const char *folder, const char *what) {
    return QRN_FAIL(QRN_E_ARGUMENT, "%s/index.json: damaged: %s", folder, what);
}

// --- the index

static qrn_status read_shape(const char *folder, const json_t *shape, qt_dumped *t) {
    size_t rank = json_array_size(shape);
    if (!json_is_array(shape) || rank > OX_MAX_RANK)
        return damaged(folder, "'shape' is not a list of dimensions");
    t->rank = (uint32_t)rank;
    for (size_t i = 0; i < rank; i++) {
        const json_t *d = json_array_get(shape, i);
        if (!json_is_integer(d) || json_integer_value(d) < 0)
            return damaged(folder, "a dimension is not a number");
        t->dims[i] = (uint64_t)json_integer_value(d);
    }
    return QRN_OK;
}

static const char *text_of(const json_t *o, const char *key) {
    return json_string_value(json_object_get(o, key));
}

static qrn_status read_tensor(const char *folder, const json_t *o, qt_dumped *t) {
    *t = (qt_dumped){.name = text_of(o, "name"),
                     .file = text_of(o, "file"),
                     .role = text_of(o, "role"),
                     .node = text_of(o, "node"),
                     .op = text_of(o, "op"),
                     .type = text_of(o, "type"),
                     .encoding = json_object_get(o, "encoding")};
    if (!t->name || !t->file || !t->role)
        return damaged(folder, "a tensor lacks 'name', 'file' or 'role'");
    if (strchr(t->file, '/') || t->file[0] == '.')
        return damaged(folder, "a file is outside the folder");
    if (t->encoding && !json_is_object(t->encoding))
        return damaged(folder, "an 'encoding' is not an object");
    return read_shape(folder, json_object_get(o, "shape"), t);
}

static qrn_status fill_dump(qt_dump *d) {
    const json_t *tensors = json_object_get(d->index, "tensors");
    const json_t *missing = json_object_get(d->index, "missing");
    d->graph = text_of(d->index, "graph");
    d->backend = text_of(d->index, "backend");
    if (json_integer_value(json_object_get(d->index, "quern_dump")) != 1)
        return damaged(d->folder, "'quern_dump' is not 1");
    if (!d->graph || !d->backend || !json_is_array(tensors) || !json_is_array(missing))
        return damaged(d->folder, "'graph', 'backend', 'tensors' or 'missing' is not there");
    d->tensors = calloc(json_array_size(tensors) + 1, sizeof *d->tensors);
    d->missing = calloc(json_array_size(missing) + 1, sizeof *d->missing);
    if (!d->tensors || !d->missing)
        return QRN_FAIL(QRN_E_MEM, "out of memory");
    for (; d->n < json_array_size(tensors); d->n++)
        QRN_TRY(read_tensor(d->folder, json_array_get(tensors, d->n), &d->tensors[d->n]));
    for (; d->n_missing < json_array_size(missing); d->n_missing++) {
        const json_t *o = json_array_get(missing, d->n_missing);
        qt_undumped *m = &d->missing[d->n_missing];
        *m = (qt_undumped){text_of(o, "name"), text_of(o, "reason"), text_of(o, "into")};
        if (!m->name || !m->reason)
            return damaged(d->folder, "a missing tensor lacks 'name' or 'reason'");
    }
    return QRN_OK;
}

qrn_status qt_dump_parse(const char *folder, const char *text, size_t n, qt_dump *out) {
    json_error_t error;
    qt_dump d = {.folder = strdup(folder), .index = json_loadb(text, n, 0, &error)};
    qrn_status s = QRN_OK;
    if (!d.folder)
        s = QRN_FAIL(QRN_E_MEM, "out of memory");
    else if (!d.index)
        s = QRN_FAIL(QRN_E_ARGUMENT, "%s/index.json: line %d, column %d: %s", folder, error.line,
                     error.column, error.text);
    else
        s = fill_dump(&d);
    if (s != QRN_OK)
        qt_dump_free(&d);
    else
        *out = d;
    return s;
}

void qt_dump_free(qt_dump *d) {
    free(d->folder);
    free(d->tensors);
    free(d->missing);
    json_decref(d->index);
    *d = (qt_dump){0};
}

// --- folders

static char *join(const char *folder, const char *name) {
    size_t n = strlen(folder) + strlen(name) + 2;
    char *path = malloc(n);
    if (path)
        snprintf(path, n, "%s/%s", folder, name);
    return path;
}

static qrn_status add_run(const char *folder, const char *index, qt_dumps *out) {
    qt_dump *more = realloc(out->items, (out->n + 1) * sizeof *more);
    if (!more)
        return QRN_FAIL(QRN_E_MEM, "out of memory");
    out->items = more;
    qrn_file f = {0};
    QRN_TRY(qrn_file_map(index, &f));
    qrn_status s = qt_dump_parse(folder, f.data, f.size, &more[out->n]);
    qrn_file_unmap(&f);
    out->n += s == QRN_OK;
    return s;
}

static qrn_status search(const char *folder, unsigned depth, qt_dumps *out);

static qrn_status search_below(const char *folder, unsigned depth, qt_dumps *out) {
    struct dirent **names = NULL;
    int n = scandir(folder, &names, NULL, alphasort);
    if (n < 0 && errno == ENOTDIR)
        return QRN_FAIL(QRN_E_NOT_FOUND,
                        "%.800s: a file, not a folder that QUERN_DUMP wrote; to compare two models "
                        "use 'quern run MODEL --against OTHER'",
                        folder);
    if (n < 0)
        return QRN_FAIL(QRN_E_NOT_FOUND, "%.800s: %s", folder, strerror(errno));
    qrn_status s = QRN_OK;
    for (int i = 0; i < n; i++) {
        char *path = names[i]->d_name[0] == '.' ? NULL : join(folder, names[i]->d_name);
        struct stat st;
        if (path && s == QRN_OK && stat(path, &st) == 0 && S_ISDIR(st.st_mode))
            s = search(path, depth + 1, out);
        free(path);
        free(names[i]);
    }
    free(names);
    return s;
}

static qrn_status search(const char *folder, unsigned depth, qt_dumps *out) {
    char *index = join(folder, "index.json");
    struct stat st;
    if (!index)
        return QRN_FAIL(QRN_E_MEM, "out of memory");
    qrn_status s = QRN_OK;
    if (stat(index, &st) == 0)
        s = add_run(folder, index, out);
    else if (depth < MAX_DEPTH)
        s = search_below(folder, depth, out);
    free(index);
    return s;
}

static int by_graph(const void *pa, const void *pb) {
    const qt_dump *a = pa, *b = pb;
    int order = strcmp(a->graph, b->graph);
    json_int_t x = json_integer_value(json_object_get(a->index, "run")),
               y = json_integer_value(json_object_get(b->index, "run"));
    return order ? order : x != y ? (x < y ? -1 : 1) : strcmp(a->folder, b->folder);
}

qrn_status qt_dumps_read(const char *folder, qt_dumps *out) {
    qt_dumps d = {0};
    qrn_status s = search(folder, 0, &d);
    if (s == QRN_OK && d.n == 0)
        s = QRN_FAIL(QRN_E_NOT_FOUND,
                     "%s: no execution in it; run the program with QUERN_DUMP=%s first", folder,
                     folder);
    if (s != QRN_OK) {
        qt_dumps_free(&d);
        return s;
    }
    qsort(d.items, d.n, sizeof *d.items, by_graph);
    *out = d;
    return QRN_OK;
}

void qt_dumps_free(qt_dumps *d) {
    for (size_t i = 0; i < d->n; i++)
        qt_dump_free(&d->items[i]);
    free(d->items);
    *d = (qt_dumps){0};
}

// --- numbers

// How the quantized values of a tensor are grouped: g of element i is (i / inner) % n_groups for an
// axis.
typedef struct decoder {
    double scale, offset, shift;                // one for all
    const json_t *scales, *offsets, *additions; // one a group, else NULL
    size_t n_groups, inner;
    uint64_t block[OX_MAX_RANK]; // shape of a block; 0: none
} decoder;

static double number_at(const json_t *list, size_t i, double fallback) {
    const json_t *v = json_array_get(list, i);
    return json_is_number(v) ? json_number_value(v) : fallback;
}

static bool read_axis(const qt_dumped *t, decoder *d) {
    json_int_t axis = json_integer_value(json_object_get(t->encoding, "axis"));
    if (axis < 0 || (uint64_t)axis >= t->rank || d->n_groups != t->dims[axis])
        return false;
    d->inner = 1;
    for (uint32_t i = (uint32_t)axis + 1; i < t->rank; i++)
        d->inner *= (size_t)t->dims[i];
    return true;
}

static bool read_block(const qt_dumped *t, decoder *d) {
    const json_t *block = json_object_get(t->encoding, "block");
    size_t groups = 1;
    if (json_array_size(block) != t->rank)
        return false;
    for (uint32_t i = 0; i < t->rank; i++) {
        json_int_t size = json_integer_value(json_array_get(block, i));
        if (size < 1 || (uint64_t)size > t->dims[i] || t->dims[i] % (uint64_t)size)
            return false;
        d->block[i] = (uint64_t)size;
        groups *= (size_t)(t->dims[i] / (uint64_t)size);
    }
    return groups == d->n_groups;
}

static bool read_encoding(const qt_dumped *t, decoder *d) {
    const json_t *e = t->encoding;
    const char *kind = text_of(e, "kind");
    *d = (decoder){.scale = 1, .scales = json_object_get(e, "scales")};
    d->offsets = json_object_get(e, "offsets");
    d->additions = json_object_get(e, "real_offsets");
    d->n_groups = json_array_size(d->scales);
    d->shift = json_number_value(json_object_get(e, "shift"));
    if (kind && strcmp(kind, "tensor") == 0) {
        const json_t *scale = json_object_get(e, "scale");
        d->scale = json_number_value(scale);
        d->offset = json_number_value(json_object_get(e, "offset"));
        return json_is_number(scale);
    }
    bool axis = kind && strcmp(kind, "axis") == 0, block = kind && strcmp(kind, "block") == 0;
    return (axis && read_axis(t, d)) || (block && read_block(t, d));
}

static size_t group_of(const qt_dumped *t, const decoder *d, size_t i) {
    if (!d->block[0])
        return d->n_groups && d->inner ? i / d->inner % d->n_groups : 0;
    size_t group = 0, step = 1;
    for (uint32_t k = t->rank; k-- > 0; i /= (size_t)t->dims[k]) {
        group += i % (size_t)t->dims[k] / (size_t)d->block[k] * step;
        step *= (size_t)(t->dims[k] / d->block[k]);
    }
    return group;
}

static void decode(const qt_dumped *t, const decoder *d, const qt_array *codes, double *out) {
    for (size_t i = 0; i < codes->count; i++) {
        double code = qt_array_at(codes, i) + d->shift;
        size_t g = d->n_groups ? group_of(t, d, i) : 0;
        out[i] = d->n_groups ? number_at(d->scales, g, 0) * (code + number_at(d->offsets, g, 0)) +
                                   number_at(d->additions, g, 0)
                             : d->scale * (code + d->offset);
    }
}

double qt_dump_step(const qt_dumped *t) {
    double step = fabs(json_number_value(json_object_get(t->encoding, "scale")));
    return t->encoding && isfinite(step) ? step : 0;
}

bool qt_dump_range(const qt_dumped *t, double *low, double *high) {
    decoder d;
    double bits = json_number_value(json_object_get(t->encoding, "bits"));
    if (!t->encoding || !t->type || !(bits >= 1 && bits <= 32) || qt_dump_step(t) == 0 ||
        !read_encoding(t, &d) || d.n_groups)
        return false;
    double first = t->type[0] == 's' ? -ldexp(1, (int)bits - 1) : 0;
    *low = d.scale * (first + d.shift + d.offset);
    *high = *low + d.scale * (ldexp(1, (int)bits) - 1);
    return true;
}

static bool same_dims(const qt_array *a, const qt_dumped *t) {
    return a->rank == t->rank && memcmp(a->dims, t->dims, t->rank * sizeof *t->dims) == 0;
}

qrn_status qt_dump_load(const qt_dump *d, const qt_dumped *t, qt_array *out) {
    char *path = join(d->folder, t->file);
    qt_array stored = {0};
    decoder how = {.scale = 1};
    if (!path)
        return QRN_FAIL(QRN_E_MEM, "out of memory");
    qrn_status s = qt_npy_read(path, &stored);
    if (s == QRN_OK && !same_dims(&stored, t))
        s = QRN_FAIL(QRN_E_ARGUMENT, "%s: its shape is not that of index.json", path);
    if (s == QRN_OK && t->encoding && !read_encoding(t, &how))
        s = QRN_FAIL(QRN_E_ARGUMENT, "%s/index.json: tensor '%s': the encoding does not fit",
                     d->folder, t->name);
    if (s == QRN_OK)
        s = qt_array_create(path, OX_F64, t->rank, t->dims, out);
    if (s == QRN_OK)
        decode(t, &how, &stored, out->data);
    qt_array_free(&stored);
    free(path);
    return s;
}
