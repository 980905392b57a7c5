// SPDX-License-Identifier: MIT
//
// Call frames and execution buffers of graphs; see frame.h.
#include "core/frame.h"

#include "base/mem.h"

static qrn_frame *new_frame(const qrn_api_graph *g) {
    uint32_t n_nodes = g->n_plan_nodes;
    size_t report_words = (qrn_this_backend.report_bytes + 7) / 8;
    qrn_frame *f = qrn_calloc(
        sizeof(*f) + n_nodes * sizeof(qrn_node_time) + report_words * sizeof(uint64_t) +
        g->n_io * (sizeof(qrn_binding) + 2 * sizeof(void *) + sizeof(size_t) + sizeof(uint32_t)));
    if (!f)
        return NULL;
    f->n_nodes = n_nodes;
    f->n_io = g->n_io;
    f->node_times = (qrn_node_time *)(f + 1);
    f->report = f->node_times + n_nodes;
    f->io = (qrn_binding *)((uint64_t *)f->report + report_words);
    f->spare = (void **)(f->io + g->n_io);
    f->memory = (qrn_api_mem **)(f->spare + g->n_io);
    f->spare_bytes = (size_t *)(f->memory + g->n_io);
    f->place = (uint32_t *)(f->spare_bytes + g->n_io);
    return f;
}

// One idle frame has a place of its own, which needs no lock; further ones are in a list.
qrn_frame *qrn_frame_take(qrn_api_graph *g) {
    qrn_frame *kept = atomic_exchange(&g->own->frame, NULL);
    if (kept)
        return kept;
    pthread_mutex_lock(&g->context->own->lock);
    qrn_frame *f = g->own->frames;
    if (f)
        g->own->frames = f->next;
    pthread_mutex_unlock(&g->context->own->lock);
    return f ? f : new_frame(g);
}

void qrn_frame_give(qrn_api_graph *g, qrn_frame *f) {
    qrn_frame *none = NULL;
    if (atomic_compare_exchange_strong(&g->own->frame, &none, f))
        return;
    pthread_mutex_lock(&g->context->own->lock);
    f->next = g->own->frames;
    g->own->frames = f;
    pthread_mutex_unlock(&g->context->own->lock);
}

static void free_frame(qrn_frame *f) {
    for (uint32_t i = 0; f && i < f->n_io; i++)
        qrn_free(f->spare[i]);
    qrn_free(f);
}

void qrn_frames_free(qrn_api_graph *g) {
    free_frame(atomic_exchange(&g->own->frame, NULL));
    while (g->own->frames) {
        qrn_frame *f = g->own->frames;
        g->own->frames = f->next;
        free_frame(f);
    }
}

void qrn_exec_buffers_free(qrn_exec_buffer *b) {
    while (b) {
        qrn_exec_buffer *next = b->next;
        qrn_free(b->data);
        qrn_free(b);
        b = next;
    }
}
