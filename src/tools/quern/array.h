// SPDX-License-Identifier: MIT
//
// Arrays in memory: what files hold and what models take and give. Elements are of an ONNX type,
// dense, in C order, in this machine's byte order; 4-bit types lie one to a byte here.
#ifndef QRN_TOOLS_QUERN_ARRAY_H
#define QRN_TOOLS_QUERN_ARRAY_H

#include "base/status.h"
#include "frontend/onnx/reader/model.h"

#include "QnnTypes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct qt_array {
    int type; // ox_type
    uint32_t rank;
    uint64_t dims[OX_MAX_RANK];
    size_t count, bytes;
    void *data; // owned, from malloc; never NULL after success
} qt_array;

// Bytes of one element as arrays hold it; 0 for types that they cannot hold.
size_t qt_element_size(int type);
// An array with cleared data. The message names `what`.
qrn_status qt_array_create(const char *what, int type, uint32_t rank, const uint64_t *dims,
                           qt_array *out);
void qt_array_free(qt_array *a); // cleared afterwards; a cleared one is fine

// Elements of a float, integer or bool array.
double qt_array_at(const qt_array *a, size_t i);
// The same numbers in another type: floats to integers toward zero, too large ones to the nearest
// that fits.
qrn_status qt_array_cast(const char *what, const qt_array *a, int type, qt_array *out);

// The ONNX type whose arrays have the same elements as a QNN buffer; OX_NONE for unknown ones.
int qt_type_of_qnn(Qnn_DataType_t dtype);

// Between an array and the dense buffer of a QNN tensor of a type that may be another one (int64
// held as int32, float64 as float32, 4 bits packed). The message of qt_to_qnn names `what` and the
// value that does not fit.
qrn_status qt_to_qnn(const char *what, const qt_array *a, Qnn_DataType_t dtype, void *buffer);
qrn_status qt_from_qnn(const char *what, const void *buffer, Qnn_DataType_t dtype, qt_array *a);

typedef struct qt_stats {
    double min, max, mean; // of the finite values; NaN when there are none
    size_t n_nan, n_inf;
} qt_stats;
qt_stats qt_array_stats(const qt_array *a);

// How far results are from a reference, gathered over pairs of arrays of the same count.
typedef struct qt_comparison {
    double signal, norm, dot, error; // sums of want^2, got^2, got * want, (got - want)^2
    double max_error;
    size_t count;
    // Pairs of which one is NaN or infinite and the other is something else: an infinite error, so
    // that no sum over the rest can make up for it.
    size_t n_mismatch;
    size_t n_both; // pairs of the same infinity, or of two NaNs: not in the sums
} qt_comparison;
void qt_compare(qt_comparison *c, const qt_array *got, const qt_array *want);
double qt_sqnr_db(const qt_comparison *c); // infinity when equal, -infinity: n_mismatch
double qt_cosine(const qt_comparison *c);  // 1 when both are zero, 0: n_mismatch

#endif
