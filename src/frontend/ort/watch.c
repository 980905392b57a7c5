// SPDX-License-Identifier: MIT
//
// The watcher of a session: a list of its runs, a pool of signals, and a thread that begins with
// the first execution. One lock guards all of it; the thread holds it while it asks and aborts, so
// that neither options nor signals go away under it. In a forked process there is no such thread
// until the first run there begins anew.
#include "frontend/ort/watch.h"

#include "frontend/ort/probe.h"
#include "frontend/ort/timeline.h"

#include "base/mem.h"

#include <time.h>
#include <unistd.h>

#define PATIENCE_MS 20 // executions that take no longer are never looked at
#define AWAKE 25       // looks without an execution before the thread sleeps: waking it costs

typedef struct watched {
    struct watched *next;
    pthread_t thread;
    const OrtRunOptions *options; // valid until the run ends
    Qnn_SignalHandle_t signal;    // of the execution that goes on; NULL: none
    uint64_t since_ns;            // it began
} watched;

typedef struct pooled {
    struct pooled *next;
    Qnn_SignalHandle_t signal;
    bool used;
} pooled;

struct qe_watch {
    const qc_client *client;
    _Atomic pid_t pid; // of the process that the rest belongs to
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pthread_t thread;
    bool runs, idle, stop; // the thread: exists, waits for an execution, shall end
    bool blind;            // the host cannot be asked
    watched *first;
    pooled *signals;
    qe_probe *probe; // of the thread
};

// --- the thread

static bool is_long(const watched *r, uint64_t now_ns) {
    return r->signal && now_ns - r->since_ns >= PATIENCE_MS * 1000000ull;
}

// Opens the probe, which takes milliseconds, without the lock.
static void open_probe(qe_watch *w) {
    pthread_mutex_unlock(&w->lock);
    qrn_status s = qe_probe_open(&w->probe);
    if (s != QRN_OK)
        qe_say(NULL, ORT_LOG_WARNING, "runs end between partitions only: %s", qrn_message());
    pthread_mutex_lock(&w->lock);
    w->blind = s != QRN_OK;
}

static void look_at_all(qe_watch *w) {
    uint64_t now = qe_now_ns();
    bool any = false;
    for (const watched *r = w->first; r; r = r->next)
        any |= is_long(r, now);
    if (any && !w->probe)
        open_probe(w);
    for (watched *r = w->first; r && w->probe && !w->stop; r = r->next)
        if (is_long(r, now) && qe_probe_ask(w->probe, r->options) == QE_TERMINATED)
            w->client->qnn.signalTrigger(r->signal); // one that is over ignores it
}

static bool any_executes(const qe_watch *w) {
    for (const watched *r = w->first; r; r = r->next)
        if (r->signal)
            return true;
    return false;
}

static void wait_a_while(qe_watch *w) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += PATIENCE_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    pthread_cond_timedwait(&w->wake, &w->lock, &until);
}

