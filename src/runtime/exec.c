// SPDX-License-Identifier: MIT
//
// Executing a plan. Each execution object holds its own arena, a view per value and, per step, the
// pointers to the views of its operands, all made once; a call only sets what changes: application
// buffers and, for dynamic graphs, shapes.
// Locks: `idle_lock` guards the list of idle executions; `state_lock` serialises calls of a graph
// that keeps state; `late_lock` is held while the plan's late constants are made. None is held
// while another is taken.
#include "runtime/exec.h"

#include "base/fpenv.h"
#include "base/mem.h"
#include "kernels/move/bad_index.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

// What a value holds at a point of a call.
typedef enum content {
    PRESENT,
    NOTHING, // the step that writes it has not run (yet)
    LEFT_OUT // the application did not give it: an operand that is not there
} content;

typedef struct execution {
    struct execution *next; // in the list of idle ones
    char *arena;
    qrn_view *views;     // [n_values]
    qrn_view **operands; // pointers of all steps, one after the other
    uint8_t *holds;      // [n_values] content: what this call has put into it
} execution;

struct qrn_runner {
    qrn_plan *plan;
    char *state;
    uint32_t *first_operand; // [n_steps] position of a step's operands
    uint32_t n_operands;
    pthread_mutex_t idle_lock, state_lock, late_lock;
    atomic_bool is_whole;      // the late constants are made, and
    char *late;                // lie here
    _Atomic(execution *) kept; // an idle one, which needs no lock, and
    execution *idle;           // further ones
};

void qrn_plan_destroy(qrn_plan *p) {
    if (p)
        qrn_arena_destroy(p->arena);
}

const qrn_plan *qrn_runner_plan(const qrn_runner *r) { return r->plan; }

// Constants that are packed side by side before their sources are given up: as many as there are
// threads for, and not much memory.
#define TOGETHER_BYTES ((size_t)32 << 20)

static void pack_one(void *packings, uint32_t i) {
    qrn_plan_packing *k = (qrn_plan_packing *)packings + i;
    if (k->pack)
        k->pack(k->args, k->src, k->dst);
    k->pack = NULL;
    k->src = NULL;
}

static uint32_t end_of_some(const qrn_plan *p, uint32_t first, uint32_t n_threads) {
    size_t bytes = 0;
    uint32_t i = first;
    while (i < p->n_packings && (i == first || (n_threads > 1 && bytes < TOGETHER_BYTES)))
        bytes += p->values[p->packings[i++].value].size_bytes;
    return i;
}

void qrn_runner_finish(qrn_runner *r, qrn_pool *pool,
                       void (*release)(void *ctx, uint32_t tensor_id), void *ctx) {
    qrn_plan *p = r->plan;
    for (uint32_t i = 0, end; i < p->n_packings; i = end) {
        end = end_of_some(p, i, qrn_pool_useful(pool));
        qrn_pool_run(pool, pack_one, &p->packings[i], end - i);
        for (uint32_t at = i; release && at < end; at++) {
            const qrn_plan_packing *k = &p->packings[at];
            if (!k->drops)
                continue;
            p->values[k->source].view.data = NULL;
            *k->holder = NULL;
            release(ctx, k->tensor_id);
        }
    }
}

qrn_status qrn_runner_create(qrn_plan *plan, qrn_runner **out) {
    qrn_runner *r = qrn_arena_alloc(plan->arena, sizeof *r);
    uint32_t *first = qrn_arena_alloc(plan->arena, (plan->n_steps + 1) * sizeof *first);
    char *state = qrn_arena_alloc(plan->arena, plan->state_bytes);
    if (!r || !first || !state)
        return QRN_FAIL(QRN_E_MEM, "out of memory for %zu bytes of state", plan->state_bytes);
    for (uint32_t i = 0; i < plan->n_steps; i++)
        first[i + 1] = first[i] + plan->steps[i].n_in + plan->steps[i].n_out;
    *r = (qrn_runner){
        .plan = plan, .state = state, .first_operand = first, .n_operands = first[plan->n_steps]};
    atomic_init(&r->is_whole, plan->n_late == 0);
    qrn_runner_after_fork(r); // makes the locks
    *out = r;
    return QRN_OK;
}

