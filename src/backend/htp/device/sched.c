// SPDX-License-Identifier: MIT
//
// The simulation: at each moment jobs end, clients that were asked leave, jobs arrive, and then the
// waiting clients are served by priority.
#include "backend/htp/device/sched.h"

#include "QnnTypes.h"

#include <stdio.h>

enum { NOWHERE = UINT32_MAX };

typedef enum state { IDLE, WAITING, RUNNING } state;

// A client during the simulation.
typedef struct run {
    const qrn_htp_sched_client *c;
    uint32_t index;
    uint32_t priority; // of the client, or of its process domain
    state state;
    uint32_t job;   // index of the current or next one
    uint64_t since; // WAITING: of its arrival; RUNNING: of the start
    uint64_t left;  // work of the current job
    bool resumes;   // it has yielded in this job
    bool asked;     // RUNNING: to leave
    uint64_t leave; // when it can
    uint32_t first_mb;
} run;

typedef struct sim {
    const qrn_htp_sched_chip *chip;
    run runs[QRN_HTP_SCHED_CLIENTS_MAX];
    uint32_t n;
    uint64_t now;
    qrn_htp_sched_timeline *out;
    bool full; // of events
} sim;

qrn_htp_sched_chip qrn_htp_sched_chip_of(const qrn_soc *soc) {
    return (qrn_htp_sched_chip){
        .vtcm_mb = soc->vtcm_mb,
        .n_hvx = soc->hvx,
        .shares = soc->arch >= 73,
        .forced = soc->id == QNN_SOC_MODEL_SA8255 || soc->id == QNN_SOC_MODEL_SA8797,
    };
}

qrn_htp_threads qrn_htp_thread_priority(uint32_t priority) {
    static const struct {
        uint32_t priority, hmx;
    } rows[] = {{0, 0xC5},   {50, 0xC3},  {100, 0xC0}, {150, 0xBD},
                {200, 0xBB}, {300, 0xB6}, {400, 0xB1}, {500, 0xAC}};
    uint32_t hmx = rows[0].hmx;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && rows[i].priority <= priority; i++)
        hmx = rows[i].hmx;
    return (qrn_htp_threads){hmx, hmx + 1};
}

int qrn_htp_yield_line(char *buf, size_t size, uint64_t n_yields) {
    return snprintf(buf, size, "Backend (QNN Num times yield occurred): %llu count",
                    (unsigned long long)n_yields);
}

static void tell(sim *s, const run *r, qrn_htp_sched_kind kind) {
    if (s->out->n_events == QRN_HTP_SCHED_EVENTS_MAX) {
        s->full = true;
        return;
    }
    s->out->events[s->out->n_events++] =
        (qrn_htp_sched_event){.time = s->now,
                              .kind = kind,
                              .client = r->index,
                              .first_mb = kind == QRN_HTP_SCHED_RUN ? r->first_mb : 0,
                              .resumes = kind == QRN_HTP_SCHED_RUN && r->resumes};
}

static bool takes_hmx(const qrn_htp_sched_client *c) { return c->graph || c->hmx; }

// Does the client's mapping leave room for others? (HTP-VSH-01, 04, 07)
static bool shares(const sim *s, const qrn_htp_sched_client *c) {
    return s->chip->shares && !c->uncached && (!c->graph || 2 * c->vtcm_mb >= s->chip->vtcm_mb);
}

// May two clients run side by side, room apart?
static bool get_along(const sim *s, const qrn_htp_sched_client *a, const qrn_htp_sched_client *b) {
    return (a->pd == b->pd || s->chip->windowing) && !(a->graph && b->graph) &&
           !(takes_hmx(a) && takes_hmx(b)) && shares(s, a) && shares(s, b);
}

static uint32_t page_of(const qrn_htp_sched_client *c) { return c->page_mb ? c->page_mb : 1; }

// What others cannot have: of an overmap the usable part, else whole pages.
static uint32_t occupied_mb(const qrn_htp_sched_client *c) {
    uint32_t page = page_of(c);
    return page > c->vtcm_mb ? c->vtcm_mb : (c->vtcm_mb + page - 1) / page * page;
}

static bool overlaps(uint32_t first, uint32_t n, const run *r) {
    return first < r->first_mb + occupied_mb(r->c) && r->first_mb < first + n;
}

// `stays` has a bit for each running client that is to stay.
static bool is_free(const sim *s, unsigned stays, uint32_t first, uint32_t n) {
    for (uint32_t i = 0; i < s->n; i++)
        if ((stays & 1u << i) && overlaps(first, n, &s->runs[i]))
            return false;
    return true;
}

