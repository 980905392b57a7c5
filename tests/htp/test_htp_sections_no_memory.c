// SPDX-License-Identifier: MIT
//
// Sections of context binaries when memory runs out.
#include "base/mem.h"
#include "binary_sections.h"

// Whichever allocation fails: an error, the old values, and the next try succeeds.
static void sections_survive_a_lack_of_memory(void **state) {
    (void)state;
    pair p = make_pair(QNN_CONTEXT_SECTION_UPDATABLE);
    net m;
    htp_world w = load(&p, &m);
    expect(&w, &m, p.out[0]);
    unsigned n = 0;
    for (Qnn_ErrorHandle_t code = 1; code != QNN_SUCCESS;) {
        qrn_alloc_fail_at(++n, false);
        code = apply(&w, m.graph, QNN_CONTEXT_SECTION_UPDATABLE, &p.sections[1]);
        qrn_alloc_fail_at(0, false);
        if (code != QNN_SUCCESS) {
            HTP_FAILS(code, QNN_CONTEXT_ERROR_MEM_ALLOC);
            expect(&w, &m, p.out[0]);
        }
    }
    assert_true(n > 20);
    expect(&w, &m, p.out[1]);
    htp_end(&w);
    w = begin_updateable(OTHER_SEED, &m);
    Qnn_ContextBinarySize_t size = 0;
    n = 0;
    do
        qrn_alloc_fail_at(++n, false);
    while (w.qnn.contextGetBinarySectionSize(w.context, m.graph, QNN_CONTEXT_SECTION_UPDATABLE,
                                             &size) == QNN_CONTEXT_ERROR_MEM_ALLOC);
    qrn_alloc_fail_at(0, false);
    assert_true(n > 5);
    assert_int_equal(size, p.sections[1].size);
    htp_end(&w);
    free_pair(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sections_survive_a_lack_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