static void free_execution(execution *e) {
    if (!e)
        return;
    qrn_free(e->arena);
    qrn_free(e->views);
    qrn_free(e->operands);
    qrn_free(e->holds);
    qrn_free(e);
}

void qrn_runner_destroy(qrn_runner *r) {
    if (!r)
        return;
    free_execution(atomic_exchange(&r->kept, NULL));
    while (r->idle) {
        execution *e = r->idle;
        r->idle = e->next;
        free_execution(e);
    }
    pthread_mutex_destroy(&r->idle_lock);
    pthread_mutex_destroy(&r->state_lock);
    pthread_mutex_destroy(&r->late_lock);
    qrn_free(r->late);
    qrn_plan_destroy(r->plan); // the runner lives in the plan's arena
}

// Has the value memory? Results that no step writes or reads any more have none.
static bool is_placed(const qrn_plan *p, uint32_t v) {
    while (p->values[v].base != UINT32_MAX)
        v = p->values[v].base;
    return p->values[v].storage != QRN_STORE_ARENA || p->values[v].first != UINT32_MAX;
}

void qrn_runner_after_fork(qrn_runner *r) {
    if (!r)
        return;
    pthread_mutex_init(&r->idle_lock, NULL);
    pthread_mutex_init(&r->state_lock, NULL);
    pthread_mutex_init(&r->late_lock, NULL);
}

static execution *new_execution(const qrn_runner *r) {
    const qrn_plan *p = r->plan;
    execution *e = qrn_calloc(sizeof *e);
    if (!e)
        return NULL;
    e->arena = qrn_calloc(p->arena_bytes);
    e->views = qrn_calloc(p->n_values * sizeof *e->views);
    e->operands = qrn_calloc(r->n_operands * sizeof(void *));
    e->holds = qrn_calloc(p->n_values * sizeof *e->holds);
    if (!e->arena || !e->views || !e->operands || !e->holds) {
        free_execution(e);
        return NULL;
    }
    for (uint32_t v = 0; v < p->n_values; v++) {
        e->views[v] = p->values[v].view;
        e->holds[v] = is_placed(p, v) ? PRESENT : NOTHING;
        if (p->values[v].storage == QRN_STORE_ARENA && is_placed(p, v))
            e->views[v].data = e->arena + p->values[v].offset;
    }
    for (uint32_t s = 0; s < p->n_steps; s++) {
        const qrn_step *st = &p->steps[s];
        qrn_view **ops = e->operands + r->first_operand[s];
        for (uint32_t i = 0; i < st->n_in + st->n_out; i++) {
            uint32_t v = i < st->n_in ? st->in[i] : st->out[i - st->n_in];
            ops[i] = v == UINT32_MAX ? NULL : &e->views[v];
        }
    }
    return e;
}

static execution *take_execution(qrn_runner *r) {
    execution *kept = atomic_exchange(&r->kept, NULL);
    if (kept)
        return kept;
    pthread_mutex_lock(&r->idle_lock);
    execution *e = r->idle;
    if (e)
        r->idle = e->next;
    pthread_mutex_unlock(&r->idle_lock);
    return e ? e : new_execution(r);
}

static void give_execution(qrn_runner *r, execution *e) {
    execution *none = NULL;
    if (atomic_compare_exchange_strong(&r->kept, &none, e))
        return;
    pthread_mutex_lock(&r->idle_lock);
    e->next = r->idle;
    r->idle = e;
    pthread_mutex_unlock(&r->idle_lock);
}

static bool counts_content(const qrn_plan *p) { return p->may_block || p->optional_io; }

// What the values hold before the first step.
static void bind_content(const qrn_plan *p, execution *e) {
    for (uint32_t v = 0; v < p->n_values; v++) {
        bool lacks = p->values[v].storage == QRN_STORE_IO && !e->views[v].data;
        bool later = p->values[v].conditional || !is_placed(p, v);
        e->holds[v] = lacks ? LEFT_OUT : later ? NOTHING : PRESENT;
    }
}

