// SPDX-License-Identifier: MIT
//
// A proof (prove.h) of a call that a cmocka test has made up: its operands have exactly the bytes
// of their shapes. Include it behind cmocka.h.
#ifndef TESTS_PROOF_PROVE_CALL_H
#define TESTS_PROOF_PROVE_CALL_H

#include "prove.h"

#define PROVE_CALL_OPERANDS 16

static inline void prove_call(const qrn_family *f, qrn_domain domain, const qrn_kcall *k) {
    size_t bytes[PROVE_CALL_OPERANDS] = {0};
    assert_true(k->n_in + k->n_out <= PROVE_CALL_OPERANDS);
    for (uint32_t i = 0; i < k->n_in + k->n_out; i++) {
        const qrn_view *v = i < k->n_in ? k->in[i] : k->out[i - k->n_in];
        bytes[i] = v ? (qrn_view_count(v) * qrn_dtypes[v->dtype].bits + 7) / 8 : 0;
    }
    proof p = {.family = f, .domain = domain, .call = k, .bytes = bytes};
    if (!prove(&p))
        fail_msg("%s", p.why);
    assert_int_equal(p.status, QRN_OK);
}

#endif