// Where the client's VTCM goes beside those that stay; NOWHERE when there is no room. An overmap
// ends at the end of VTCM (HTP-VSH-02), others lie on whole pages as low as possible.
static uint32_t place(const sim *s, unsigned stays, const qrn_htp_sched_client *c) {
    uint32_t total = s->chip->vtcm_mb, page = page_of(c), n = occupied_mb(c);
    if (!shares(s, c) || page > c->vtcm_mb)
        return is_free(s, stays, total - c->vtcm_mb, c->vtcm_mb) ? total - c->vtcm_mb : NOWHERE;
    for (uint32_t first = 0; first + n <= total; first += page)
        if (is_free(s, stays, first, n))
            return first;
    return NOWHERE;
}

static bool has_hvx(const sim *s, unsigned stays, const qrn_htp_sched_client *c) {
    uint32_t n = c->n_hvx;
    for (uint32_t i = 0; i < s->n; i++)
        if (stays & 1u << i)
            n += s->runs[i].c->n_hvx;
    return n <= s->chip->n_hvx;
}

static bool fits(const sim *s, unsigned stays, const qrn_htp_sched_client *c) {
    return has_hvx(s, stays, c) && place(s, stays, c) != NOWHERE;
}

// The least urgent client of a set, the later one of two; n when the set is empty.
static uint32_t least_urgent(const sim *s, unsigned set) {
    uint32_t found = s->n;
    for (uint32_t i = 0; i < s->n; i++)
        if ((set & 1u << i) && (found == s->n || s->runs[i].priority >= s->runs[found].priority))
            found = i;
    return found;
}

// Running clients that must leave before r can run: those it does not get along with, and for room
// one less urgent client if one is enough, else as many as it takes, the least urgent first
// (HTP-VSH-10).
static unsigned in_the_way(const sim *s, const run *r) {
    unsigned running = 0, leave = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        if (s->runs[i].state != RUNNING)
            continue;
        running |= 1u << i;
        if (!get_along(s, r->c, s->runs[i].c))
            leave |= 1u << i;
    }
    if (fits(s, running & ~leave, r->c))
        return leave;
    for (unsigned left = running & ~leave; left;) {
        uint32_t one = least_urgent(s, left);
        if (s->runs[one].priority > r->priority && fits(s, running & ~leave & ~(1u << one), r->c))
            return leave | 1u << one;
        left &= ~(1u << one);
    }
    while (!fits(s, running & ~leave, r->c))
        leave |= 1u << least_urgent(s, running & ~leave);
    return leave;
}

static void start(sim *s, run *r) {
    unsigned running = 0;
    for (uint32_t i = 0; i < s->n; i++)
        running |= s->runs[i].state == RUNNING ? 1u << i : 0;
    r->first_mb = place(s, running, r->c);
    r->state = RUNNING;
    r->since = s->now;
    r->asked = false;
    tell(s, r, QRN_HTP_SCHED_RUN);
}

// It has done what it could since its start, and waits for the rest.
static void yield(sim *s, run *r) {
    r->left -= s->now - r->since;
    r->state = WAITING;
    r->resumes = true;
    r->since = s->now;
    s->out->n_yields[r->index]++;
    s->out->saved_mb[r->index] += r->c->vtcm_mb;
    tell(s, r, QRN_HTP_SCHED_YIELD);
}

static void ask(sim *s, run *r) {
    if (r->asked)
        return;
    uint64_t done = s->now - r->since, every = r->c->yield_every;
    r->asked = true;
    tell(s, r, QRN_HTP_SCHED_ASK);
    if (s->chip->forced)
        r->leave = s->now;
    else if (every)
        r->leave = r->since + (done + every - 1) / every * every;
    else
        r->leave = UINT64_MAX; // at the end of its job
    if (r->leave == s->now)
        yield(s, r);
}

// The most urgent waiting client that is not in `seen`, the one that waits longest of equals.
static run *next_waiting(sim *s, unsigned seen) {
    run *best = NULL;
    for (uint32_t i = 0; i < s->n; i++) {
        run *r = &s->runs[i];
        if (r->state == WAITING && !(seen & 1u << i) &&
            (!best || r->priority < best->priority ||
             (r->priority == best->priority && r->since < best->since)))
            best = r;
    }
    return best;
}

// Asks `set` to leave; false when one of them is not less urgent than r.
static bool ask_all(sim *s, const run *r, unsigned set) {
    for (uint32_t i = 0; i < s->n; i++)
        if ((set & 1u << i) && s->runs[i].priority <= r->priority)
            return false;
    for (uint32_t i = 0; i < s->n; i++)
        if (set & 1u << i)
            ask(s, &s->runs[i]);
    return true;
}