// Current shapes and buffers of the call.
static void bind_io(const qrn_plan *p, execution *e, const qrn_binding *io, uint32_t batch) {
    if (p->dynamic)
        for (uint32_t v = 0; v < p->n_values; v++)
            memcpy(e->views[v].dims, p->values[v].view.dims, sizeof e->views[v].dims);
    for (uint32_t i = 0; i < p->n_io; i++) {
        qrn_view *v = &e->views[p->io[i].value];
        v->data = io[i].memory.host
                      ? (char *)io[i].memory.host + batch * p->values[p->io[i].value].size_bytes
                      : NULL;
        if (io[i].rank == v->rank && p->values[p->io[i].value].dynamic && !p->io[i].is_output)
            memcpy(v->dims, io[i].dims, sizeof v->dims);
    }
    for (uint32_t i = 0; i < p->n_parts; i++) {
        const qrn_value *part = &p->values[p->parts[i]];
        char *whole = e->views[p->io[part->io].value].data;
        e->views[p->parts[i]].data = whole ? whole + part->offset : NULL;
    }
    if (counts_content(p))
        bind_content(p, e);
}

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

// How long each thread was busy with tasks of a step; a thread writes its own number only.
typedef struct busy {
    uint64_t ns[QRN_POOL_MOST];
} busy;

typedef struct job {
    qrn_kcall call;
    qrn_kernel_fn fn;
    busy *busy; // NULL: nobody asks
    _Atomic int status;
} job;

static void run_task(void *arg, uint32_t task) {
    job *j = arg;
    qrn_kcall k = j->call;
    k.task = task;
    uint64_t start = j->busy ? now_ns() : 0;
    qrn_status s = j->fn(&k);
    if (j->busy)
        j->busy->ns[qrn_pool_self()] += now_ns() - start;
    if (s != QRN_OK)
        atomic_store(&j->status, (int)s);
}

static qrn_kcall call_of(const qrn_step *s, qrn_view **ops) {
    return (qrn_kcall){.args = s->args,
                       .in = ops,
                       .out = ops + s->n_in,
                       .n_in = s->n_in,
                       .n_out = s->n_out,
                       .n_tasks = 1};
}

// The steps chained to another one; called by its tasks, from several threads at a time.
typedef struct chain {
    qrn_follower follower;
    uint32_t n;
    qrn_kcall calls[QRN_MAX_CHAINED];
    qrn_kernel_fn fns[QRN_MAX_CHAINED];
    bool timed;
    _Atomic uint64_t spent_ns[QRN_MAX_CHAINED]; // of all threads
} chain;

static void follow(const qrn_follower *f, size_t begin, size_t end) {
    chain *c = (chain *)(uintptr_t)f; // `follower` is its first member
    for (uint32_t i = 0; i < c->n; i++) {
        uint64_t start = c->timed ? now_ns() : 0;
        qrn_kcall k = c->calls[i];
        k.begin = begin;
        k.end = end;
        c->fns[i](&k); // cannot fail
        if (c->timed)
            atomic_fetch_add(&c->spent_ns[i], now_ns() - start);
    }
}

static void begin_chain(const qrn_runner *r, const execution *e, uint32_t pc, bool timed,
                        chain *c) {
    c->follower.fn = follow;
    c->n = r->plan->steps[pc].n_chained;
    c->timed = timed;
    for (uint32_t i = 0; i < c->n; i++) {
        const qrn_step *s = &r->plan->steps[pc + 1 + i];
        c->calls[i] = call_of(s, e->operands + r->first_operand[pc + 1 + i]);
        c->fns[i] = s->kernel->fn;
        atomic_init(&c->spent_ns[i], 0);
    }
}

// The most tasks that a run may cut a step into.
static uint32_t threads_of(const qrn_plan *p, const qrn_run_options *opt) {
    uint32_t n = qrn_pool_useful(opt->pool);
    if (opt->max_threads && n > opt->max_threads)
        n = opt->max_threads;
    return n > p->max_tasks ? p->max_tasks : n;
}

static void add_busy(qrn_node_time *t, const busy *b, uint64_t span, uint32_t n_tasks,
                     uint32_t n_threads) {
    uint64_t longest = 0;
    for (uint32_t i = 0; i < QRN_POOL_MOST; i++) {
        t->busy_ns += b->ns[i];
        longest = b->ns[i] > longest ? b->ns[i] : longest;
    }
    t->longest_ns += longest;
    t->span_ns += span;
    t->n_tasks = n_tasks > t->n_tasks ? n_tasks : t->n_tasks;
    t->n_threads = n_threads;
}

