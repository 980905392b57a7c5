// SPDX-License-Identifier: MIT
//
// Writing adapters of a compiled context, and applying them to a loaded one.
#include "tools/quern/adapter.h"

#include "base/file.h"
#include "tools/quern/files.h"
#include "tools/quern/output.h"
#include "tools/quern/report.h"

#include <stdlib.h>
#include <string.h>

// Which archive goes into which graph.
typedef struct writing {
    qc_client *client;
    const char *path; // of the archive
    qt_npz values;
    bool *used; // by a tensor of a graph
} writing;

static bool is_model(const char *path) {
    const char *dot = strrchr(path, '.');
    return dot && strcmp(dot, ".onnx") == 0;
}

static const qt_array *find_array(const writing *w, const char *name) {
    for (size_t i = 0; i < w->values.n; i++)
        if (strcmp(w->values.names[i], name) == 0) {
            w->used[i] = true;
            return &w->values.arrays[i];
        }
    return NULL;
}

static bool same_shape(const qt_array *a, const qc_tensor *t) {
    bool same = a->rank == t->rank || (a->rank == 0 && t->rank == 1 && t->dims[0] == 1);
    for (uint32_t d = 0; same && d < a->rank; d++)
        same = a->dims[d] == t->dims[d];
    return same;
}

// The tensor with the archive's values; *data is from malloc.
static int new_value(const writing *w, const qc_tensor *t, Qnn_Tensor_t *out, void **data) {
    const char *name = t->t.v1.name;
    const qt_array *a = find_array(w, name);
    if (!a) {
        qt_error("%s: it has no %s '%s', which the model's adapters have", w->path,
                 is_model(w->path) ? "constant" : "array", name);
        return QT_EXIT_INPUT;
    }
    if (!same_shape(a, t)) {
        qt_error("%s: array '%s' has %zu elements in %u dimensions, the model's tensor %zu in %u; "
                 "shapes must be the same",
                 w->path, name, a->count, a->rank, qc_tensor_count(t), t->rank);
        return QT_EXIT_INPUT;
    }
    if (!(*data = malloc(qc_tensor_bytes(t) ? qc_tensor_bytes(t) : 1)))
        return qt_no_memory();
    if (qt_to_qnn(name, a, t->t.v1.dataType, *data) != QRN_OK) {
        qt_error("%s: %s", w->path, qrn_message());
        return QT_EXIT_INPUT;
    }
    *out = t->t;
    out->v1.clientBuf = (Qnn_ClientBuffer_t){*data, (uint32_t)qc_tensor_bytes(t)};
    return QT_EXIT_OK;
}

static int refused(const char *path) {
    qt_error("%s: %s", path, qrn_message());
    return QT_EXIT_REFUSED;
}

// Gives a graph its new values and compiles it with them.
static int update_graph(const writing *w, const ox_result *g) {
    uint32_t n = g->n_updatable;
    Qnn_Tensor_t *tensors = calloc(n, sizeof *tensors);
    const Qnn_Tensor_t **list = calloc(n, sizeof *list);
    void **data = calloc(n, sizeof *data);
    int code = tensors && list && data ? QT_EXIT_OK : qt_no_memory();
    for (uint32_t i = 0; i < n && code == QT_EXIT_OK; i++) {
        list[i] = &tensors[i];
        code = new_value(w, g->updatable[i], &tensors[i], &data[i]);
    }
    const QNN_INTERFACE_VER_TYPE *q = &w->client->qnn;
    if (code == QT_EXIT_OK &&
        qc_check(w->client, q->tensorUpdateGraphTensors(g->graph->handle, list, n),
                 "tensorUpdateGraphTensors") != QRN_OK)
        code = refused(w->path);
    if (code == QT_EXIT_OK && qc_check(w->client, q->graphFinalize(g->graph->handle, NULL, NULL),
                                       "graphFinalize") != QRN_OK)
        code = refused(w->path);
    for (uint32_t i = 0; data && i < n; i++)
        free(data[i]);
    free(data);
    free(list);
    free(tensors);
    return code;
}

static QnnContext_Buffer_t raw_buffer(void *data, uint64_t size) {
    return (QnnContext_Buffer_t){
        .version = QNN_CONTEXT_BUFFER_VERSION_1,
        .v1 = {.memType = QNN_CONTEXTMEMTYPE_RAW, .binaryBuf = {data, size}}};
}

static int write_section(const qc_client *c, const char *path) {
    const QNN_INTERFACE_VER_TYPE *q = &c->qnn;
    Qnn_ContextBinarySize_t size = 0, written = 0;
    if (qc_check(
            c,
            q->contextGetBinarySectionSize(c->context, NULL, QNN_CONTEXT_SECTION_UPDATABLE, &size),
            "contextGetBinarySectionSize") != QRN_OK)
        return refused(path);
    void *data = malloc(size ? size : 1);
    if (!data)
        return qt_no_memory();
    QnnContext_Buffer_t buffer = raw_buffer(data, size);
    int code = QT_EXIT_OK;
    if (qc_check(c,
                 q->contextGetBinarySection(c->context, NULL, QNN_CONTEXT_SECTION_UPDATABLE,
                                            &buffer, &written, NULL, NULL),
                 "contextGetBinarySection") != QRN_OK)
        code = refused(path);
    const qt_part whole = {data, (size_t)written};
    if (code == QT_EXIT_OK && !qt_write_file(path, &whole, 1))
        code = QT_EXIT_FAILURE;
    free(data);
    return code;
}

