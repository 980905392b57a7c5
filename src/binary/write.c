// SPDX-License-Identifier: MIT
//
// Writing a context binary: the sections are made in memory, constants are copied straight into the
// file. The order of everything follows from the contents alone.
#include "binary/binary.h"

#include "base/crc32.h"
#include "base/mem.h"
#include "binary/format.h"
#include "binary/packed_scales.h"
#include "binary/write.h"

#include <string.h>

typedef struct section {
    uint32_t type, index;
    uint64_t offset, size_bytes;
    const qrn_out *bytes; // NULL: constants
} section;

// A binary as it will be.
typedef struct draft {
    qrn_constants constants;
    qrn_out info, *graphs;
    qrn_out *schedules; // by graph; empty: none. Their bytes are the arena's
    qrn_out *compiled;  // by graph; empty: none
    qrn_out *prepared;  // by graph; empty: none
    qrn_arena *arena;
    section *sections;
    uint32_t n_graphs, n_sections, part, minor;
    uint64_t file_bytes;
} draft;

static qrn_status no_memory(void) {
    return QRN_FAIL(QRN_E_MEM, "out of memory for a context binary");
}

static uint64_t aligned(uint64_t n) {
    return (n + QRN_BIN_SECTION_ALIGN - 1) / QRN_BIN_SECTION_ALIGN * QRN_BIN_SECTION_ALIGN;
}

static void add_section(draft *d, uint32_t type, uint32_t index, uint64_t size_bytes,
                        const qrn_out *bytes) {
    if (size_bytes)
        d->sections[d->n_sections++] = (section){type, index, 0, size_bytes, bytes};
}

static qrn_status lay_out(draft *d) {
    d->sections = qrn_calloc((4 * (size_t)d->n_graphs + 4) * sizeof *d->sections);
    if (!d->sections)
        return no_memory();
    const qrn_constants *c = &d->constants;
    add_section(d, QRN_BIN_SECTION_INFO, 0, d->info.n, &d->info);
    for (uint32_t g = 0; g < d->n_graphs; g++)
        add_section(d, QRN_BIN_SECTION_GRAPH, g, d->graphs[g].n, &d->graphs[g]);
    for (uint32_t g = 0; g < d->n_graphs; g++)
        add_section(d, QRN_BIN_SECTION_SCHEDULE, g, d->schedules[g].n, &d->schedules[g]);
    for (uint32_t g = 0; g < d->n_graphs; g++)
        add_section(d, QRN_BIN_SECTION_COMPILED, g, d->compiled[g].n, &d->compiled[g]);
    for (uint32_t g = 0; g < d->n_graphs; g++)
        add_section(d, QRN_BIN_SECTION_PREPARED, g, d->prepared[g].n, &d->prepared[g]);
    add_section(d, QRN_BIN_SECTION_CONST, 0, c->const_bytes, NULL);
    add_section(d, QRN_BIN_SECTION_WEIGHTS, 0, c->weights_bytes, NULL);
    add_section(d, QRN_BIN_SECTION_SHARED, 0, c->shared_bytes, NULL);
    uint64_t end = QRN_BIN_HEADER_BYTES + (uint64_t)d->n_sections * QRN_BIN_SECTION_BYTES;
    for (uint32_t i = 0; i < d->n_sections; i++) {
        d->sections[i].offset = aligned(end);
        end = d->sections[i].offset + d->sections[i].size_bytes;
    }
    d->file_bytes = end;
    return QRN_OK;
}

static void discard(draft *d) {
    qrn_constants_free(&d->constants);
    qrn_out_free(&d->info);
    for (uint32_t g = 0; d->graphs && g < d->n_graphs; g++)
        qrn_out_free(&d->graphs[g]);
    for (uint32_t g = 0; d->compiled && g < d->n_graphs; g++)
        qrn_out_free(&d->compiled[g]);
    for (uint32_t g = 0; d->prepared && g < d->n_graphs; g++)
        qrn_out_free(&d->prepared[g]);
    qrn_free(d->graphs);
    qrn_free(d->compiled);
    qrn_free(d->prepared);
    qrn_arena_destroy(d->arena);
    qrn_free(d->sections);
}

static qrn_status check(const qrn_bin *b) {
    if (b->n_graphs > QRN_BIN_MAX_GRAPHS)
        return QRN_FAIL(QRN_E_UNSUPPORTED, "%u graphs, a context binary holds at most %u",
                        b->n_graphs, QRN_BIN_MAX_GRAPHS);
    return QRN_OK;
}

static bool has_packed_scales(const qrn_bin_graph *g) {
    qrn_quant_packed p;
    for (uint32_t i = 0; i < g->n_tensors; i++)
        if (!g->tensors[i]->data && qrn_bin_packed_scales(g->tensors[i], &g->packed, &p))
            return true;
    return false;
}

static void need_minor(draft *d, uint32_t minor) { d->minor = d->minor < minor ? minor : d->minor; }