static void *watch(void *arg) {
    qe_watch *w = arg;
    unsigned quiet = 0;
    pthread_mutex_lock(&w->lock);
    while (!w->stop && !w->blind) {
        quiet = any_executes(w) ? 0 : quiet + 1;
        if (quiet > AWAKE) {
            w->idle = true;
            pthread_cond_wait(&w->wake, &w->lock);
            w->idle = false;
            quiet = 0;
            continue;
        }
        wait_a_while(w);
        look_at_all(w);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

// --- life

static void init(qe_watch *w) {
    pthread_condattr_t clock;
    pthread_mutex_init(&w->lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&w->wake, &clock);
    pthread_condattr_destroy(&clock);
    atomic_store(&w->pid, getpid());
}

static void drop_runs(qe_watch *w) {
    for (watched *r = w->first, *next; r; r = next) {
        next = r->next;
        qrn_free(r);
    }
    w->first = NULL;
}

// Before every use from outside. After a fork the parent's thread and runs do not exist here, and
// their lock may be held for ever; the probe may be half used and is left alone.
static void adopt(qe_watch *w) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    if (atomic_load(&w->pid) == getpid())
        return;
    pthread_mutex_lock(&lock);
    if (atomic_load(&w->pid) != getpid()) {
        drop_runs(w);
        w->runs = w->idle = w->stop = false;
        w->probe = NULL;
        init(w);
    }
    pthread_mutex_unlock(&lock);
}

qrn_status qe_watch_open(qe_ep *ep) {
    const QNN_INTERFACE_VER_TYPE *qnn = &ep->client->qnn;
    if (!qnn->signalCreate || !qnn->signalTrigger || !qnn->signalFree ||
        !qnn->propertyHasCapability ||
        QNN_GET_ERROR_CODE(qnn->propertyHasCapability(QNN_PROPERTY_SIGNAL_SUPPORT_ABORT)) !=
            QNN_PROPERTY_SUPPORTED)
        return QRN_OK;
    qe_watch *w = qrn_calloc(sizeof *w);
    if (!w)
        return QRN_FAIL(QRN_E_MEM, "watching runs: no memory");
    w->client = ep->client;
    init(w);
    ep->watch = w;
    return QRN_OK;
}

void qe_watch_close(qe_ep *ep) {
    qe_watch *w = ep->watch;
    if (!w)
        return;
    adopt(w);
    pthread_mutex_lock(&w->lock);
    w->stop = true;
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
    if (w->runs)
        pthread_join(w->thread, NULL);
    for (pooled *p = w->signals, *next; p; p = next) {
        next = p->next;
        w->client->qnn.signalFree(p->signal);
        qrn_free(p);
    }
    drop_runs(w);
    qe_probe_close(w->probe);
    pthread_cond_destroy(&w->wake);
    pthread_mutex_destroy(&w->lock);
    qrn_free(w);
    ep->watch = NULL;
}

// --- runs

qrn_status qe_watch_run(qe_ep *ep, const OrtRunOptions *options) {
    qe_watch *w = ep->watch;
    if (!w)
        return QRN_OK;
    watched *r = qrn_calloc(sizeof *r);
    if (!r)
        return QRN_FAIL(QRN_E_MEM, "watching a run: no memory");
    r->thread = pthread_self();
    r->options = options;
    adopt(w);
    pthread_mutex_lock(&w->lock);
    r->next = w->first;
    w->first = r;
    pthread_mutex_unlock(&w->lock);
    return QRN_OK;
}

void qe_watch_run_end(qe_ep *ep) {
    qe_watch *w = ep->watch;
    watched *ended = NULL;
    if (!w)
        return;
    pthread_mutex_lock(&w->lock);
    for (watched **at = &w->first; *at; at = &(*at)->next)
        if (pthread_equal((*at)->thread, pthread_self())) {
            ended = *at;
            *at = ended->next;
            break;
        }
    pthread_mutex_unlock(&w->lock);
    qrn_free(ended);
}

// The run that this thread works for. Threads of the host's pool are nobody's own: they are known
// only while there is one run.
static watched *own_run(const qe_watch *w) {
    for (watched *r = w->first; r; r = r->next)
        if (pthread_equal(r->thread, pthread_self()))
            return r->signal ? NULL : r;
    return w->first && !w->first->next && !w->first->signal ? w->first : NULL;
}

static Qnn_SignalHandle_t take_signal(qe_watch *w) {
    QnnSignal_Config_t abort = {.option = QNN_SIGNAL_CONFIG_OPTION_ABORT};
    const QnnSignal_Config_t *list[] = {&abort, NULL};
    pooled *p = w->signals;
    while (p && p->used)
        p = p->next;
    if (!p && (p = qrn_calloc(sizeof *p))) {
        if (w->client->qnn.signalCreate(w->client->backend, list, &p->signal) != QNN_SUCCESS) {
            qrn_free(p);
            return NULL;
        }
        p->next = w->signals;
        w->signals = p;
    }
    if (!p)
        return NULL;
    p->used = true;
    return p->signal;
}

Qnn_SignalHandle_t qe_watch_enter(qe_ep *ep) {
    qe_watch *w = ep->watch;
    Qnn_SignalHandle_t signal = NULL;
    if (!w || qe_timeline_listens(ep))
        return NULL;
    pthread_mutex_lock(&w->lock);
    watched *r = w->blind ? NULL : own_run(w);
    if (r && !w->runs)
        w->runs = pthread_create(&w->thread, NULL, watch, w) == 0;
    if (r && w->runs && (signal = take_signal(w))) {
        r->signal = signal;
        r->since_ns = qe_now_ns();
        if (w->idle)
            pthread_cond_signal(&w->wake);
    }
    pthread_mutex_unlock(&w->lock);
    return signal;
}

void qe_watch_leave(qe_ep *ep, Qnn_SignalHandle_t signal) {
    qe_watch *w = ep->watch;
    if (!signal)
        return;
    pthread_mutex_lock(&w->lock);
    for (watched *r = w->first; r; r = r->next)
        if (r->signal == signal)
            r->signal = NULL;
    for (pooled *p = w->signals; p; p = p->next)
        if (p->signal == signal)
            p->used = false;
    pthread_mutex_unlock(&w->lock);
}
