// SPDX-License-Identifier: MIT
#include "tools/throughput/worker.h"

#include "tools/quern/output.h"
#include "tools/sdk/list_batch.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DEFAULT_DEPTH 10

// Files are written by one thread at a time (tools/quern/output.h).
static pthread_mutex_t writing = PTHREAD_MUTEX_INITIALIZER;

static int no_memory(void) {
    qt_error("out of memory");
    return QT_EXIT_FAILURE;
}

static int failed(const tp_worker *w, const tp_job *j) {
    qt_error("thread '%s', graph '%s': %s", w->t->name, j->graph->g->name, qrn_message());
    return QT_EXIT_FAILURE;
}

// --- making

// Item i of a list with one entry for each graph; one entry alone is for all.
static const char *item_of(const qs_words *words, uint32_t i) {
    return words->n == 0 ? NULL : words->n == 1 ? words->items[0] : words->items[i];
}

static int check_count(const tp_worker *w, const char *key, const qs_words *words, uint32_t n) {
    if (words->n <= 1 || words->n == n)
        return QT_EXIT_OK;
    qt_error("model '%s': %s has %zu entries for %u graphs", w->t->model->name, key, words->n, n);
    return QT_EXIT_INPUT;
}

static int open_job(tp_worker *w, const qs_graph *g, const char *list, const char *post,
                    const char *truth, tp_job *j) {
    const tp_model *m = w->t->model;
    const qs_int *depth = &w->t->context->depth;
    uint32_t n = !w->t->async.v ? 1 : depth->given ? (uint32_t)depth->v : DEFAULT_DEPTH;
    const qc_client *c = &(w->unit ? w->unit : &w->own)->view;
    j->graph = g;
    j->native = calloc(g->g->n_inputs + 1, sizeof *j->native);
    j->flights = calloc(n, sizeof *j->flights);
    if (!j->native || !j->flights)
        return no_memory();
    for (uint32_t i = 0; i < g->g->n_inputs; i++)
        j->native[i] = m->in_type.v == TP_NATIVE;
    for (uint32_t i = 0; i < (w->profile.target ? 1 : n); i++) {
        qs_flight_init(&j->flights[i]);
        j->n_flights = i + 1;
        if (qs_set_create(c, g->g, g->context, 1, QS_PRIVATE, NULL, &j->flights[i].set) != QRN_OK)
            return failed(w, j);
    }
    int code = QT_EXIT_OK;
    j->batching.groups = 1;
    if (list && !w->t->random.v) {
        code = qs_list_open(list, g->g->inputs, g->g->n_inputs, &j->list);
        if (code == QT_EXIT_OK)
            code = qs_batching_of(&j->list, &j->flights[0].set, j->native, &j->batching);
    }
    return code == QT_EXIT_OK ? tp_compare_open(post, truth, g->g, j->batching.groups, &j->compare)
                              : code;
}

static int open_jobs(tp_worker *w) {
    const qs_model *m = &(w->unit ? w->unit : &w->own)->model;
    const tp_model *about = w->t->model;
    qs_words lists = {0}, posts = {0}, truths = {0};
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->n_graphs; i++)
        n += strcmp(m->graphs[i].path, about->path) == 0;
    w->jobs = calloc(n ? n : 1, sizeof *w->jobs);
    int code = w->jobs ? qs_words_split("inputPath", about->inputs, ',', &lists) : no_memory();
    if (code == QT_EXIT_OK)
        code = qs_words_split("postProcessor", about->post, ',', &posts);
    if (code == QT_EXIT_OK)
        code = qs_words_split("groundTruthPath", about->truth, ',', &truths);
    if (code == QT_EXIT_OK)
        code = check_count(w, "inputPath", &lists, n);
    if (code == QT_EXIT_OK)
        code = check_count(w, "postProcessor", &posts, n);
    if (code == QT_EXIT_OK)
        code = check_count(w, "groundTruthPath", &truths, n);
    for (uint32_t i = 0; i < m->n_graphs && code == QT_EXIT_OK; i++) {
        uint32_t k = w->n_jobs;
        if (strcmp(m->graphs[i].path, about->path) != 0)
            continue;
        w->n_jobs++;
        code = open_job(w, &m->graphs[i], item_of(&lists, k), item_of(&posts, k),
                        item_of(&truths, k), &w->jobs[k]);
    }
    qs_words_free(&lists);
    qs_words_free(&posts);
    qs_words_free(&truths);
    return code;
}

