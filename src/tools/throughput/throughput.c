// SPDX-License-Identifier: MIT
//
// qnn-throughput-net-run: several models on one or more backends, in threads.
#include "tools/throughput/worker.h"

#include "base/file.h"
#include "tools/quern/output.h"
#include "tools/sdk/program.h"

#include <jansson.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

typedef struct tp_options {
    bool version; // first: see tools/sdk/program.h
    const char *config, *output;
} tp_options;

#define AT(field) offsetof(tp_options, field)

static const qt_flag flags[] = {
    {"config", 0, QT_FILE, "FILE", AT(config), NULL, "JSON that says what to run"},
    {"output", 0, QT_FILE, "FILE", AT(output), NULL, "JSON with the results of each thread"},
    QS_COMMON_FLAGS(tp_options),
    {0},
};

typedef struct job {
    tp_config config;
    qrn_arena *arena;
    tp_client *clients; // at most one for each thread
    uint32_t n_clients;
    tp_unit *units; // the same
    uint32_t n_units;
    tp_worker *workers;
    uint32_t n_workers; // that were opened
    int64_t iterations;
} job;

static atomic_bool stop; // an interrupt, or a thread that failed

static void on_interrupt(int sig) {
    (void)sig;
    atomic_store(&stop, true);
}

static int no_memory(void) {
    qt_error("out of memory");
    return QT_EXIT_FAILURE;
}

static int read_config(job *j, const char *path) {
    qrn_file f = {0};
    j->arena = qrn_arena_create();
    if (!j->arena)
        return no_memory();
    qrn_status s = qrn_file_map(path, &f);
    if (s == QRN_OK)
        s = tp_config_parse(path, f.data, f.size, j->arena, &j->config);
    qrn_file_unmap(&f);
    if (s == QRN_OK)
        return QT_EXIT_OK;
    qt_error("%s", qrn_message());
    return QT_EXIT_INPUT;
}

static bool same(const char *a, const char *b) { return a && b ? strcmp(a, b) == 0 : a == b; }

static const char *level_of(const tp_case *t) {
    static const char *const words[] = {"error", "warn", "info", "debug", "verbose"};
    return t->log_level.given ? words[t->log_level.v] : NULL;
}

// The backend of a thread, opened once for each file of its extension.
static int find_client(job *j, const tp_thread *t, tp_client **out) {
    for (uint32_t i = 0; i < j->n_clients; i++)
        if (j->clients[i].backend == t->backend && same(j->clients[i].config, t->backend_config)) {
            *out = &j->clients[i];
            return QT_EXIT_OK;
        }
    *out = &j->clients[j->n_clients++];
    return tp_client_open(t, level_of(&j->config.test), *out);
}

// Models that share the context of a thread: those that threads with its client name.
static int open_unit(job *j, const tp_client *c, const tp_thread *t, tp_unit *out) {
    const tp_threads *all = &j->config.test.threads;
    qs_words paths = {.items = calloc(all->n, sizeof *paths.items)};
    if (!paths.items)
        return no_memory();
    for (uint32_t i = 0; i < all->n; i++) {
        const tp_thread *x = &all->items[i];
        bool here = t->model->cached.v ? x == t
                                       : x->backend == t->backend && x->context == t->context &&
                                             same(x->backend_config, t->backend_config) &&
                                             !x->model->cached.v && !x->init_in_loop.v;
        for (size_t k = 0; k < paths.n && here; k++)
            here = strcmp(paths.items[k], x->model->path) != 0;
        if (here)
            paths.items[paths.n++] = (char *)(uintptr_t)x->model->path; // only read
    }
    int code = tp_unit_open(c, t->context, t->model->cached.v ? t->model : NULL, &paths, out);
    free(paths.items);
    return code;
}

static int find_unit(job *j, const tp_client *c, const tp_thread *t, const tp_unit **out) {
    const tp_model *cached = t->model->cached.v ? t->model : NULL;
    *out = NULL;
    if (t->init_in_loop.v)
        return QT_EXIT_OK;
    for (uint32_t i = 0; i < j->n_units; i++)
        if (j->units[i].owner == c && j->units[i].context == t->context &&
            j->units[i].cached == cached) {
            *out = &j->units[i];
            return QT_EXIT_OK;
        }
    *out = &j->units[j->n_units++];
    return open_unit(j, c, t, &j->units[j->n_units - 1]);
}

static int open_all(job *j) {
    const tp_threads *all = &j->config.test.threads;
    j->clients = calloc(all->n, sizeof *j->clients);
    j->units = calloc(all->n, sizeof *j->units);
    j->workers = calloc(all->n, sizeof *j->workers);
    int code = j->clients && j->units && j->workers ? QT_EXIT_OK : no_memory();
    for (uint32_t i = 0; i < all->n && code == QT_EXIT_OK; i++) {
        tp_worker *w = &j->workers[i];
        tp_client *c = NULL;
        w->t = &all->items[i];
        w->stop = &stop;
        code = find_client(j, w->t, &c);
        w->client = c;
        if (code == QT_EXIT_OK)
            code = find_unit(j, c, w->t, &w->unit);
        j->n_workers = i + 1;
        if (code == QT_EXIT_OK)
            code = tp_worker_open(w);
    }
    return code;
}