static qrn_status run_job(job *j, const qrn_run_options *opt) {
    if (j->call.n_tasks > 1)
        qrn_pool_run(opt->pool, run_task, j, j->call.n_tasks);
    else
        run_task(j, 0);
    return (qrn_status)atomic_load(&j->status);
}

// The same with clocks.
static qrn_status run_observed(job *j, const qrn_run_options *opt, uint32_t n_threads,
                               qrn_node_time *t) {
    busy b = {0};
    j->busy = &b;
    uint64_t start = now_ns();
    qrn_status s = run_job(j, opt);
    add_busy(t, &b, now_ns() - start, j->call.n_tasks, n_threads);
    return s;
}

// *n_tasks: how many the step was cut into.
static qrn_status run_kernel(const qrn_runner *r, execution *e, const qrn_step *s, qrn_view **ops,
                             const qrn_run_options *opt, const chain *c, uint32_t *n_tasks) {
    job j = {.fn = s->kernel->fn, .call = call_of(s, ops)};
    j.call.follower = c->n ? &c->follower : NULL;
    if (s->scratch_bytes)
        j.call.scratch = e->arena + s->scratch_offset;
    if (s->kernel->counts)
        memset(j.call.scratch, 0, QRN_COUNTER);
    if (s->state_bytes)
        j.call.state = r->state + s->state_offset;
    uint32_t n_threads = threads_of(r->plan, opt);
    uint32_t n = s->kernel->tasks && n_threads > 1 ? s->kernel->tasks(&j.call, n_threads) : 1;
    j.call.n_tasks = *n_tasks = n < 2 ? 1 : n;
    if (opt->per_thread)
        return run_observed(&j, opt, n_threads, &opt->node_times[s->node]);
    return run_job(&j, opt);
}

static void mark_outputs(execution *e, const qrn_step *s, content c) {
    for (uint32_t i = 0; i < s->n_out; i++)
        if (s->out[i] != UINT32_MAX && e->holds[s->out[i]] != LEFT_OUT)
            e->holds[s->out[i]] = (uint8_t)c;
}

#define MAX_CHECKED_OPERANDS 256

// May the step run? Not without an input that nothing has written yet. Operands that the
// application left out become NULL in `copy`.
static bool check_operands(const execution *e, const qrn_step *s, qrn_view ***ops,
                           qrn_view **copy) {
    bool some_left_out = false;
    for (uint32_t i = 0; i < s->n_in + s->n_out; i++) {
        uint32_t v = i < s->n_in ? s->in[i] : s->out[i - s->n_in];
        content c = v == UINT32_MAX ? PRESENT : (content)e->holds[v];
        if (c == NOTHING && i < s->n_in)
            return false;
        some_left_out |= c == LEFT_OUT;
        if (i < MAX_CHECKED_OPERANDS)
            copy[i] = c == LEFT_OUT ? NULL : (*ops)[i];
    }
    if (some_left_out && s->n_in + s->n_out <= MAX_CHECKED_OPERANDS)
        *ops = copy;
    return true;
}

static const char *cause_of(const qrn_step *s, qrn_view **ops, qrn_status st, char *buf,
                            size_t size) {
    const qrn_kcall k = {.args = s->args, .in = ops, .n_in = s->n_in};
    if (st != QRN_E_ARGUMENT || !s->family->cause)
        return "its input data cannot be computed on";
    const char *index = qrn_bad_index(s->family, &k, buf, size);
    return index ? index : s->family->cause;
}