static void close_jobs(tp_worker *w) {
    if (!w->mse)
        w->mse = calloc(w->n_jobs + 1, sizeof *w->mse);
    w->n_mse = w->mse ? w->n_jobs : 0;
    for (uint32_t i = 0; i < w->n_jobs; i++) {
        tp_job *j = &w->jobs[i];
        if (w->mse)
            w->mse[i] = j->compare.post == TP_POST_NONE ? -1 : tp_compare_mse(&j->compare);
        tp_compare_close(&j->compare);
        for (uint32_t k = 0; k < j->n_flights; k++)
            qs_flight_free(&j->flights[k]);
        qs_list_close(&j->list);
        free(j->flights);
        free(j->native);
    }
    free(w->jobs);
    w->jobs = NULL;
    w->n_jobs = 0;
}

static int open_own(tp_worker *w) {
    char *path = (char *)(uintptr_t)w->t->model->path; // only read
    const qs_words paths = {.items = &path, .n = 1};
    return tp_unit_open(w->client, w->t->context, NULL, &paths, &w->own);
}

int tp_worker_open(tp_worker *w) {
    static const char *const levels[] = {NULL, "basic", "detailed"};
    char dir[PATH_MAX];
    int n = snprintf(dir, sizeof dir, "%s/%s", w->t->model->output ? w->t->model->output : ".",
                     w->t->name);
    const qs_profile_options profile = {.level = levels[w->t->backend->profiling.v],
                                        .dir = dir,
                                        .program = "qnn-throughput-net-run"};
    if (n < 0 || (size_t)n >= sizeof dir) {
        qt_error("thread '%s': the outputPath is too long", w->t->name);
        return QT_EXIT_INPUT;
    }
    w->random = 0x9e3779b97f4a7c15u;
    w->min_us = UINT64_MAX;
    if (w->t->async.v && !qc_has(w->client->client, QNN_PROPERTY_GRAPH_SUPPORT_ASYNC_EXECUTION)) {
        qt_error("thread '%s': executeAsynchronous: %s does not execute asynchronously", w->t->name,
                 w->client->client->path);
        return QT_EXIT_REFUSED;
    }
    int code = qs_profile_open(w->client->client, &profile, &w->profile);
    return code == QT_EXIT_OK && w->unit ? open_jobs(w) : code;
}

void tp_worker_close(tp_worker *w) {
    if (w->jobs)
        close_jobs(w);
    tp_unit_close(&w->own);
    qs_profile_close(&w->profile);
}

// --- running

static void fill_random(tp_worker *w, qs_set *s) {
    for (uint32_t i = 0; i < s->n_in; i++) {
        bool floats = s->shapes[i].t->t.v1.dataType == QNN_DATATYPE_FLOAT_32;
        uint8_t *to = s->buffers[i];
        for (size_t k = 0; k < s->shapes[i].bytes; k += floats ? 4 : 1) {
            w->random ^= w->random << 13;
            w->random ^= w->random >> 7;
            w->random ^= w->random << 17;
            float v = (float)(w->random >> 40) * 0x1p-24f; // in [0, 1)
            if (floats)
                memcpy(to + k, &v, sizeof v);
            else
                to[k] = (uint8_t)(w->random & 1); // small numbers of every type
        }
    }
}

static int fill(tp_worker *w, tp_job *j, qs_flight *f) {
    bool first = j->n_started < j->n_flights, several = j->list.infos && j->batching.groups > 1;
    if (!first && !several && !w->t->load_in_loop.v)
        return QT_EXIT_OK;
    if (!j->list.infos) {
        fill_random(w, &f->set);
        return QT_EXIT_OK;
    }
    size_t group = (size_t)(j->n_started % j->batching.groups);
    if (qs_batch_load(&j->list, &j->batching, group, j->native, &f->set) == QRN_OK)
        return QT_EXIT_OK;
    qt_error("%s", qrn_message());
    return QT_EXIT_INPUT;
}

