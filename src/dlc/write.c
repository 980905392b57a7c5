// SPDX-License-Identifier: MIT
//
// DLC files as lists of parts: metadata, then the records that they are made of.
#include "base/mem.h"
#include "base/outfile.h"
#include "dlc/topology.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct qrn_dlc_image {
    qrn_arena *arena;
    qrn_dlc_records records; // of a model
    qrn_text metadata;
    qrn_zip_part *parts;
    size_t n_parts;
    uint64_t size_bytes;
};

static qrn_status no_memory(void) { return QRN_FAIL(QRN_E_MEM, "out of memory for a DLC file"); }

// A record that is to be written.
typedef struct record {
    uint32_t type;
    qrn_zip_entry entry;
} record;

static void put_metadata(FILE *f, const record *list, uint32_t n) {
    fprintf(f, "{\"format\":\"quern-dlc\",\"version\":[%u,%u],\"producer\":\"Quern %s\",",
            QRN_DLC_VERSION_MAJOR, QRN_DLC_VERSION_MINOR, QUERN_VERSION);
    fputs("\"records\":[", f);
    for (uint32_t i = 1; i < n; i++) {
        fputs(i > 1 ? ",\n{\"name\":" : "\n{\"name\":", f);
        qrn_json_text(f, list[i].entry.name);
        fprintf(f, ",\"type\":%" PRIu32 "}", list[i].type);
    }
    fputs("]}\n", f);
}

// Entry 0 of the list is free for the metadata.
static qrn_status assemble(qrn_dlc_image *image, record *list, uint32_t n) {
    FILE *f = qrn_text_open(&image->metadata);
    if (f)
        put_metadata(f, list, n);
    qrn_zip_part *part = qrn_arena_alloc(image->arena, sizeof *part);
    qrn_zip_entry *entries = qrn_arena_alloc(image->arena, n * sizeof *entries);
    if ((f && !qrn_text_close(f, &image->metadata)) || !f || !part || !entries)
        return no_memory();
    *part = (qrn_zip_part){image->metadata.data, image->metadata.n};
    list[0] = (record){QRN_DLC_TYPE_METADATA, {QRN_DLC_METADATA, part, 1}};
    for (uint32_t i = 0; i < n; i++)
        entries[i] = list[i].entry;
    return qrn_zip_write(entries, n, image->arena, &image->parts, &image->n_parts,
                         &image->size_bytes);
}

static qrn_dlc_image *new_image(void) {
    qrn_dlc_image *i = qrn_calloc(sizeof *i);
    if (i && !(i->arena = qrn_arena_create())) {
        qrn_free(i);
        return NULL;
    }
    return i;
}

static qrn_status finish(qrn_dlc_image *image, qrn_status s, qrn_dlc_image **out) {
    if (s != QRN_OK) {
        qrn_dlc_image_free(image);
        return s;
    }
    *out = image;
    return QRN_OK;
}

static qrn_status of_model(const qrn_dlc_model *m, qrn_dlc_image *image) {
    qrn_dlc_records *r = &image->records;
    QRN_TRY(qrn_dlc_write_topology(m, image->arena, r));
    const qrn_zip_part topology = {r->topology.data, r->topology.n};
    const qrn_zip_part lists = {r->encodings.data, r->encodings.n};
    record list[] = {
        {0},
        {QRN_DLC_TYPE_TOPOLOGY, {QRN_DLC_TOPOLOGY, &topology, 1}},
        {QRN_DLC_TYPE_ENCODINGS, {QRN_DLC_ENCODINGS, &lists, 1}},
        {QRN_DLC_TYPE_WEIGHTS, {QRN_DLC_WEIGHTS, r->weights, r->n_weights}},
    };
    return assemble(image, list, sizeof list / sizeof *list);
}

qrn_status qrn_dlc_image_of_model(const qrn_dlc_model *m, qrn_dlc_image **out) {
    qrn_dlc_image *image = new_image();
    return image ? finish(image, of_model(m, image), out) : no_memory();
}

static qrn_status of_records(const qrn_dlc_record *records, uint32_t n, qrn_dlc_image *image) {
    record *list = qrn_arena_alloc(image->arena, (n + 1) * sizeof *list);
    qrn_zip_part *parts = qrn_arena_alloc(image->arena, (n + 1) * sizeof *parts);
    if (!list || !parts)
        return no_memory();
    uint32_t k = 1;
    for (uint32_t i = 0; i < n; i++) {
        if (strcmp(records[i].name, QRN_DLC_METADATA) == 0)
            continue;
        parts[k] = (qrn_zip_part){records[i].data, records[i].size_bytes};
        list[k] = (record){records[i].type, {records[i].name, &parts[k], 1}};
        k++;
    }
    if (k > QRN_DLC_MAX_RECORDS)
        return QRN_FAIL(QRN_E_UNSUPPORTED, "a DLC file of %u records, at most %u are allowed", k,
                        QRN_DLC_MAX_RECORDS);
    return assemble(image, list, k);
}

qrn_status qrn_dlc_image_of_records(const qrn_dlc_record *records, uint32_t n,
                                    qrn_dlc_image **out) {
    qrn_dlc_image *image = new_image();
    return image ? finish(image, of_records(records, n, image), out) : no_memory();
}

uint64_t qrn_dlc_image_bytes(const qrn_dlc_image *i) { return i->size_bytes; }

void qrn_dlc_image_copy(const qrn_dlc_image *i, void *to) {
    char *p = to;
    for (size_t k = 0; k < i->n_parts; p += i->parts[k++].size_bytes)
        if (i->parts[k].size_bytes)
            memcpy(p, i->parts[k].data, i->parts[k].size_bytes);
}

qrn_status qrn_dlc_image_save(const qrn_dlc_image *i, const char *path) {
    qrn_outfile f;
    QRN_TRY(qrn_outfile_begin(&f, path));
    for (size_t k = 0; k < i->n_parts; k++)
        qrn_outfile_write(&f, i->parts[k].data, i->parts[k].size_bytes);
    return qrn_outfile_commit(&f);
}

void qrn_dlc_image_free(qrn_dlc_image *i) {
    if (!i)
        return;
    free(i->records.topology.data);
    free(i->records.encodings.data);
    free(i->metadata.data);
    qrn_arena_destroy(i->arena);
    qrn_free(i);
}
