// SPDX-License-Identifier: MIT
//
// Constants by content. The checksum only finds candidates: bytes are always compared.
#include "binary/constants.h"

#include "base/crc32.h"
#include "base/mem.h"
#include "binary/format.h"

#include <string.h>

static uint32_t home_of(const qrn_constants *c, uint32_t crc, uint64_t size_bytes) {
    return (crc ^ (uint32_t)size_bytes * 0x9E3779B9u) & (c->n_slots - 1);
}

static bool grow(qrn_constants *c) {
    uint32_t cap = c->cap ? 2 * c->cap : 256;
    qrn_constant *items = qrn_realloc(c->items, c->n * sizeof *items, (size_t)cap * sizeof *items);
    if (!items)
        return false;
    c->items = items;
    c->cap = cap;
    uint32_t *slots = qrn_calloc(2 * (size_t)cap * sizeof *slots);
    if (!slots)
        return false;
    qrn_free(c->slots);
    c->slots = slots;
    c->n_slots = 2 * cap;
    for (uint32_t i = 0; i < c->n; i++) {
        uint32_t at = home_of(c, items[i].crc, items[i].size_bytes);
        while (slots[at])
            at = (at + 1) & (c->n_slots - 1);
        slots[at] = i + 1;
    }
    return true;
}

static void use(qrn_constant *k, uint32_t graph, bool param) {
    k->param |= param;
    k->n_graphs += k->last_graph != graph;
    k->last_graph = graph;
}

// May a graph use a constant that is there?
static bool shares(const qrn_constants *c, const qrn_constant *k, uint32_t graph) {
    return !c->apart || k->last_graph == graph || k->param || k->size_bytes < QRN_BIN_WEIGHT_BYTES;
}

qrn_status qrn_constants_add(qrn_constants *c, uint32_t graph, const void *data,
                             uint64_t size_bytes, bool param, uint32_t *index) {
    if (c->n >= c->cap && !grow(c))
        return QRN_FAIL(QRN_E_MEM, "out of memory for the constants of a binary");
    uint32_t crc = qrn_crc32(0, data, size_bytes);
    uint32_t at = home_of(c, crc, size_bytes);
    for (; c->slots[at]; at = (at + 1) & (c->n_slots - 1)) {
        qrn_constant *k = &c->items[c->slots[at] - 1];
        if (k->crc == crc && k->size_bytes == size_bytes && shares(c, k, graph) &&
            (k->data == data || memcmp(k->data, data, size_bytes) == 0)) {
            use(k, graph, param);
            *index = c->slots[at] - 1;
            return QRN_OK;
        }
    }
    *index = c->n;
    c->items[c->n] = (qrn_constant){.data = data,
                                    .size_bytes = size_bytes,
                                    .crc = crc,
                                    .n_graphs = 1,
                                    .last_graph = graph,
                                    .param = param};
    c->slots[at] = ++c->n;
    return QRN_OK;
}

static uint64_t rounded(uint64_t n) {
    return (n + QRN_BIN_CONST_ALIGN - 1) / QRN_BIN_CONST_ALIGN * QRN_BIN_CONST_ALIGN;
}

void qrn_constants_place(qrn_constants *c) {
    c->const_bytes = c->weights_bytes = c->shared_bytes = 0;
    for (uint32_t i = 0; i < c->n; i++) {
        qrn_constant *k = &c->items[i];
        uint64_t *end = &c->weights_bytes;
        k->section = QRN_BIN_SECTION_WEIGHTS;
        if (k->param || k->size_bytes < QRN_BIN_WEIGHT_BYTES) {
            k->section = QRN_BIN_SECTION_CONST;
            end = &c->const_bytes;
        } else if (k->n_graphs > 1) {
            k->section = QRN_BIN_SECTION_SHARED;
            end = &c->shared_bytes;
        }
        k->offset = *end;
        *end = rounded(*end + k->size_bytes);
    }
    c->const_bytes += c->const_bytes ? QRN_BIN_CONST_TAIL : 0;
    c->weights_bytes += c->weights_bytes ? QRN_BIN_CONST_TAIL : 0;
    c->shared_bytes += c->shared_bytes ? QRN_BIN_CONST_TAIL : 0;
}

void qrn_constants_free(qrn_constants *c) {
    qrn_free(c->items);
    qrn_free(c->slots);
    *c = (qrn_constants){0};
}
