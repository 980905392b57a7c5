// SPDX-License-Identifier: MIT
//
// DLC files from hostile bytes: whatever they hold, the reader returns graphs that can be visited
// to the last byte, or says in words what is wrong; afterwards no memory is held. Checksums are set
// right first, so that changes reach the records. What was read is written again and read again.
// The entry points are libFuzzer's; fuzz_main.c runs them without libFuzzer.
#include "fuzz_main.h"

#include "base/crc32.h"
#include "base/mem.h"
#include "dlc/zip.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned n_read, n_rejected, n_nodes;

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc;
    (void)argv;
    return 0;
}

static void broken(const char *what) {
    fprintf(stderr, "%s: %s\n", what, qrn_message());
    abort();
}

static uint32_t u32(const uint8_t *p) {
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

// Where the directory can be followed, each entry gets the checksum of its bytes.
static void set_checksums(uint8_t *data, size_t size) {
    if (size < QRN_ZIP_END_BYTES)
        return;
    uint64_t at = u32(data + size - 6), n = data[size - 12];
    for (uint64_t i = 0; i < n && at + QRN_ZIP_CENTRAL_BYTES <= size; i++) {
        uint8_t *central = data + at;
        uint64_t local = u32(central + 42), bytes = u32(central + 24);
        at += QRN_ZIP_CENTRAL_BYTES + central[28] + central[30] + central[32];
        if (local + QRN_ZIP_LOCAL_BYTES > size)
            continue;
        uint64_t from = local + QRN_ZIP_LOCAL_BYTES + data[local + 26] + data[local + 28] +
                        256u * data[local + 29];
        if (from > size || bytes > size - from)
            continue;
        uint32_t crc = qrn_crc32(0, data + from, bytes);
        for (int k = 0; k < 4; k++)
            central[16 + k] = data[local + 14 + (size_t)k] = (uint8_t)(crc >> (8 * k));
    }
}

// Reads every byte, for the sanitizer.
static void visit(const void *data, size_t n) {
    const volatile uint8_t *p = data;
    for (size_t i = 0; p && i < n; i++)
        (void)p[i];
}

static void visit_tensor(const qrn_tensor *t) {
    const qrn_quant *q = &t->quant;
    if (!t->name || t->dtype >= QRN_DTYPE_COUNT || t->shape.rank > QRN_MAX_RANK ||
        (t->role == QRN_ROLE_STATIC && t->size_bytes && !t->data))
        broken("a tensor that contradicts itself");
    visit(t->name, strlen(t->name));
    visit(t->data, t->data ? t->size_bytes : 0);
    if (q->kind == QRN_QUANT_AXIS || q->kind == QRN_QUANT_BLOCK) {
        visit(q->scales, q->n_groups * sizeof *q->scales);
        visit(q->offsets, q->n_groups * sizeof *q->offsets);
        visit(q->real_offsets, q->n_groups * sizeof *q->real_offsets);
    }
    if (t->expansion)
        visit(t->expansion->factors, (size_t)q->n_groups * t->expansion->storage_bits / 8);
}

static void visit_node(const qrn_dlc_node *n) {
    for (uint32_t i = 0; i < n->n_in; i++)
        if (n->in[i])
            visit_tensor(n->in[i]);
    for (uint32_t i = 0; i < n->n_params; i++) {
        visit(n->param_names[i], strlen(n->param_names[i]));
        if (n->params[i].is_tensor)
            visit_tensor(n->params[i].tensor);
    }
    n_nodes++;
}

static void visit_all(const qrn_dlc *d) {
    for (uint32_t i = 0; i < d->n_records; i++) {
        visit(d->records[i].data, d->records[i].size_bytes);
        if (qrn_dlc_find(d, d->records[i].name) != &d->records[i])
            broken("a record that is not found by its name");
    }
    for (uint32_t i = 0; i < d->n_graphs; i++) {
        for (uint32_t k = 0; k < d->graphs[i].n_tensors; k++)
            visit_tensor(d->graphs[i].tensors[k]);
        for (uint32_t k = 0; k < d->graphs[i].n_nodes; k++)
            visit_node(&d->graphs[i].nodes[k]);
    }
}

// Its records make a file with the same graphs.
static void write_again(const qrn_dlc *d) {
    qrn_dlc_image *image = NULL;
    qrn_dlc *again = NULL;
    if (qrn_dlc_image_of_records(d->records, d->n_records, &image) != QRN_OK)
        broken("a file that cannot be written");
    uint64_t n = qrn_dlc_image_bytes(image);
    void *bytes = malloc(n);
    if (!bytes)
        broken("out of memory");
    qrn_dlc_image_copy(image, bytes);
    if (qrn_dlc_open("again", bytes, n, &again) != QRN_OK)
        broken("a written file that cannot be read");
    if (again->n_graphs != d->n_graphs || again->n_ids != d->n_ids)
        broken("a written file with other graphs");
    qrn_dlc_close(again);
    qrn_dlc_image_free(image);
    free(bytes);
}

// A record behind the others, as programs add them.
static void add_record(qrn_dlc *d) {
    static const char name[] = "added by the fuzzer";
    const qrn_dlc_record r = {name, 13, "{}", 2};
    uint32_t n = d->n_records;
    if (qrn_dlc_find(d, name) || n >= QRN_DLC_MAX_RECORDS)
        return;
    if (qrn_dlc_add(d, &r) != QRN_OK || d->n_records != n + 1 ||
        qrn_dlc_find(d, name) != &d->records[n])
        broken("a record that was not added");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    size_t live = qrn_alloc_live();
    qrn_dlc *d = NULL;
    // Of exactly its size, for the sanitizer.
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy)
        broken("out of memory");
    memcpy(copy, data, size);
    set_checksums(copy, size);
    qrn_message_clear();
    if (qrn_dlc_open("input", copy, size, &d) == QRN_OK) {
        n_read++;
        visit_all(d);
        add_record(d);
        write_again(d);
        qrn_dlc_close(d);
    } else {
        n_rejected++;
        if (strncmp(qrn_message(), "input:", 6) != 0)
            broken("a rejection that does not name the file");
    }
    free(copy);
    if (qrn_alloc_live() != live)
        broken("memory that is still held");
    return 0;
}

bool fuzz_end(void) {
    printf("%u read, %u rejected, %u nodes\n", n_read, n_rejected, n_nodes);
    return n_read && n_rejected && n_nodes;
}
