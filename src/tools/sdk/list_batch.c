// SPDX-License-Identifier: MIT
#include "tools/sdk/list_batch.h"

#include "tools/quern/input_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int qs_list_open(const char *path, qc_tensor *const *tensors, uint32_t n, qs_list *out) {
    qs_list l = {.infos = calloc(n + 1, sizeof *l.infos)};
    l.in.ports = calloc(n + 1, sizeof *l.in.ports);
    if (!l.infos || !l.in.ports) {
        qs_list_close(&l);
        qt_error("out of memory");
        return QT_EXIT_FAILURE;
    }
    for (uint32_t i = 0; i < n; i++) {
        l.infos[i].name = tensors[i]->t.v1.name;
        l.in.ports[i] = &l.infos[i];
    }
    l.in.n_ports = n;
    int code = qt_input_list_read(path, &l.in);
    for (size_t s = 0; s < l.in.n_sets && code == QT_EXIT_OK; s++)
        for (uint32_t i = 0; i < l.in.n_ports && code == QT_EXIT_OK; i++)
            if (!l.in.sources[s * l.in.n_ports + i].path) {
                qt_error("%s: inference %zu has no file for '%s'", path, s, l.infos[i].name);
                code = QT_EXIT_INPUT;
            }
    if (code == QT_EXIT_OK)
        *out = l;
    else
        qs_list_close(&l);
    return code;
}

void qs_list_close(qs_list *l) {
    qt_inputs_close(&l->in);
    free(l->infos);
    *l = (qs_list){0};
}

static int wrong_size(const char *path, const qs_shape *s, size_t found, size_t full, size_t n) {
    if (n > 1)
        qt_error("%s: %zu bytes, input '%s' needs %zu, or %zu for one element of its batch: the "
                 "batch size found does not match %zu",
                 path, found, s->t->t.v1.name, full, full / n, n);
    else
        qt_error("%s: %zu bytes, input '%s' needs %zu", path, found, s->t->t.v1.name, full);
    return QT_EXIT_INPUT;
}

// How many files of a size fill a tensor: one, one for each element of its batch, or with
// --batch_multiplier one for each of the model's own batches. 0: none of these.
static size_t lines_for(size_t found, size_t full, size_t batch, size_t multiplier) {
    const size_t ways[] = {1, multiplier, batch};
    for (size_t i = 0; i < 3; i++)
        if (ways[i] && full % ways[i] == 0 && found == full / ways[i])
            return ways[i];
    return 0;
}

int qs_batching_of(const qs_list *l, const qs_set *s, const bool *native, qs_batching *out) {
    size_t together = 0;
    for (uint32_t i = 0; i < s->n_in; i++) {
        const char *path = l->in.sources[i].path;
        const qs_shape *shape = &s->shapes[i];
        size_t full = qs_file_bytes(shape, native[i]);
        size_t batch = shape->t->rank ? s->dims[i][0] : 1;
        struct stat st;
        if (stat(path, &st) != 0) {
            qt_error("%s: %s", path, strerror(errno));
            return QT_EXIT_INPUT;
        }
        size_t found = (size_t)st.st_size;
        size_t lines = lines_for(found, full, batch, shape->count / qc_tensor_count(shape->t));
        if (!lines)
            return wrong_size(path, shape, found, full, batch);
        if (together && together != lines) {
            qt_error("%s: input '%s' needs %zu lines for its batch, another one %zu", path,
                     shape->t->t.v1.name, lines, together);
            return QT_EXIT_INPUT;
        }
        together = lines;
    }
    out->lines = l->in.n_sets;
    out->together = together ? together : 1;
    out->groups = (out->lines + out->together - 1) / out->together;
    return QT_EXIT_OK;
}

qrn_status qs_batch_load(const qs_list *l, const qs_batching *b, size_t group, const bool *native,
                         qs_set *s) {
    const char **paths = calloc(b->together, sizeof *paths);
    if (!paths)
        return QRN_FAIL(QRN_E_MEM, "out of memory");
    qrn_status st = QRN_OK;
    for (uint32_t i = 0; i < s->n_in && st == QRN_OK; i++) {
        for (size_t k = 0; k < b->together; k++) {
            size_t line = group * b->together + k;
            paths[k] = line < b->lines ? l->in.sources[line * s->n_in + i].path : NULL;
        }
        st = qs_raw_load(&s->shapes[i], native[i], paths, b->together, s->buffers[i]);
    }
    free(paths);
    return st;
}
