// SPDX-License-Identifier: MIT
//
// One thread of qnn-throughput-net-run: the graphs of its model, executed in a loop.
#ifndef QRN_TOOLS_THROUGHPUT_WORKER_H
#define QRN_TOOLS_THROUGHPUT_WORKER_H

#include "tools/sdk/flight.h"
#include "tools/sdk/list_batch.h"
#include "tools/throughput/compare.h"
#include "tools/throughput/unit.h"

#include <stdatomic.h>

// One graph of the model, with its inputs.
typedef struct tp_job {
    const qs_graph *graph;
    qs_list list; // no infos: random data
    bool *native; // of each input
    qs_batching batching;
    qs_flight *flights;
    uint32_t n_flights;
    tp_compare compare;
    uint64_t n_started;
} tp_job;

typedef struct tp_worker {
    const tp_thread *t;
    const tp_client *client;
    const tp_unit *unit; // shared; NULL: made anew for every iteration
    tp_unit own;
    tp_job *jobs;
    uint32_t n_jobs;
    qs_profile profile;
    atomic_bool *stop; // of the program
    uint64_t n, sum_us, min_us, max_us, wall_us;
    uint64_t random; // state of the generator
    double *mse;     // by graph, after tp_worker_close
    uint32_t n_mse;
    int code;
} tp_worker;

// Makes what all iterations share. QT_EXIT_OK or another code after a message.
int tp_worker_open(tp_worker *w);
// One iteration, on the thread; the code is in w->code.
void *tp_worker_run(void *worker);
void tp_worker_close(tp_worker *w);

#endif