static qrn_status run_step(qrn_runner *r, execution *e, uint32_t pc, const qrn_run_options *opt,
                           const chain *c, uint32_t *n_tasks) {
    const qrn_plan *p = r->plan;
    const qrn_step *s = &p->steps[pc];
    qrn_view **ops = e->operands + r->first_operand[pc];
    qrn_view *copy[MAX_CHECKED_OPERANDS];
    if (counts_content(p) && !check_operands(e, s, &ops, copy)) {
        mark_outputs(e, s, NOTHING);
        return QRN_OK;
    }
    if (s->reshape)
        QRN_TRY(s->reshape(p, s, e->views));
    qrn_status st = run_kernel(r, e, s, ops, opt, c, n_tasks);
    if (counts_content(p) && (st == QRN_OK || st == QRN_E_BLOCKED))
        mark_outputs(e, s, st == QRN_OK ? PRESENT : NOTHING);
    if (st == QRN_E_BLOCKED)
        return QRN_OK;
    char cause[128];
    if (st != QRN_OK && qrn_message()[0] == '\0')
        return QRN_FAIL(st, "node '%s' (%s): %s (%s)", p->nodes[s->node].name,
                        p->nodes[s->node].type, cause_of(s, ops, st, cause, sizeof cause),
                        s->kernel->name);
    return st;
}

// Where to go on after a BRANCH. Without a condition neither branch runs.
static uint32_t branch_target(const qrn_plan *p, const execution *e, uint32_t pc) {
    const qrn_step *s = &p->steps[pc];
    if (e->holds[s->in[0]] != PRESENT)
        return p->steps[s->target - 1].target;
    return *(const uint8_t *)e->views[s->in[0]].data ? pc + 1 : s->target;
}

static void add_time(qrn_node_time *t, uint64_t start, uint64_t end) {
    t->spent_ns += end - start;
    t->first_ns = t->first_ns ? t->first_ns : start;
    t->last_ns = end;
}

// The time of a step and those chained to it, as if they had run one after the other.
static void share_time(const qrn_runner *r, uint32_t pc, const qrn_run_options *opt, chain *c,
                       uint32_t n_tasks, uint64_t start, uint64_t end) {
    uint64_t at = end;
    for (uint32_t i = c->n; i-- > 0;) {
        uint64_t spent = atomic_load(&c->spent_ns[i]) / n_tasks;
        spent = spent < at - start ? spent : at - start;
        add_time(&opt->node_times[r->plan->steps[pc + 1 + i].node], at - spent, at);
        at -= spent;
    }
    add_time(&opt->node_times[r->plan->steps[pc].node], start, at);
}

// Runs one step and those chained to it; when times are wanted, adds them to their nodes. *end is
// when the step before ended.
static qrn_status run_timed(qrn_runner *r, execution *e, uint32_t pc, const qrn_run_options *opt,
                            uint64_t *end) {
    bool timed = opt->node_times != NULL;
    uint32_t n_tasks = 1;
    chain c;
    if (timed)
        opt->node_times[r->plan->steps[pc].node].gap_ns += now_ns() - *end;
    if (opt->poll)
        QRN_TRY(opt->poll(opt->poll_ctx));
    begin_chain(r, e, pc, timed, &c);
    uint64_t start = timed ? now_ns() : 0;
    QRN_TRY(run_step(r, e, pc, opt, &c, &n_tasks));
    if (timed) {
        *end = now_ns();
        share_time(r, pc, opt, &c, n_tasks, start, *end);
    }
    return QRN_OK;
}

static bool get_value(const void *run, uint32_t value, qrn_view *view) {
    const execution *e = run;
    *view = e->views[value];
    return e->holds[value] == PRESENT;
}

// Is a step the last one of its node?
static bool ends_node(const qrn_plan *p, uint32_t pc) {
    return pc + 1 == p->n_steps || p->steps[pc + 1].kind != QRN_STEP_KERNEL ||
           p->steps[pc + 1].node != p->steps[pc].node;
}

static qrn_status run_steps(qrn_runner *r, execution *e, const qrn_run_options *opt) {
    const qrn_plan *p = r->plan;
    uint64_t end = opt->node_times ? now_ns() : 0;
    for (uint32_t pc = 0; pc < p->n_steps;) {
        const qrn_step *s = &p->steps[pc];
        if (s->kind == QRN_STEP_JUMP) {
            pc = s->target;
            continue;
        }
        if (s->kind == QRN_STEP_BRANCH) {
            pc = branch_target(p, e, pc);
            continue;
        }
        QRN_TRY(run_timed(r, e, pc, opt, &end));
        for (uint32_t next = pc + 1 + s->n_chained; pc < next; pc++)
            if (opt->trace && ends_node(p, pc))
                opt->trace(opt->trace_ctx, p->steps[pc].node, &(qrn_values){e, get_value});
    }
    return QRN_OK;
}

