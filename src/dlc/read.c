// SPDX-License-Identifier: MIT
//
// Opening DLC files: the archive, the metadata that says what each record is, then the graphs.
#include "base/mem.h"
#include "base/strmap.h"
#include "dlc/topology.h"

#include <string.h>

const qrn_dlc_record *qrn_dlc_find(const qrn_dlc *d, const char *name) {
    for (uint32_t i = 0; i < d->n_records; i++)
        if (strcmp(d->records[i].name, name) == 0)
            return &d->records[i];
    return NULL;
}

qrn_status qrn_dlc_add(qrn_dlc *d, const qrn_dlc_record *r) {
    if (d->n_records >= QRN_DLC_MAX_RECORDS)
        return QRN_FAIL(QRN_E_ARGUMENT,
                        "record '%s': the DLC file has %u records, which is all it "
                        "can have",
                        r->name, d->n_records);
    qrn_dlc_record *list = qrn_arena_alloc(d->arena, (d->n_records + 1) * sizeof *list);
    void *data = qrn_arena_alloc(d->arena, r->size_bytes);
    const char *name = qrn_arena_strdup(d->arena, r->name);
    if (!list || !data || !name)
        return QRN_FAIL(QRN_E_MEM, "record '%s': out of memory", r->name);
    memcpy(list, d->records, d->n_records * sizeof *list);
    memcpy(data, r->data, r->size_bytes);
    list[d->n_records] = (qrn_dlc_record){name, r->type, data, r->size_bytes};
    d->records = list; // the old list stays in the arena: handles refer to it
    d->n_records++;
    return QRN_OK;
}

static qrn_status check_version(const qrn_dlc_site *s, const qrn_json *top) {
    const qrn_json *format = qrn_json_member(top, "format");
    if (!format || format->kind != QRN_JSON_STRING || strcmp(format->text, "quern-dlc") != 0)
        return QRN_FAIL(QRN_E_BINARY, "%s: not a DLC file that Quern wrote", s->name);
    const qrn_json *v = NULL;
    uint64_t major = 0;
    QRN_TRY(qrn_dlc_member(s, top, "version", QRN_JSON_ARRAY, true, &v));
    if (v->n != 2)
        return qrn_dlc_wrong(s, v, "'version' is not a pair of numbers");
    QRN_TRY(qrn_dlc_value_u64(s, v->first, UINT32_MAX, &major));
    if (major != QRN_DLC_VERSION_MAJOR)
        return QRN_FAIL(QRN_E_BINARY_VERSION,
                        "%s: a DLC file of version %llu, this library reads version %u; write it "
                        "again from its model",
                        s->name, (unsigned long long)major, QRN_DLC_VERSION_MAJOR);
    return QRN_OK;
}

// The list of the metadata names each of the other records once, in their order.
static qrn_status read_types(const qrn_dlc_site *s, const qrn_json *top, qrn_dlc *d) {
    const qrn_json *list = NULL;
    QRN_TRY(qrn_dlc_member(s, top, "records", QRN_JSON_ARRAY, true, &list));
    if (list->n != d->n_records - 1)
        return qrn_dlc_wrong(s, list, "'records' and the archive differ in length");
    uint32_t i = 1;
    for (const qrn_json *r = list->first; r; r = r->next, i++) {
        const char *name = NULL;
        QRN_TRY(qrn_dlc_text(s, r, "name", &name));
        QRN_TRY(qrn_dlc_u32(s, r, "type", UINT32_MAX, &d->records[i].type));
        if (strcmp(name, d->records[i].name) != 0)
            return qrn_dlc_wrong(s, r, "'records' and the archive differ in names or order");
    }
    return QRN_OK;
}

static qrn_status unique_names(const char *name, const qrn_dlc *d) {
    qrn_strmap names = {0};
    qrn_status s = QRN_OK;
    for (uint32_t i = 0; s == QRN_OK && i < d->n_records; i++) {
        if (qrn_strmap_get(&names, d->records[i].name))
            s = QRN_FAIL(QRN_E_BINARY, "%s: two records are called '%s'", name, d->records[i].name);
        else if (!qrn_strmap_put(&names, d->records[i].name, &d->records[i]))
            s = QRN_FAIL(QRN_E_MEM, "%s: out of memory", name);
    }
    qrn_strmap_clear(&names);
    return s;
}

static qrn_status read_metadata(const char *name, qrn_dlc *d) {
    qrn_dlc_site s = {.name = name, .dlc = d, .graph = "", .item = ""};
    qrn_json *top = NULL;
    if (strcmp(d->records[0].name, QRN_DLC_METADATA) != 0)
        return QRN_FAIL(QRN_E_BINARY,
                        "%s: not a DLC file that Quern wrote: its first record is "
                        "'%s', expected '%s'",
                        name, d->records[0].name, QRN_DLC_METADATA);
    QRN_TRY(qrn_dlc_json(name, &d->records[0], d->arena, &top));
    d->records[0].type = QRN_DLC_TYPE_METADATA;
    QRN_TRY(check_version(&s, top));
    QRN_TRY(qrn_dlc_text(&s, top, "producer", &d->producer));
    QRN_TRY(read_types(&s, top, d));
    return unique_names(name, d);
}

static qrn_status read_all(const char *name, const void *data, uint64_t size_bytes, qrn_dlc *d) {
    QRN_TRY(qrn_zip_read(name, data, size_bytes, d->arena, &d->records, &d->n_records));
    QRN_TRY(read_metadata(name, d));
    return qrn_dlc_read_topology(name, d);
}

qrn_status qrn_dlc_open(const char *name, const void *data, uint64_t size_bytes, qrn_dlc **out) {
    qrn_arena *a = qrn_arena_create();
    qrn_dlc *d = a ? qrn_arena_alloc(a, sizeof *d) : NULL;
    if (!d) {
        qrn_arena_destroy(a);
        return QRN_FAIL(QRN_E_MEM, "%s: out of memory", name);
    }
    d->arena = a;
    qrn_status s = read_all(name, data, size_bytes, d);
    if (s != QRN_OK) {
        qrn_arena_destroy(a);
        return s;
    }
    *out = d;
    return QRN_OK;
}

void qrn_dlc_close(qrn_dlc *d) {
    if (d)
        qrn_arena_destroy(d->arena);
}
