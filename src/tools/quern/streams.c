// SPDX-License-Identifier: MIT
//
// Streams: one thread each, all on the same finalized graph.
#include "tools/quern/streams.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct stream {
    pthread_t thread;
    bool started;
    qc_graph *graph;
    void *const *in;
    void **out;
    double until_ms;
    size_t runs;
    qrn_status status;
    char message[QRN_MESSAGE_MAX]; // the thread's own, which ends with it
} stream;

static void *run_stream(void *arg) {
    stream *t = arg;
    while (t->status == QRN_OK && qt_now_ms() < t->until_ms) {
        t->status = qc_graph_execute(t->graph, (const void *const *)t->in, t->out);
        t->runs++;
    }
    if (t->status != QRN_OK)
        memcpy(t->message, qrn_message(), strlen(qrn_message()) + 1);
    return NULL;
}

static bool make_outputs(stream *t) {
    t->out = calloc(t->graph->n_outputs + 1, sizeof *t->out);
    for (uint32_t i = 0; t->out && i < t->graph->n_outputs; i++) {
        t->out[i] = aligned_alloc(64, (qc_tensor_bytes(t->graph->outputs[i]) + 127) / 64 * 64);
        if (!t->out[i])
            return false;
    }
    return t->out != NULL;
}

static qrn_status run_all(stream *list, uint32_t n, double seconds, double *rate) {
    double first = qt_now_ms();
    qrn_status s = QRN_OK;
    for (uint32_t i = 0; i < n && s == QRN_OK; i++) {
        list[i].until_ms = first + 1e3 * seconds;
        list[i].started = pthread_create(&list[i].thread, NULL, run_stream, &list[i]) == 0;
        if (!list[i].started)
            s = QRN_FAIL(QRN_E_GENERAL, "stream %u of %u cannot be started", i, n);
    }
    size_t runs = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!list[i].started)
            continue;
        pthread_join(list[i].thread, NULL);
        runs += list[i].runs;
        if (s == QRN_OK && list[i].status != QRN_OK)
            s = QRN_FAIL(list[i].status, "%s", list[i].message);
    }
    *rate = 1e3 * (double)runs / (qt_now_ms() - first);
    return s;
}

qrn_status qt_streams_run(qt_session *s, uint32_t n, double seconds, double *runs_per_second) {
    stream *list = calloc(n, sizeof *list);
    bool ok = list != NULL;
    for (uint32_t i = 0; ok && i < n; i++) {
        list[i].graph = s->model.graph;
        list[i].in = s->in;
        ok = make_outputs(&list[i]);
    }
    double rate = 0;
    qrn_status st = ok ? run_all(list, n, seconds, &rate)
                       : QRN_FAIL(QRN_E_MEM, "out of memory for %u streams", n);
    for (uint32_t i = 0; list && i < n; i++) {
        for (uint32_t k = 0; list[i].out && k < s->model.graph->n_outputs; k++)
            free(list[i].out[k]);
        free(list[i].out);
    }
    free(list);
    if (st == QRN_OK)
        *runs_per_second = rate;
    return st;
}

qrn_status qt_streams_curve(qt_session *s, uint32_t most, double seconds,
                            qt_stream_point points[QT_STREAM_POINTS], size_t *n) {
    *n = 0;
    for (uint32_t streams = 1; *n < QT_STREAM_POINTS; streams *= 2) {
        qt_stream_point *p = &points[*n];
        p->streams = streams < most ? streams : most;
        QRN_TRY(qt_streams_run(s, p->streams, seconds, &p->runs_per_second));
        p->latency_ms = 1e3 * p->streams / p->runs_per_second;
        ++*n;
        if (streams >= most)
            break;
    }
    return QRN_OK;
}