static int save(const tp_worker *w, const tp_job *j, const qs_flight *f, uint64_t index) {
    const tp_model *m = w->t->model;
    char root[PATH_MAX];
    if (m->save.v == TP_SAVE_NONE)
        return QT_EXIT_OK;
    snprintf(root, sizeof root, "%s/%s", m->output, w->t->name);
    const qs_output o = {.root = root,
                         .graph = w->n_jobs > 1 ? j->graph->g->name : NULL,
                         .floats = m->out_type.v != TP_NATIVE_ONLY,
                         .native = m->out_type.v != TP_FLOAT_ONLY};
    pthread_mutex_lock(&writing);
    int code = qs_output_write(&o, &f->set, m->save.v == TP_SAVE_LAST ? 0 : index, 0, 1);
    pthread_mutex_unlock(&writing);
    return code;
}

// Waits for an execution and takes what it made.
static int land(tp_worker *w, tp_job *j, qs_flight *f, uint64_t index) {
    bool async = w->t->async.v != 0;
    if (!f->started)
        return QT_EXIT_OK;
    qrn_status s = qs_flight_wait(f, async);
    qs_extension_end(&w->client->extension, QUERN_EXTENSION_PHASE_EXECUTE);
    if (s != QRN_OK)
        return failed(w, j);
    uint64_t us = f->stop_us - f->start_us;
    w->n++;
    w->sum_us += us;
    w->min_us = us < w->min_us ? us : w->min_us;
    w->max_us = us > w->max_us ? us : w->max_us;
    int code = qs_profile_take(&w->profile,
                               async ? QNN_SYSTEM_PROFILE_METHOD_TYPE_BACKEND_EXECUTE_ASYNC
                                     : QNN_SYSTEM_PROFILE_METHOD_TYPE_BACKEND_EXECUTE,
                               j->graph->g->name, f->start_us, w->profile.handle);
    if (code == QT_EXIT_OK)
        code = tp_compare_add(&j->compare, &f->set, index);
    return code == QT_EXIT_OK ? save(w, j, f, index) : code;
}

static int launch(tp_worker *w, tp_job *j) {
    qs_flight *f = &j->flights[j->n_started % j->n_flights];
    int code = land(w, j, f, j->n_started - j->n_flights);
    if (code == QT_EXIT_OK)
        code = fill(w, j, f);
    if (code != QT_EXIT_OK)
        return code;
    qs_extension_begin(&w->client->extension, QUERN_EXTENSION_PHASE_EXECUTE);
    qs_flight_start(f, w->t->async.v != 0, w->profile.handle, NULL);
    j->n_started++;
    return QT_EXIT_OK;
}

static void pause_us(int64_t us) {
    const struct timespec t = {us / 1000000, us % 1000000 * 1000};
    if (us > 0)
        (void)nanosleep(&t, NULL);
}

static bool is_over(const tp_worker *w, uint64_t rounds, uint64_t start_us) {
    uint64_t loop = w->t->loop.given ? (uint64_t)w->t->loop.v : 1;
    if (atomic_load(w->stop))
        return true;
    return w->t->unit.v == TP_SECOND ? qs_now_us() - start_us >= loop * 1000000 : rounds >= loop;
}

static int loop(tp_worker *w) {
    uint64_t start = qs_now_us();
    int code = QT_EXIT_OK;
    for (uint64_t rounds = 0; code == QT_EXIT_OK && !is_over(w, rounds, start); rounds++) {
        for (uint32_t i = 0; i < w->n_jobs && code == QT_EXIT_OK; i++)
            code = launch(w, &w->jobs[i]);
        pause_us(w->t->interval_us.v);
    }
    for (uint32_t i = 0; i < w->n_jobs; i++) {
        tp_job *j = &w->jobs[i];
        for (uint32_t k = 0; k < j->n_flights; k++) { // the oldest first
            uint64_t index = j->n_started + k - j->n_flights;
            int last = land(w, j, &j->flights[(j->n_started + k) % j->n_flights], index);
            code = code == QT_EXIT_OK ? last : code;
        }
    }
    w->wall_us += qs_now_us() - start;
    return code;
}

void *tp_worker_run(void *worker) {
    tp_worker *w = worker;
    w->code = QT_EXIT_OK;
    if (!w->unit) {
        w->code = open_own(w);
        if (w->code == QT_EXIT_OK)
            w->code = open_jobs(w);
    }
    if (w->code == QT_EXIT_OK)
        w->code = loop(w);
    if (!w->unit) {
        close_jobs(w);
        tp_unit_close(&w->own);
    }
    if (w->code != QT_EXIT_OK)
        atomic_store(w->stop, true); // the others need not go on
    return NULL;
}