// Serves the waiting clients. Less urgent ones may take what more urgent ones cannot use, but not
// while somebody is leaving for those.
static void serve(sim *s) {
    unsigned seen = 0;
    run *r;
    while ((r = next_waiting(s, seen))) {
        unsigned obstacles = in_the_way(s, r);
        if (!obstacles) {
            start(s, r);
            continue;
        }
        seen |= 1u << r->index;
        if (!ask_all(s, r, obstacles))
            continue;
        if (in_the_way(s, r))
            return;
        start(s, r);
    }
}

static void arrive(sim *s, run *r) {
    const qrn_htp_sched_job *job = &r->c->jobs[r->job];
    r->state = WAITING;
    r->since = s->now;
    r->left = job->work;
    r->resumes = false;
    tell(s, r, QRN_HTP_SCHED_WAIT);
}

static void advance(sim *s) {
    for (uint32_t i = 0; i < s->n; i++) {
        run *r = &s->runs[i];
        if (r->state == RUNNING && r->since + r->left == s->now) {
            r->state = IDLE;
            r->job++;
            tell(s, r, QRN_HTP_SCHED_END);
        }
    }
    for (uint32_t i = 0; i < s->n; i++)
        if (s->runs[i].state == RUNNING && s->runs[i].asked && s->runs[i].leave == s->now)
            yield(s, &s->runs[i]);
    for (uint32_t i = 0; i < s->n; i++) {
        run *r = &s->runs[i];
        if (r->state == IDLE && r->job < r->c->n_jobs && r->c->jobs[r->job].arrive <= s->now)
            arrive(s, r);
    }
    serve(s);
}

// When something happens next; UINT64_MAX: never.
static uint64_t next_time(const sim *s) {
    uint64_t next = UINT64_MAX;
    for (uint32_t i = 0; i < s->n; i++) {
        const run *r = &s->runs[i];
        uint64_t t = UINT64_MAX;
        if (r->state == RUNNING) {
            t = r->since + r->left;
            if (r->asked && r->leave < t)
                t = r->leave;
        } else if (r->state == IDLE && r->job < r->c->n_jobs) {
            t = r->c->jobs[r->job].arrive > s->now ? r->c->jobs[r->job].arrive : s->now;
        }
        next = t < next ? t : next;
    }
    return next;
}

static qrn_status check(const qrn_htp_sched_chip *chip, const qrn_htp_sched_client *clients,
                        uint32_t n) {
    if (n > QRN_HTP_SCHED_CLIENTS_MAX)
        return QRN_FAIL(QRN_E_ARGUMENT, "%u clients, at most %u", n, QRN_HTP_SCHED_CLIENTS_MAX);
    for (uint32_t i = 0; i < n; i++) {
        const qrn_htp_sched_client *c = &clients[i];
        uint32_t page = page_of(c);
        if (c->vtcm_mb > chip->vtcm_mb || page > chip->vtcm_mb || occupied_mb(c) > chip->vtcm_mb ||
            c->n_hvx > chip->n_hvx)
            return QRN_FAIL(QRN_E_ARGUMENT,
                            "client %u needs %u MB of VTCM in pages of %u MB and %u HVX units, the "
                            "chip has %u MB and %u",
                            i, c->vtcm_mb, page, c->n_hvx, chip->vtcm_mb, chip->n_hvx);
    }
    return QRN_OK;
}

// Its own, or that of the first client of its process domain.
static uint32_t priority_of(const qrn_htp_sched_chip *chip, const qrn_htp_sched_client *clients,
                            uint32_t client) {
    uint32_t i = chip->forced ? 0 : client;
    while (clients[i].pd != clients[client].pd)
        i++;
    return clients[i].priority;
}

qrn_status qrn_htp_sched_run(const qrn_htp_sched_chip *chip, const qrn_htp_sched_client *clients,
                             uint32_t n_clients, qrn_htp_sched_timeline *out) {
    QRN_TRY(check(chip, clients, n_clients));
    *out = (qrn_htp_sched_timeline){0};
    sim s = {.chip = chip, .n = n_clients, .out = out};
    for (uint32_t i = 0; i < n_clients; i++)
        s.runs[i] = (run){.c = &clients[i], .index = i, .priority = priority_of(chip, clients, i)};
    while (!s.full) {
        uint64_t next = next_time(&s);
        if (next == UINT64_MAX)
            return QRN_OK;
        s.now = next;
        advance(&s);
    }
    return QRN_FAIL(QRN_E_GENERAL, "more than %u events", QRN_HTP_SCHED_EVENTS_MAX);
}