static qrn_status fill_draft(const qrn_bin *b, const qrn_bin_ids *ids, draft *d) {
    d->n_graphs = b->n_graphs;
    d->part = b->part;
    d->constants.apart = b->apart;
    d->graphs = qrn_calloc((b->n_graphs + 1) * sizeof *d->graphs);
    d->compiled = qrn_calloc((b->n_graphs + 1) * sizeof *d->compiled);
    d->prepared = qrn_calloc((b->n_graphs + 1) * sizeof *d->prepared);
    d->minor = 3;
    d->arena = qrn_arena_create();
    if (d->arena)
        d->schedules = qrn_arena_alloc(d->arena, (b->n_graphs + 1) * sizeof *d->schedules);
    if (!d->graphs || !d->compiled || !d->prepared || !d->schedules)
        return no_memory();
    for (uint32_t g = 0; g < b->n_graphs; g++) {
        QRN_TRY(qrn_bin_put_graph(&b->graphs[g], g, ids, &d->constants, &d->graphs[g]));
        if (b->graphs[g].schedule)
            QRN_TRY(qrn_bin_put_schedule(&b->graphs[g], ids, d->arena, &d->schedules[g]));
        if (b->graphs[g].compiled)
            QRN_TRY(qrn_bin_put_compiled(&b->graphs[g], g, ids, &d->constants, &d->compiled[g]));
        if (has_packed_scales(&b->graphs[g]))
            need_minor(d, 5);
        if (b->graphs[g].prepared) {
            QRN_TRY(qrn_bin_put_prepared(&b->graphs[g], g, &d->constants, &d->prepared[g]));
            need_minor(d, 4);
        }
    }
    qrn_constants_place(&d->constants);
    QRN_TRY(qrn_bin_put_info(b, ids, &d->constants, &d->info));
    return lay_out(d);
}

static qrn_status make_draft(const qrn_bin *b, draft *d) {
    qrn_bin_ids ids = {0};
    QRN_TRY(check(b));
    qrn_status s = qrn_bin_ids_of(b, &ids);
    if (s == QRN_OK)
        s = fill_draft(b, &ids, d);
    qrn_free(ids.sorted);
    if (s != QRN_OK)
        discard(d);
    return s;
}

qrn_status qrn_bin_size(const qrn_bin *b, uint64_t *size_bytes) {
    draft d = {0};
    QRN_TRY(make_draft(b, &d));
    *size_bytes = d.file_bytes;
    discard(&d);
    return QRN_OK;
}

// The bytes of one section of constants; gaps are zero already.
static void fill_constants(const draft *d, uint32_t type, unsigned char *dst) {
    for (uint32_t i = 0; i < d->constants.n; i++) {
        const qrn_constant *k = &d->constants.items[i];
        if (k->section == type)
            memcpy(dst + k->offset, k->data, k->size_bytes);
    }
}

static void fill_header(const draft *d, unsigned char *file) {
    memcpy(file, QRN_BIN_MAGIC, 8);
    qrn_store_u32(file + QRN_BIN_AT_MAJOR, QRN_BIN_VERSION_MAJOR);
    qrn_store_u32(file + QRN_BIN_AT_MINOR, d->minor);
    qrn_store_u64(file + QRN_BIN_AT_FILE_BYTES, d->file_bytes);
    qrn_store_u32(file + QRN_BIN_AT_SECTIONS, d->n_sections);
    qrn_store_u32(file + QRN_BIN_AT_PART, d->part);
    size_t bytes = QRN_BIN_HEADER_BYTES + (size_t)d->n_sections * QRN_BIN_SECTION_BYTES;
    qrn_store_u32(file + QRN_BIN_AT_CRC, qrn_crc32(0, file, bytes));
}

// Clears the gaps between what is written, so that no old byte of the buffer gets into the file.
static void fill_file(const draft *d, unsigned char *file) {
    unsigned char *entry = file + QRN_BIN_HEADER_BYTES;
    memset(file, 0, QRN_BIN_HEADER_BYTES + (size_t)d->n_sections * QRN_BIN_SECTION_BYTES);
    uint64_t end = QRN_BIN_HEADER_BYTES + (uint64_t)d->n_sections * QRN_BIN_SECTION_BYTES;
    for (uint32_t i = 0; i < d->n_sections; i++, entry += QRN_BIN_SECTION_BYTES) {
        const section *s = &d->sections[i];
        unsigned char *dst = file + s->offset;
        memset(file + end, 0, s->offset - end);
        if (s->bytes) {
            memcpy(dst, s->bytes->data, s->size_bytes);
        } else {
            memset(dst, 0, s->size_bytes);
            fill_constants(d, s->type, dst);
        }
        qrn_store_u32(entry, s->type);
        qrn_store_u32(entry + 4, s->index);
        qrn_store_u64(entry + 8, s->offset);
        qrn_store_u64(entry + 16, s->size_bytes);
        qrn_store_u32(entry + 24, qrn_crc32(0, dst, s->size_bytes));
        end = s->offset + s->size_bytes;
    }
    fill_header(d, file);
}

qrn_status qrn_bin_write(const qrn_bin *b, void *buf, uint64_t size_bytes, uint64_t *written) {
    draft d = {0};
    QRN_TRY(make_draft(b, &d));
    qrn_status s = QRN_OK;
    if (size_bytes < d.file_bytes)
        s = QRN_FAIL(QRN_E_ARGUMENT,
                     "context binary: buffer of %llu bytes, %llu needed: ask for the size again",
                     (unsigned long long)size_bytes, (unsigned long long)d.file_bytes);
    if (s == QRN_OK) {
        fill_file(&d, buf);
        *written = d.file_bytes;
    }
    discard(&d);
    return s;
}