// Shapes and marks of the outputs for the caller; QRN_E_EARLY when one was not produced.
static qrn_status report_io(const qrn_plan *p, const execution *e, qrn_binding *io) {
    qrn_status s = QRN_OK;
    for (uint32_t i = 0; i < p->n_io; i++) {
        if (!p->io[i].is_output)
            continue;
        uint32_t v = p->io[i].value;
        io[i].rank = e->views[v].rank;
        memcpy(io[i].dims, e->views[v].dims, sizeof io[i].dims);
        io[i].n_sparse = e->views[v].n_sparse;
        io[i].produced = io[i].memory.host && (!counts_content(p) || e->holds[v] == PRESENT);
        if (!io[i].produced && io[i].memory.host)
            s = QRN_FAIL(QRN_E_EARLY,
                         "output '%s' was not produced: what it depends on has not run",
                         p->values[v].name);
    }
    return s;
}

// Late constants, one task for each thread.
typedef struct making {
    const qrn_plan *plan;
    uint32_t n_tasks;
} making;

static void make_some(void *arg, uint32_t task) {
    const making *m = arg;
    for (uint32_t i = task; i < m->plan->n_late; i += m->n_tasks) {
        const qrn_plan_late *k = &m->plan->late[i];
        k->pack(k->args, m->plan->values[k->from].view.data, m->plan->values[k->value].view.data);
    }
}

static size_t late_room(const qrn_plan *p, uint32_t i) {
    size_t bytes = p->values[p->late[i].value].size_bytes + QRN_TAIL;
    return (bytes + QRN_ALIGN - 1) / QRN_ALIGN * QRN_ALIGN;
}

// Cannot overflow: what was bound fits the memory that a plan may take.
static qrn_status place_late(qrn_runner *r) {
    const qrn_plan *p = r->plan;
    size_t total = 0;
    for (uint32_t i = 0; i < p->n_late; i++)
        total += late_room(p, i);
    char *at = r->late = qrn_alloc(total);
    if (!at)
        return QRN_FAIL(QRN_E_MEM, "out of memory for %zu bytes of packed constants", total);
    for (uint32_t i = 0; i < p->n_late; at += late_room(p, i++))
        p->values[p->late[i].value].view.data = at;
    return QRN_OK;
}

// No execution object exists before it succeeds: their views have the addresses.
static qrn_status make_late(qrn_runner *r, const qrn_run_options *opt) {
    pthread_mutex_lock(&r->late_lock);
    qrn_status s = QRN_OK;
    if (!atomic_load(&r->is_whole)) {
        making m = {.plan = r->plan, .n_tasks = threads_of(r->plan, opt)};
        s = r->late ? QRN_OK : place_late(r);
        if (s == QRN_OK) {
            qrn_pool_run(opt->pool, make_some, &m, m.n_tasks);
            atomic_store(&r->is_whole, true);
        }
    }
    pthread_mutex_unlock(&r->late_lock);
    return s;
}

qrn_status qrn_runner_run(qrn_runner *r, qrn_binding *io, const qrn_run_options *opt) {
    if (!atomic_load(&r->is_whole))
        QRN_TRY(make_late(r, opt));
    execution *e = take_execution(r);
    if (!e)
        return QRN_FAIL(QRN_E_MEM, "out of memory for an arena of %zu bytes", r->plan->arena_bytes);
    bool stateful = r->plan->state_bytes > 0;
    if (stateful)
        pthread_mutex_lock(&r->state_lock);
    qrn_fpenv env = qrn_fpenv_enter();
    qrn_status s = QRN_OK;
    for (uint32_t k = 0; k < (opt->n_batch ? opt->n_batch : 1) && s == QRN_OK; k++) {
        bind_io(r->plan, e, io, k);
        s = run_steps(r, e, opt);
    }
    qrn_fpenv_leave(env);
    if (s == QRN_OK)
        s = report_io(r->plan, e, io);
    if (stateful)
        pthread_mutex_unlock(&r->state_lock);
    give_execution(r, e);
    return s;
}
