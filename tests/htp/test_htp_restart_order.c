// SPDX-License-Identifier: MIT
//
// QUERN_HTP_RESTART=4 (CMakeLists.txt): the fourth call that reaches the accelerator finds it
// crashed, with no word from the client, which recovers.
#include "chain.h"

#define N 64u

static void build(htp_world *w, chain *c, uint8_t *x, uint8_t *y) {
    chain_build(&w->qnn, w->context, "g", NULL, 1, N, 3, c);
    HTP_OK(w->qnn.graphFinalize(c->graph, NULL, NULL));
    chain_fill(x, N, 1);
    htp_buffer(&c->x, x, N);
    htp_buffer(&c->y, y, N);
}

static void the_fourth_call_finds_a_restart(void **state) {
    (void)state;
    htp_world w = htp_begin(43); // makes a context
    chain c;
    uint8_t x[N], y[N];
    build(&w, &c, x, y);
    HTP_OK(w.qnn.graphExecute(c.graph, &c.x, 1, &c.y, 1, NULL, NULL));
    for (int i = 0; i < 2; i++)
        HTP_FAILS(w.qnn.graphExecute(c.graph, &c.x, 1, &c.y, 1, NULL, NULL),
                  QNN_COMMON_ERROR_SYSTEM_COMMUNICATION);
    HTP_OK(w.qnn.contextFree(w.context, NULL));
    HTP_OK(w.qnn.contextCreate(w.backend, w.device, NULL, &w.context));
    build(&w, &c, x, y);
    for (int i = 0; i < 8; i++) // there was one order
        HTP_OK(w.qnn.graphExecute(c.graph, &c.x, 1, &c.y, 1, NULL, NULL));
    chain_check(&c, x, y, N);
    htp_end(&w);
    w = htp_begin(43); // nor does another backend order one
    build(&w, &c, x, y);
    for (int i = 0; i < 8; i++)
        HTP_OK(w.qnn.graphExecute(c.graph, &c.x, 1, &c.y, 1, NULL, NULL));
    htp_end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_fourth_call_finds_a_restart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
