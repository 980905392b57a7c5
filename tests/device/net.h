// SPDX-License-Identifier: MIT
//
// A network under test, with all that is made of it; include it behind <cmocka.h>'s own headers.
#ifndef TESTS_DEVICE_NET_H
#define TESTS_DEVICE_NET_H

#include "device/advice.h"

typedef struct net {
    qd_graph g;
    qd_steps s;
    qd_estimate e;
    qd_advices a;
    const qd_options *options; // NULL: as the measurements were made
} net;

static int make(void **state) {
    static net n;
    n = (net){.g.arena = qrn_arena_create()};
    *state = &n;
    return n.g.arena ? 0 : -1;
}

static int drop(void **state) {
    qrn_arena_destroy(((net *)*state)->g.arena);
    return 0;
}

#endif