// All threads once, at the same time.
static int iterate(job *j) {
    pthread_t *threads = calloc(j->n_workers, sizeof *threads);
    uint32_t n = 0;
    int code = threads ? QT_EXIT_OK : no_memory();
    for (; n < j->n_workers && code == QT_EXIT_OK; n++)
        if (pthread_create(&threads[n], NULL, tp_worker_run, &j->workers[n]) != 0) {
            qt_error("thread '%s' cannot be started", j->workers[n].t->name);
            code = QT_EXIT_FAILURE;
            atomic_store(&stop, true);
            break;
        }
    for (uint32_t i = 0; i < n; i++) {
        pthread_join(threads[i], NULL);
        code = code == QT_EXIT_OK ? j->workers[i].code : code;
    }
    free(threads);
    return code;
}

static int run_all(job *j) {
    int64_t wanted = j->config.test.iteration.v;
    int code = QT_EXIT_OK;
    if (wanted < 0) {
        const struct sigaction act = {.sa_handler = on_interrupt};
        sigaction(SIGINT, &act, NULL);
        sigaction(SIGTERM, &act, NULL);
    }
    while (code == QT_EXIT_OK && !atomic_load(&stop) && (wanted < 0 || j->iterations < wanted)) {
        code = iterate(j);
        j->iterations++;
    }
    return code;
}

static double rate(const tp_worker *w) {
    return w->wall_us ? 1e6 * (double)w->n / (double)w->wall_us : 0;
}

static json_t *json_worker(const tp_worker *w) {
    json_t *mse = json_array();
    for (uint32_t i = 0; i < w->n_mse; i++)
        json_array_append_new(mse, w->mse[i] < 0 ? json_null() : json_real(w->mse[i]));
    return json_pack("{s:o,s:o,s:o,s:I,s:I,s:I,s:f,s:I,s:f,s:o}", "threadName",
                     qt_json_text(w->t->name), "model", qt_json_text(w->t->model->name), "backend",
                     qt_json_text(w->t->backend->name), "executions", (json_int_t)w->n, "total_us",
                     (json_int_t)w->wall_us, "min_us", (json_int_t)(w->n ? w->min_us : 0), "avg_us",
                     w->n ? (double)w->sum_us / (double)w->n : 0.0, "max_us", (json_int_t)w->max_us,
                     "ips", rate(w), "mse", mse);
}

static int write_results(const job *j, const char *path) {
    json_t *threads = json_array();
    for (uint32_t i = 0; i < j->n_workers; i++)
        json_array_append_new(threads, json_worker(&j->workers[i]));
    char *text = qt_json_dump(json_pack("{s:{s:I,s:I},s:o}", "testCase", "iteration",
                                        (json_int_t)j->config.test.iteration.v, "iterations",
                                        (json_int_t)j->iterations, "threads", threads),
                              JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    if (!text)
        return QT_EXIT_FAILURE;
    const qt_part whole = {text, strlen(text)};
    bool ok = qt_write_file(path, &whole, 1);
    free(text);
    return ok ? QT_EXIT_OK : QT_EXIT_FAILURE;
}

static int report(const job *j, const char *path) {
    double all = 0;
    for (uint32_t i = 0; i < j->n_workers; i++) {
        const tp_worker *w = &j->workers[i];
        all += rate(w);
        qt_print("%s: %llu executions of %s, %.1f us on average, %.2f inf/sec\n", w->t->name,
                 (unsigned long long)w->n, w->t->model->name,
                 w->n ? (double)w->sum_us / (double)w->n : 0.0, rate(w));
    }
    qt_print("all threads: %.2f inf/sec\n", all);
    int code = path ? write_results(j, path) : QT_EXIT_OK;
    return code == QT_EXIT_OK ? qt_close_stdout() : code;
}

static void close_all(job *j) {
    for (uint32_t i = 0; i < j->n_workers; i++)
        free(j->workers[i].mse);
    for (uint32_t i = 0; i < j->n_units; i++)
        tp_unit_close(&j->units[i]);
    for (uint32_t i = 0; i < j->n_clients; i++)
        tp_client_close(&j->clients[i]);
    free(j->workers);
    free(j->units);
    free(j->clients);
    qrn_arena_destroy(j->arena);
}

static int run(const void *options, const qt_list *args) {
    const tp_options *o = options;
    job j = {0};
    (void)args;
    if (!o->config) {
        qt_error("--config is needed");
        return QT_EXIT_USAGE;
    }
    qt_set_inputs(&o->config, 1);
    int code = read_config(&j, o->config);
    if (code == QT_EXIT_OK)
        code = open_all(&j);
    if (code == QT_EXIT_OK)
        code = run_all(&j);
    for (uint32_t i = 0; i < j.n_workers; i++)
        tp_worker_close(&j.workers[i]);
    if (code == QT_EXIT_OK)
        code = report(&j, o->output);
    close_all(&j);
    return code;
}

static const qt_command command = {
    .name = "qnn-throughput-net-run",
    .summary = "run several models at the same time and measure them",
    .args = "--config FILE [--output FILE]",
    .alone = true,
    .about =
        "Runs the threads of a JSON file at the same time: each executes the graphs of a model "
        "in a context of a backend. Threads that name the same context share it; binaries "
        "have their own.",
    .groups = {{"options", flags}},
    .examples = {{"qnn-throughput-net-run --config two.json --output results.json",
                  "Writes executions, times and inferences per second of each thread."}},
    .options_size = sizeof(tp_options),
    .run = run,
};

const qt_command *const qt_commands[] = {&command, NULL};

int main(int argc, char **argv) { return qs_program(&command, NULL, argc, argv); }
