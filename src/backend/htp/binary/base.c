// SPDX-License-Identifier: MIT
//
// Which weights an adapter was made for. New values for updateable tensors only make sense beside
// the constants they were trained with, and another model of the same shapes would accept them in
// silence. So a graph with updateable tensors has a number made from the other constants, which is
// stored with it and with its sections.
#include "backend/htp/binary/binary.h"

#include "base/crc32.h"

#include <string.h>

static bool has_updateable(const qrn_graph *g) {
    for (uint32_t i = 0; i < g->n_tensors; i++)
        if (g->tensors[i]->updateable)
            return true;
    return false;
}

// 0: the bytes of a constant are not at hand.
static uint64_t compute(const qrn_graph *g) {
    uint32_t crc = 0;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < g->n_tensors; i++) {
        const qrn_tensor *t = g->tensors[i];
        if (t->role != QRN_ROLE_STATIC || t->updateable)
            continue;
        if (!t->data)
            return 0;
        crc = qrn_crc32(crc, t->name, strlen(t->name));
        crc = qrn_crc32(crc, t->data, t->size_bytes);
        bytes += t->size_bytes;
    }
    return (uint64_t)crc << 32 | (bytes & UINT32_MAX);
}

uint64_t qrn_htp_graph_base(const qrn_api_graph *g) {
    qrn_htp_graph *impl = qrn_htp_graph_of(g);
    uint64_t base = impl->options.base ? impl->options.base : impl->base;
    // Several threads may save a graph while others set its options: those are not touched.
    if (!base && has_updateable(g->ir))
        impl->base = base = compute(g->ir);
    return base;
}
