// SPDX-License-Identifier: MIT
//
// Thread pool: one per library, counted by its users. Work is split by index, so results do not
// depend on timing. A caller that finds the pool busy runs its tasks itself.
#ifndef QRN_BASE_POOL_H
#define QRN_BASE_POOL_H

#include <stdint.h>

typedef struct qrn_pool qrn_pool;

#define QRN_POOL_MOST 256 // threads of a pool, caller included

// The library's pool with one more user; n_threads counts the caller and is used by the first user
// only (0: QUERN_THREADS, else CPU affinity and cgroup quota). NULL when out of memory.
// Workers start when first needed and are joined when the last user releases the pool. No more of
// them work than the process has CPUs, whatever n_threads says.
qrn_pool *qrn_pool_acquire(uint32_t n_threads);
void qrn_pool_release(qrn_pool *p); // NULL is fine

uint32_t qrn_pool_threads(const qrn_pool *p); // 1 for NULL
// Those of them that there are CPUs for, as of late: more tasks than that are not worth making. Who
// makes no job while it is 1 has to go on asking: that is how more CPUs are noticed.
uint32_t qrn_pool_useful(qrn_pool *p);
// Number of the calling thread among those of the pool that made it; 0: nobody's worker.
uint32_t qrn_pool_self(void);

// for (uint32_t i = 0; i < n_tasks; i++) fn(arg, i);   in parallel; returns when all are done.
void qrn_pool_run(qrn_pool *p, void (*fn)(void *arg, uint32_t task), void *arg, uint32_t n_tasks);

// Threads this process should use: QUERN_THREADS, else the smaller of CPU affinity and cgroup
// quota.
uint32_t qrn_pool_default_threads(void);

#endif
