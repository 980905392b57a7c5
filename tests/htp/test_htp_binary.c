// SPDX-License-Identifier: MIT
//
// Context binaries of the HTP backend: saving, loading, what is the same afterwards.
#include "binary_model.h"

static void same_results_after_loading(void **state) {
    (void)state;
    uint8_t made[NET_OUT_BYTES], loaded[NET_OUT_BYTES];
    blob b = blob_of_net(0, "net", made);
    htp_world w = htp_bare(0);
    HTP_OK(w.qnn.contextCreateFromBinary(w.backend, w.device, NULL, b.data, b.size, &w.context,
                                         NULL));
    free(b.data);
    net m = net_of(&w.qnn, w.context, "net");
    net_run(&w.qnn, &m, loaded);
    assert_memory_equal(made, loaded, sizeof made);
    htp_end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_results_after_loading),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
