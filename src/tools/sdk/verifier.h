// SPDX-License-Identifier: MIT
//
// Verifiers of the accuracy tools: how far an array is from a reference, by one number, and whether
// that is within the limits that parameters set.
#ifndef QRN_TOOLS_SDK_VERIFIER_H
#define QRN_TOOLS_SDK_VERIFIER_H

#include <stdbool.h>
#include <stddef.h>

#define QS_MAX_PARAMS 2

// A verifier by its published name with the values of its parameters.
typedef struct qs_verifier {
    const struct qs_verifier_kind *kind;
    double params[QS_MAX_PARAMS];
} qs_verifier;

typedef struct qs_verdict {
    double value; // of the metric
    bool pass;
} qs_verdict;

// "SQNR" or "SQNR,threshold,30"; names in any case. QT_EXIT_OK or another code after a message that
// begins with `where`.
int qs_verifier_parse(const char *where, const char *text, qs_verifier *out);
const char *qs_verifier_name(const qs_verifier *v);
// "threshold=30" into buf; "" without parameters.
const char *qs_verifier_params(const qs_verifier *v, char *buf, size_t size);
qs_verdict qs_verify(const qs_verifier *v, const float *got, const float *want, size_t n);

#endif
