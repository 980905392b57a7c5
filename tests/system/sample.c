// SPDX-License-Identifier: MIT
//
// The context of sample.h.
#include "sample.h"

#include "binary/options.h"

#include "HTP/QnnHtpCommon.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define MIB (1024u * 1024u)

static const float axis_scales[3] = {0.5f, 0.25f, 0.125f};
static const int32_t axis_offsets[3] = {0, -3, 7};
static const float block_scales[4] = {1, 2, 3, 4};
static const float block_reals[4] = {-1, 0, 0.5f, 9};
static const int8_t weights[6] = {1, -2, 3, -4, 5, -6};
static const int8_t packed_bytes[4] = {0x12, 0x34, 0x56, 0x78};

static qrn_tensor x = {
    .id = 1,
    .name = "x",
    .role = QRN_ROLE_INPUT,
    .dtype = QRN_DTYPE_UQ8,
    .shape = {2, {4, 2}},
    .quant = {.kind = QRN_QUANT_TENSOR, .bits = 8, .scale = 0.1f, .offset = -128},
    .encoding = 0,
    .size_bytes = 8};
static qrn_tensor w = {.id = 2,
                       .name = "w",
                       .role = QRN_ROLE_STATIC,
                       .updateable = true,
                       .dtype = QRN_DTYPE_SQ8,
                       .shape = {2, {3, 2}},
                       .quant = {.kind = QRN_QUANT_AXIS,
                                 .bits = 8,
                                 .axis = 0,
                                 .scales = axis_scales,
                                 .offsets = axis_offsets,
                                 .n_groups = 3},
                       .encoding = 1,
                       .data = weights,
                       .size_bytes = 6};
static qrn_tensor block = {.id = 3,
                           .name = "block",
                           .role = QRN_ROLE_STATIC,
                           .updateable = true,
                           .dtype = QRN_DTYPE_UQ4,
                           .shape = {2, {2, 4}},
                           .quant = {.kind = QRN_QUANT_BLOCK,
                                     .bits = 4,
                                     .scales = block_scales,
                                     .real_offsets = block_reals,
                                     .n_groups = 4,
                                     .block = {1, 2}},
                           .encoding = 11, // BW_FLOAT_BLOCK
                           .data = packed_bytes,
                           .size_bytes = 4};
static qrn_tensor y = {.id = 4,
                       .name = "y",
                       .role = QRN_ROLE_OUTPUT,
                       .dtype = QRN_DTYPE_UQ8,
                       .shape = {2, {4, 3}},
                       .quant = {.kind = QRN_QUANT_TENSOR, .bits = 7, .scale = 0.2f, .offset = -1},
                       .encoding = 2, // BW_SCALE_OFFSET
                       .size_bytes = 12};
static qrn_tensor a = {.id = 5,
                       .name = "a",
                       .role = QRN_ROLE_INPUT,
                       .optional_io = true,
                       .dtype = QRN_DTYPE_F16,
                       .has_dynamic = true,
                       .dynamic = {0, 1},
                       .shape = {2, {4, 3}},
                       .size_bytes = 24};
static qrn_tensor b = {.id = 6,
                       .name = "b",
                       .role = QRN_ROLE_OUTPUT,
                       .dtype = QRN_DTYPE_F16,
                       .shape = {2, {4, 3}},
                       .size_bytes = 24};
static qrn_tensor between = {.id = 7,
                             .name = "between",
                             .role = QRN_ROLE_INOUT,
                             .dtype = QRN_DTYPE_F16,
                             .shape = {2, {4, 3}},
                             .size_bytes = 24};

static qrn_tensor *tensors_1[] = {&x, &w, &block, &y};
static qrn_tensor *tensors_2[] = {&a, &b};
static const qrn_tensor *const context_tensors[] = {&between};

static const uint32_t fc_in[] = {1, 2}, fc_out[] = {4};
static const uint32_t relu_in[] = {5}, relu_out[] = {6};
static const uint32_t keep_in[] = {5}, keep_out[] = {7};
static const qrn_bin_node nodes_1[] = {
    {"fc", "qti.aisw", "FullyConnected", fc_in, fc_out, 2, 1, 0, NULL, NULL},
};
static const qrn_bin_node nodes_2[] = {
    {"relu", "qti.aisw", "Relu", relu_in, relu_out, 1, 1, 0, NULL, NULL},
    {"keep", "qti.aisw", "Relu", keep_in, keep_out, 1, 1, 0, NULL, NULL},
};
static const qrn_bin_option options_1[] = {{QRN_BIN_GRAPH_LEVEL, 3},
                                           {QRN_BIN_GRAPH_VTCM_BYTES, 2 * MIB},
                                           {QRN_BIN_GRAPH_HVX_THREADS, 2},
                                           {QRN_BIN_GRAPH_DLBC, 1}};
static qrn_bin_graph graphs[] = {
    {.name = "first",
     .options = options_1,
     .n_options = 4,
     .tensors = tensors_1,
     .n_tensors = 4,
     .nodes = nodes_1,
     .n_nodes = 1,
     .const_bytes = 10,
     .io_bytes = 20,
     .arena_bytes = 5 * MIB},
    {.name = "second",
     .tensors = tensors_2,
     .n_tensors = 2,
     .nodes = nodes_2,
     .n_nodes = 2,
     .io_bytes = 48,
     .arena_bytes = 1024},
};

const qrn_bin *sample_bin(void) {
    static const qrn_bin bin = {.version_major = QRN_BIN_VERSION_MAJOR,
                                .version_minor = 3,
                                .core_api = {2, 40, 0},
                                .backend_api = {5, 51, 0},
                                .backend_id = QNN_BACKEND_ID_HTP,
                                .soc_id = 57,
                                .arch = 75,
                                .build_id = "test 1",
                                .tensors = context_tensors,
                                .n_tensors = 1,
                                .graphs = graphs,
                                .n_graphs = 2};
    return &bin;
}

void *sample_bytes(uint64_t *size_bytes) {
    uint64_t size = 0, written = 0;
    assert_int_equal(qrn_bin_size(sample_bin(), &size), QRN_OK);
    void *bytes = malloc(size);
    assert_non_null(bytes);
    assert_int_equal(qrn_bin_write(sample_bin(), bytes, size, &written), QRN_OK);
    assert_true(written <= size);
    *size_bytes = written;
    return bytes;
}
