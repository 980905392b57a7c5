// SPDX-License-Identifier: MIT
//
// Tensor data outside of the model file: mapped, never read as a whole. A model may name files in
// its own folder only, links followed; a hostile one cannot reach anything else.
#include "frontend/onnx/reader/reader.h"
#include "frontend/onnx/reader/schema.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

qrn_status ox_map_file(ox_model *m, const char *path, const qrn_file **out) {
    for (ox_mapping *p = m->mappings; p; p = p->next)
        if (strcmp(p->path, path) == 0) {
            *out = &p->file;
            return QRN_OK;
        }
    ox_mapping *p = qrn_arena_alloc(m->arena, sizeof *p);
    if (!p || !(p->path = qrn_arena_strdup(m->arena, path)))
        return QRN_FAIL(QRN_E_MEM, "out of memory");
    QRN_TRY(qrn_file_map(path, &p->file));
    p->next = m->mappings;
    m->mappings = p;
    *out = &p->file;
    return QRN_OK;
}

qrn_status ox_model_check(const ox_model *m) {
    for (const ox_mapping *p = m->mappings; p; p = p->next)
        QRN_TRY(qrn_file_check(&p->file));
    return QRN_OK;
}

void ox_unmap_files(ox_model *m) {
    for (ox_mapping *p = m->mappings; p; p = p->next)
        qrn_file_unmap(&p->file);
}

static qrn_status read_number(const ox_wire *w, const char *key, const char *text, uint64_t *out) {
    uint64_t v = 0;
    for (const char *c = text; *c; c++) {
        uint64_t digit = (uint64_t)(*c - '0');
        if (*c < '0' || *c > '9' || v > (UINT64_MAX - digit) / 10)
            return QRN_FAIL(QRN_E_BINARY, "offset %zu: %s '%.40s' of external data",
                            ox_wire_offset(w), key, text);
        v = v * 10 + digit;
    }
    *out = v;
    return QRN_OK;
}

qrn_status ox_read_external_entry(ox_reader *r, ox_bytes message, ox_external *x) {
    const char *key = "", *value = "";
    ox_wire w = ox_wire_of(r->base, message);
    for (bool more;;) {
        QRN_TRY(ox_wire_next(&w, &more));
        if (!more)
            break;
        if (w.field == PB_ENTRY_KEY)
            QRN_TRY(ox_read_text(r, &w, &key));
        if (w.field == PB_ENTRY_VALUE)
            QRN_TRY(ox_read_text(r, &w, &value));
    }
    if (strcmp(key, "location") == 0)
        x->location = value;
    if (strcmp(key, "offset") == 0)
        return read_number(&w, key, value, &x->offset);
    if (strcmp(key, "length") == 0) {
        x->has_length = true;
        return read_number(&w, key, value, &x->length);
    }
    return QRN_OK;
}

// The folder of a path, with a slash at its end and all links followed; false when there is none.
static bool folder_of(const char *path, char *out) {
    char copy[PATH_MAX];
    const char *slash = strrchr(path, '/');
    int n = snprintf(copy, sizeof copy, "%.*s", slash ? (int)(slash - path + 1) : 2,
                     slash ? path : "./");
    if (n < 0 || n >= PATH_MAX || !realpath(copy, out))
        return false;
    size_t length = strlen(out);
    if (length + 2 > PATH_MAX)
        return false;
    if (out[length - 1] != '/')
        memcpy(out + length, "/", 2);
    return true;
}

static bool inside(const char *folder, const char *path) {
    return strncmp(path, folder, strlen(folder)) == 0;
}

// Looks in the folder that the model was opened from, then, when the model is a link, beside the
// file it leads to. What is found must lie in one of the two: caches of downloaded models keep
// links to a model and to its data side by side.
static qrn_status resolve(const ox_model *m, const ox_tensor *t, const char *location, char *out) {
    char real[PATH_MAX], here[PATH_MAX], there[PATH_MAX], path[PATH_MAX * 2];
    if (location[0] == '/')
        return QRN_FAIL(QRN_E_BINARY,
                        "tensor '%.200s': external data '%.200s' is not in the model's folder",
                        t->name, location);
    if (!realpath(m->path, real) || !folder_of(m->path, here) || !folder_of(real, there))
        return QRN_FAIL(QRN_E_NOT_FOUND, "the folder of the model cannot be read");
    snprintf(path, sizeof path, "%s%s", here, location);
    bool found = realpath(path, out) != NULL;
    if (!found) {
        snprintf(path, sizeof path, "%s%s", there, location);
        found = realpath(path, out) != NULL;
    }
    if (!found)
        return QRN_FAIL(QRN_E_NOT_FOUND, "tensor '%.200s': external data '%.200s' is missing",
                        t->name, location);
    if (!inside(here, out) && !inside(there, out))
        return QRN_FAIL(QRN_E_BINARY,
                        "tensor '%.200s': external data '%.200s' is not in the model's folder",
                        t->name, location);
    return QRN_OK;
}

qrn_status ox_read_external(ox_reader *r, const ox_external *x, ox_tensor *t) {
    if (!r->model->mappings)
        return QRN_FAIL(QRN_E_UNSUPPORTED, "tensor '%.200s': external data of a model in memory",
                        t->name);
    if (!x->location)
        return QRN_FAIL(QRN_E_BINARY, "tensor '%.200s': external data without a location", t->name);
    char path[PATH_MAX];
    const qrn_file *f = NULL;
    QRN_TRY(resolve(r->model, t, x->location, path));
    QRN_TRY(ox_map_file(r->model, path, &f));
    uint64_t length = x->has_length ? x->length : t->bytes;
    if (x->offset > f->size || length > f->size - x->offset || length < t->bytes)
        return QRN_FAIL(QRN_E_BINARY,
                        "tensor '%.200s': external data '%.200s' has %zu bytes, needed are %zu "
                        "from offset %llu",
                        t->name, x->location, f->size, t->bytes, (unsigned long long)x->offset);
    t->data = (const char *)f->data + x->offset;
    return QRN_OK;
}
