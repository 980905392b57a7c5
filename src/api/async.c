// SPDX-License-Identifier: MIT
//
// The queue behind executeAsync: one thread and one ring per context, first in, first out. The
// thread starts with the first call and ends with the context. Locks: `lock` of the queue is taken
// by itself, never together with another one. What is queued has its graph and its memory pinned.
#include "api/execute.h"

#include "base/mem.h"
#include "core/errors.h"

#include <signal.h>

#define DEFAULT_DEPTH 16

typedef struct qrn_async {
    pthread_t thread;
    pthread_mutex_t lock;    // guards what follows
    pthread_cond_t filled;   // an execution was queued, or stop was set
    pthread_cond_t freed;    // a place in the ring became free
    uint32_t head, n, depth; // ring: oldest, count, capacity
    bool stop;               // end when the ring is empty
    qrn_execution ring[];
} qrn_async;

// Profiles are opened here: in the order of execution, one call at a time.
static Qnn_ErrorHandle_t run_one(qrn_execution *e) {
    qrn_api_log *log = e->graph->context->backend->log;
    qrn_api_profile *profile = e->call.profile;
    qrn_status s = qrn_call_open(&e->call);
    if (s != QRN_OK) {
        qrn_log(log, QNN_LOG_LEVEL_WARN, "graph '%s': executed without profile: %s",
                e->graph->ir->name, qrn_message());
        e->call.profile = NULL;
        e->call.start_ns = qrn_call_now_ns();
    }
    s = qrn_execution_run(e);
    qrn_profile_close(e->call.profile);
    qrn_profile_release(profile);
    Qnn_ErrorHandle_t code = qrn_api_end(QRN_COMP_GRAPH, s, log);
    qrn_signal_end(e->call.signal);
    qrn_handle_leave(e->graph->handle, false); // from here on the graph may be gone
    return code;
}

static void *worker(void *arg) {
    QRN_API_CALL; // notifications are callbacks: what they call does not wait
    qrn_async *q = arg;
    pthread_mutex_lock(&q->lock);
    for (;;) {
        while (q->n == 0 && !q->stop)
            pthread_cond_wait(&q->filled, &q->lock);
        if (q->n == 0)
            break;
        qrn_execution e = q->ring[q->head];
        q->head = (q->head + 1) % q->depth;
        q->n--;
        pthread_cond_signal(&q->freed);
        pthread_mutex_unlock(&q->lock);
        Qnn_NotifyStatus_t status = {.error = run_one(&e)};
        if (e.notify)
            e.notify(e.notify_param, status);
        pthread_mutex_lock(&q->lock);
    }
    pthread_mutex_unlock(&q->lock);
    return NULL;
}

// The application's signal handlers must not run on our thread.
static bool start_thread(qrn_async *q) {
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    bool ok = pthread_create(&q->thread, NULL, worker, q) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (ok)
        pthread_setname_np(q->thread, "quern-async");
    return ok;
}

static void destroy(qrn_async *q) {
    pthread_cond_destroy(&q->freed);
    pthread_cond_destroy(&q->filled);
    pthread_mutex_destroy(&q->lock);
    qrn_free(q);
}

static qrn_async *create(uint32_t depth) {
    depth = depth ? depth : DEFAULT_DEPTH;
    size_t bytes;
    if (!qrn_mul_size(depth, sizeof(qrn_execution), &bytes))
        return NULL;
    qrn_async *q = qrn_calloc(sizeof(*q) + bytes);
    if (!q)
        return NULL;
    q->depth = depth;
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->filled, NULL);
    pthread_cond_init(&q->freed, NULL);
    if (!start_thread(q)) {
        destroy(q);
        return NULL;
    }
    return q;
}

// In the child of a fork, which does not have the thread: what was queued is lost.
static void drop_lost(qrn_api_context *c) {
    if (c->own->async_lost) {
        qrn_free(c->own->async);
        c->own->async = NULL;
        c->own->async_lost = false;
    }
}

qrn_status qrn_async_submit(qrn_api_context *c, const qrn_execution *e) {
    pthread_mutex_lock(&c->own->lock);
    drop_lost(c);
    if (!c->own->async)
        c->own->async = create(c->own->queue_depth);
    qrn_async *q = c->own->async;
    pthread_mutex_unlock(&c->own->lock);
    if (!q)
        return QRN_FAIL(QRN_E_MEM, "graph '%s': no memory or thread for the queue",
                        e->graph->ir->name);
    pthread_mutex_lock(&q->lock);
    // A notification that queues more work must not wait for its own thread.
    bool may_wait = !qrn_this_backend.fail_when_full && !pthread_equal(q->thread, pthread_self());
    while (q->n == q->depth && may_wait)
        pthread_cond_wait(&q->freed, &q->lock);
    bool full = q->n == q->depth;
    if (!full) {
        q->ring[(q->head + q->n++) % q->depth] = *e;
        qrn_profile_hold(e->call.profile);
        qrn_handle_again(e->graph->handle);
        pthread_cond_signal(&q->filled);
    }
    pthread_mutex_unlock(&q->lock);
    if (full)
        return QRN_FAIL(QRN_E_FULL, "graph '%s': the queue of %u executions is full",
                        e->graph->ir->name, q->depth);
    return QRN_OK;
}

qrn_status qrn_async_finish(qrn_api_context *c) {
    drop_lost(c);
    qrn_async *q = c->own->async;
    if (!q)
        return QRN_OK;
    if (pthread_equal(q->thread, pthread_self()))
        return QRN_FAIL(QRN_E_ARGUMENT, "a context cannot be freed by a notification of its queue");
    pthread_mutex_lock(&q->lock);
    q->stop = true;
    pthread_cond_signal(&q->filled);
    pthread_mutex_unlock(&q->lock);
    pthread_join(q->thread, NULL);
    c->own->async = NULL;
    destroy(q);
    return QRN_OK;
}