// --- values out of another model

static bool has_array(const qt_npz *z, const char *name) {
    for (size_t i = 0; i < z->n; i++)
        if (strcmp(z->names[i], name) == 0)
            return true;
    return false;
}

static qrn_status copy_constant(const char *path, const ox_tensor *c, qt_npz *to) {
    if (ox_type_bits(c->type) < 8)
        return QRN_FAIL(QRN_E_UNSUPPORTED,
                        "%s: constant '%s' is %s; give its values in an .npz archive", path,
                        c->name, ox_type_name(c->type));
    QRN_TRY(qt_array_create(c->name, c->type, c->rank, c->dims, &to->arrays[to->n]));
    if (c->bytes)
        memcpy(to->arrays[to->n].data, c->data, c->bytes);
    to->names[to->n] = strdup(c->name);
    return to->names[to->n++] ? QRN_OK : QRN_FAIL(QRN_E_MEM, "%s: out of memory", path);
}

// Those constants of the model that the graphs have as updateable tensors.
static qrn_status read_constants(const ox_model *m, const ox_result *const *graphs, size_t n_graphs,
                                 const char *path, qt_npz *out) {
    size_t most = 0;
    for (size_t i = 0; i < n_graphs; i++)
        most += graphs[i]->n_updatable;
    out->names = calloc(most + 1, sizeof *out->names);
    out->arrays = calloc(most + 1, sizeof *out->arrays);
    if (!out->names || !out->arrays)
        return QRN_FAIL(QRN_E_MEM, "%s: out of memory", path);
    for (size_t i = 0; i < n_graphs; i++)
        for (uint32_t k = 0; k < graphs[i]->n_updatable; k++) {
            const char *name = graphs[i]->updatable[k]->t.v1.name;
            const ox_tensor *c = qt_find_constant(m->graph, name);
            if (c && !has_array(out, name))
                QRN_TRY(copy_constant(path, c, out));
        }
    return QRN_OK;
}

static int read_model(const char *path, const ox_result *const *graphs, size_t n_graphs,
                      qt_npz *out) {
    ox_model *m = NULL;
    int code = qt_open_model(path, &m);
    if (code == QT_EXIT_OK && read_constants(m, graphs, n_graphs, path, out) != QRN_OK) {
        qt_error("%s", qrn_message());
        code = QT_EXIT_INPUT;
    }
    ox_model_close(m);
    return code;
}

static int read_values(writing *w, const ox_result *const *graphs, size_t n_graphs) {
    if (is_model(w->path))
        return read_model(w->path, graphs, n_graphs, &w->values);
    if (qt_arrays_read(w->path, &w->values) == QRN_OK)
        return QT_EXIT_OK;
    qt_error("%s", qrn_message());
    return QT_EXIT_INPUT;
}

// An array that no tensor has is a misspelt name, or belongs to another model.
static int check_used(const writing *w) {
    for (size_t i = 0; i < w->values.n; i++)
        if (!w->used[i]) {
            qt_error("%s: array '%s' is not an updateable tensor of the model", w->path,
                     w->values.names[i]);
            return QT_EXIT_INPUT;
        }
    return QT_EXIT_OK;
}

int qt_adapter_write(qc_client *c, const ox_result *const *graphs, size_t n_graphs,
                     const char *path, const char *out_path) {
    writing w = {.client = c, .path = path};
    int code = read_values(&w, graphs, n_graphs);
    if (code == QT_EXIT_OK && !(w.used = calloc(w.values.n + 1, sizeof *w.used)))
        code = qt_no_memory();
    for (size_t i = 0; i < n_graphs && code == QT_EXIT_OK; i++)
        code = update_graph(&w, graphs[i]);
    if (code == QT_EXIT_OK)
        code = check_used(&w);
    if (code == QT_EXIT_OK)
        code = write_section(c, out_path);
    qt_npz_free(&w.values);
    free(w.used);
    return code;
}

int qt_adapter_apply(qc_client *c, const char *path) {
    qrn_file f;
    if (qrn_file_map(path, &f) != QRN_OK) {
        qt_error("%s", qrn_message());
        return QT_EXIT_FAILURE;
    }
    QnnContext_Buffer_t buffer = raw_buffer((void *)(uintptr_t)f.data, f.size);
    qrn_status s =
        qc_check(c,
                 c->qnn.contextApplyBinarySection(c->context, NULL, QNN_CONTEXT_SECTION_UPDATABLE,
                                                  &buffer, NULL, NULL),
                 "contextApplyBinarySection");
    qrn_file_unmap(&f);
    return s == QRN_OK ? QT_EXIT_OK : refused(path);
}
