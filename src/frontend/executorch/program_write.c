// SPDX-License-Identifier: MIT
//
// A program around a context binary. Field numbers are those of the format. Tensors have no planned
// memory: whoever executes a method brings its buffers, and large states are not copied.
#include "frontend/executorch/program_write.h"

#include "base/crc32.h"
#include "base/mem.h"
#include "frontend/executorch/flat_write.h"
#include "frontend/executorch/program.h"

#include "GPU/QnnGpuCommon.h"
#include "HTP/QnnHtpCommon.h"

#include <string.h>

#define MAGIC 0x5678ABCDu
#define HEADER_AT 8 // the extended header
#define HEADER_BYTES 32
#define SEGMENT_ALIGN 256 // so is the context binary
#define PAYLOAD_SEGMENT 1 // segment 0 is for constants, of which there are none
#define KIND_TENSOR 5
#define CALL_DELEGATE 2
#define IN_SEGMENT 1
#define BURST 2
#define GPU_USER_PRECISION 3
#define LOG_ERRORS 1

enum {
    PROGRAM_VERSION,
    PROGRAM_PLANS,
    PROGRAM_CONSTANTS,
    PROGRAM_INLINE_DATA,
    PROGRAM_SEGMENTS,
    PROGRAM_CONSTANT_SEGMENT,
    N_PROGRAM
};
enum {
    PLAN_NAME,
    PLAN_CONTAINER,
    PLAN_VALUES,
    PLAN_INPUTS,
    PLAN_OUTPUTS,
    PLAN_CHAINS,
    PLAN_OPERATORS,
    PLAN_DELEGATES,
    PLAN_BUFFERS,
    N_PLAN
};
enum { TENSOR_TYPE, TENSOR_OFFSET, TENSOR_SIZES, TENSOR_ORDER, TENSOR_DYNAMISM = 8, N_TENSOR };
enum { CHAIN_INPUTS, CHAIN_OUTPUTS, CHAIN_INSTRUCTIONS, N_CHAIN };
enum { DELEGATE_ID, DELEGATE_DATA, DELEGATE_SPECS, N_DELEGATE };
enum {
    SPEC_SOC,
    SPEC_BACKEND,
    SPEC_LIBRARY,
    SPEC_LOG_LEVEL,
    SPEC_FROM_BINARY = 8,
    SPEC_SAVER,
    SPEC_SAVER_FOLDER,
    SPEC_PACKAGES,
    N_SPEC
};
enum { HTP_MODE = 1, HTP_CONV_HMX = 4, HTP_FOLD_RELU = 6, N_HTP };
enum { GPU_PRECISION = 1, GPU_MEMORY, GPU_NODES, GPU_RECORDING, N_GPU };

// clang-format off
static const struct {
    Qnn_DataType_t from;
    uint8_t to;
} types[] = {
    {QNN_DATATYPE_UINT_8, ET_BYTE}, {QNN_DATATYPE_UFIXED_POINT_8, ET_BYTE},
    {QNN_DATATYPE_INT_8, ET_CHAR}, {QNN_DATATYPE_SFIXED_POINT_8, ET_CHAR},
    {QNN_DATATYPE_UINT_16, ET_UINT16}, {QNN_DATATYPE_UFIXED_POINT_16, ET_UINT16},
    {QNN_DATATYPE_INT_16, ET_SHORT}, {QNN_DATATYPE_SFIXED_POINT_16, ET_SHORT},
    {QNN_DATATYPE_UINT_32, ET_UINT32}, {QNN_DATATYPE_UFIXED_POINT_32, ET_UINT32},
    {QNN_DATATYPE_INT_32, ET_INT}, {QNN_DATATYPE_SFIXED_POINT_32, ET_INT},
    {QNN_DATATYPE_INT_64, ET_LONG}, {QNN_DATATYPE_UINT_64, ET_UINT64},
    {QNN_DATATYPE_FLOAT_16, ET_HALF}, {QNN_DATATYPE_FLOAT_32, ET_FLOAT},
    {QNN_DATATYPE_FLOAT_64, ET_DOUBLE}, {QNN_DATATYPE_BOOL_8, ET_BOOL},
};
// clang-format on

static int type_of(Qnn_DataType_t type) {
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (types[i].from == type)
            return types[i].to;
    return -1;
}

// --- Pieces

static void put_text(et_flat *b, size_t waiting, const char *text) {
    size_t at = et_flat_text(b, text);
    et_flat_store(b, waiting, at - waiting, 4);
}

// A vector of n numbers from `first` on, each one more than the last.
static void put_range(et_flat *b, size_t waiting, uint32_t first, uint32_t n, unsigned bytes) {
    et_flat_align(b, bytes > 4 ? bytes : 4, 4); // the numbers are aligned, the count before them
    et_flat_reach(b, waiting);
    et_flat_put(b, n, 4);
    for (uint32_t i = 0; i < n; i++)
        et_flat_put(b, first + i, bytes);
}

// --- Compile options

static void put_backend(et_flat *b, size_t waiting, bool gpu) {
    et_field backend[3] = {et_flat_number(4, gpu ? 1 : 2), gpu ? (et_field){0} : et_flat_later(),
                           gpu ? et_flat_later() : (et_field){0}};
    et_flat_child(b, waiting, backend, 3);
    et_field htp[N_HTP] = {[HTP_MODE] = et_flat_number(4, BURST),
                           [HTP_CONV_HMX] = et_flat_number(1, 1),
                           [HTP_FOLD_RELU] = et_flat_number(1, 1)};
    et_field graphics[N_GPU] = {[GPU_PRECISION] = et_flat_number(4, GPU_USER_PRECISION),
                                [GPU_MEMORY] = et_flat_number(1, 1),
                                [GPU_NODES] = et_flat_number(1, 1),
                                [GPU_RECORDING] = et_flat_number(1, 1)};
    if (gpu)
        et_flat_child(b, backend[2].at, graphics, N_GPU);
    else
        et_flat_child(b, backend[1].at, htp, N_HTP);
}

// ExecuTorch's runtime reads the texts and the list of packages without asking for their presence.
static void put_spec(et_flat *b, const et_wrap_source *s) {
    size_t root = et_flat_put(b, 0, 4);
    et_flat_put(b, 0, 4); // no identifier
    et_field f[N_SPEC] = {[SPEC_SOC] = et_flat_later(),
                          [SPEC_BACKEND] = et_flat_later(),
                          [SPEC_LIBRARY] = et_flat_later(),
                          [SPEC_LOG_LEVEL] = et_flat_number(4, LOG_ERRORS),
                          [SPEC_FROM_BINARY] = et_flat_number(1, 1),
                          [SPEC_SAVER_FOLDER] = et_flat_later(),
                          [SPEC_PACKAGES] = et_flat_later()};
    et_flat_child(b, root, f, N_SPEC);
    et_field soc[2] = {et_flat_number(4, s->soc), et_flat_later()};
    et_flat_child(b, f[SPEC_SOC].at, soc, 2);
    et_field htp[2] = {et_flat_number(4, s->arch), et_flat_number(4, s->vtcm_mb)};
    et_flat_child(b, soc[1].at, htp, 2);
    put_backend(b, f[SPEC_BACKEND].at, s->info->backendId == QNN_BACKEND_ID_GPU);
    et_field packages[1] = {et_flat_later()};
    et_flat_child(b, f[SPEC_PACKAGES].at, packages, 1);
    et_flat_places(b, packages[0].at, 0);
    put_text(b, f[SPEC_LIBRARY].at, "");
    put_text(b, f[SPEC_SAVER_FOLDER].at, "");
    et_flat_align(b, 8, 0);
}

static void put_delegate(et_flat *b, size_t waiting, const et_flat *spec) {
    size_t place = et_flat_places(b, waiting, 1);
    et_field f[N_DELEGATE] = {et_flat_later(), et_flat_later(), et_flat_later()};
    et_flat_child(b, place, f, N_DELEGATE);
    put_text(b, f[DELEGATE_ID].at, "QnnBackend");
    et_field data[2] = {et_flat_number(1, IN_SEGMENT), et_flat_number(4, PAYLOAD_SEGMENT)};
    et_flat_child(b, f[DELEGATE_DATA].at, data, 2);
    place = et_flat_places(b, f[DELEGATE_SPECS].at, 1);
    et_field entry[2] = {et_flat_later(), et_flat_later()};
    et_flat_child(b, place, entry, 2);
    put_text(b, entry[0].at, "qnn_compile_spec");
    et_flat_align(b, 16, 4); // it is a FlatBuffer itself
    et_flat_reach(b, entry[1].at);
    et_flat_put(b, spec->n, 4);
    size_t to = et_flat_extend(b, spec->n);
    if (!b->failed)
        memcpy(b->data + to, spec->data, spec->n);
}

// --- Methods

static void put_tensor(et_flat *b, size_t waiting, const Qnn_Tensor_t *t) {
    const Qnn_TensorV1_t *v = &t->v1;
    et_field value[2] = {et_flat_number(1, KIND_TENSOR), et_flat_later()};
    et_flat_child(b, waiting, value, 2);
    bool bounded = false;
    for (uint32_t i = 0;
         t->version == QNN_TENSOR_VERSION_2 && t->v2.isDynamicDimensions && i < v->rank; i++)
        bounded = bounded || t->v2.isDynamicDimensions[i];
    et_field f[N_TENSOR] = {[TENSOR_TYPE] = et_flat_number(1, (uint64_t)type_of(v->dataType)),
                            [TENSOR_SIZES] = et_flat_later(),
                            [TENSOR_ORDER] = et_flat_later(),
                            [TENSOR_DYNAMISM] = et_flat_number(1, bounded)};
    et_flat_child(b, value[1].at, f, N_TENSOR);
    et_flat_align(b, 4, 0);
    et_flat_reach(b, f[TENSOR_SIZES].at);
    et_flat_put(b, v->rank, 4);
    for (uint32_t i = 0; i < v->rank; i++)
        et_flat_put(b, v->dimensions[i], 4);
    put_range(b, f[TENSOR_ORDER].at, 0, v->rank, 1);
}

// One instruction: the call of the delegate with all values.
static void put_chain(et_flat *b, size_t waiting, uint32_t n_values) {
    size_t place = et_flat_places(b, waiting, 1);
    et_field chain[N_CHAIN] = {et_flat_later(), et_flat_later(), et_flat_later()};
    et_flat_child(b, place, chain, N_CHAIN);
    put_range(b, chain[CHAIN_INPUTS].at, 0, 0, 4);
    put_range(b, chain[CHAIN_OUTPUTS].at, 0, 0, 4);
    place = et_flat_places(b, chain[CHAIN_INSTRUCTIONS].at, 1);
    et_field instruction[2] = {et_flat_number(1, CALL_DELEGATE), et_flat_later()};
    et_flat_child(b, place, instruction, 2);
    et_field call[2] = {et_flat_number(4, 0), et_flat_later()};
    et_flat_child(b, instruction[1].at, call, 2);
    put_range(b, call[1].at, 0, n_values, 4);
}

static void put_plan(et_flat *b, size_t waiting, const QnnSystemContext_GraphInfoV3_t *g,
                     const et_flat *spec) {
    uint32_t n_in = g->numGraphInputs, n_out = g->numGraphOutputs;
    et_field f[N_PLAN] = {[PLAN_NAME] = et_flat_later(),      [PLAN_VALUES] = et_flat_later(),
                          [PLAN_INPUTS] = et_flat_later(),    [PLAN_OUTPUTS] = et_flat_later(),
                          [PLAN_CHAINS] = et_flat_later(),    [PLAN_OPERATORS] = et_flat_later(),
                          [PLAN_DELEGATES] = et_flat_later(), [PLAN_BUFFERS] = et_flat_later()};
    et_flat_child(b, waiting, f, N_PLAN);
    put_text(b, f[PLAN_NAME].at, g->graphName);
    size_t place = et_flat_places(b, f[PLAN_VALUES].at, n_in + n_out);
    for (uint32_t i = 0; i < n_in + n_out; i++)
        put_tensor(b, place + 4 * (size_t)i,
                   i < n_in ? &g->graphInputs[i] : &g->graphOutputs[i - n_in]);
    put_range(b, f[PLAN_INPUTS].at, 0, n_in, 4);
    put_range(b, f[PLAN_OUTPUTS].at, n_in, n_out, 4);
    put_chain(b, f[PLAN_CHAINS].at, n_in + n_out);
    et_flat_places(b, f[PLAN_OPERATORS].at, 0);
    put_delegate(b, f[PLAN_DELEGATES].at, spec);
    put_range(b, f[PLAN_BUFFERS].at, 0, 1, 8); // the entry that stands for no buffer
}

// --- The file

static bool is_wanted(const et_wrap_source *s, uint32_t i) {
    return !s->graph || strcmp(s->info->graphs[i].graphInfoV3.graphName, s->graph) == 0;
}

static void put_segments(et_flat *b, const et_field *f, size_t payload) {
    size_t place = et_flat_places(b, f[PROGRAM_SEGMENTS].at, 2);
    for (unsigned i = 0; i < 2; i++) {
        et_field segment[2] = {et_flat_number(8, 0), et_flat_number(8, i ? payload : 0)};
        et_flat_child(b, place + 4 * i, segment, 2);
    }
    et_field constants[2] = {et_flat_number(4, 0), et_flat_later()};
    et_flat_child(b, f[PROGRAM_CONSTANT_SEGMENT].at, constants, 2);
    put_range(b, constants[1].at, 0, 1, 8); // the entry that stands for no constant
}

static void put_program(et_flat *b, const et_wrap_source *s, const et_flat *spec) {
    size_t payload = ET_PAYLOAD_HEADER + s->n_bytes;
    uint32_t n = 0;
    et_flat_extend(b, HEADER_AT + HEADER_BYTES);
    if (!b->failed)
        memcpy(b->data + 4, "ET12eh00", 8);
    et_field f[N_PROGRAM] = {et_flat_number(4, 0), et_flat_later(), et_flat_later(),
                             et_flat_later(),      et_flat_later(), et_flat_later()};
    et_flat_child(b, 0, f, N_PROGRAM);
    for (uint32_t i = 0; i < s->info->numGraphs; i++)
        n += is_wanted(s, i);
    size_t place = et_flat_places(b, f[PROGRAM_PLANS].at, n);
    for (uint32_t i = 0; i < s->info->numGraphs; i++)
        if (is_wanted(s, i)) {
            put_plan(b, place, &s->info->graphs[i].graphInfoV3, spec);
            place += 4;
        }
    et_flat_places(b, f[PROGRAM_CONSTANTS].at, 0);
    et_flat_places(b, f[PROGRAM_INLINE_DATA].at, 0);
    put_segments(b, f, payload);
    et_flat_align(b, SEGMENT_ALIGN, 0);
    et_flat_store(b, 12, HEADER_BYTES, 4);
    et_flat_store(b, 16, b->n, 8); // the program ends where the segments begin
    et_flat_store(b, 24, b->n, 8);
    et_flat_store(b, 32, payload, 8);
}

// Runtimes share a context among payloads with the same signature, so it stands for the bytes.
static void put_payload_header(et_flat *b, const et_wrap_source *s) {
    uint64_t signature = (uint64_t)qrn_crc32(0, s->bytes, s->n_bytes) << 31 ^ s->n_bytes;
    size_t at = et_flat_extend(b, ET_PAYLOAD_HEADER);
    et_flat_store(b, at, MAGIC, 4);
    et_flat_store(b, at + 4, signature & INT64_MAX, 8);
    et_flat_store(b, at + 12, s->n_bytes, 8);
}

static qrn_status check_tensors(const char *graph, const Qnn_Tensor_t *list, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        const Qnn_TensorV1_t *v = &list[i].v1;
        if (type_of(v->dataType) < 0)
            return QRN_FAIL(QRN_E_UNSUPPORTED,
                            "graph '%s', tensor '%s': programs have no type for QNN's 0x%x", graph,
                            v->name, (unsigned)v->dataType);
        if (strstr(v->name, "mutbuf_"))
            return QRN_FAIL(QRN_E_UNSUPPORTED,
                            "graph '%s', tensor '%s': 'mutbuf_' marks state inside of a delegate, "
                            "which a wrapped binary cannot have; rename it",
                            graph, v->name);
        if (v->rank > ET_MAX_RANK)
            return QRN_FAIL(QRN_E_UNSUPPORTED, "graph '%s', tensor '%s': rank %u, at most %d",
                            graph, v->name, v->rank, ET_MAX_RANK);
    }
    return QRN_OK;
}

static qrn_status check(const et_wrap_source *s) {
    uint32_t id = s->info->backendId;
    if (id != QNN_BACKEND_ID_HTP && id != QNN_BACKEND_ID_GPU)
        return QRN_FAIL(QRN_E_UNSUPPORTED,
                        "compiled for backend %u; ExecuTorch has the HTP (%d) and the GPU (%d)", id,
                        QNN_BACKEND_ID_HTP, QNN_BACKEND_ID_GPU);
    if (s->n_bytes > UINT32_MAX)
        return QRN_FAIL(QRN_E_UNSUPPORTED,
                        "%zu bytes; ExecuTorch's runtime reads binaries of less than 4 GiB",
                        s->n_bytes);
    for (uint32_t i = 0; i < s->info->numGraphs; i++) {
        const QnnSystemContext_GraphInfoV3_t *g = &s->info->graphs[i].graphInfoV3;
        if (!is_wanted(s, i))
            continue;
        QRN_TRY(check_tensors(g->graphName, g->graphInputs, g->numGraphInputs));
        QRN_TRY(check_tensors(g->graphName, g->graphOutputs, g->numGraphOutputs));
    }
    return QRN_OK;
}

qrn_status et_program_wrap(const et_wrap_source *source, void **head, size_t *n_bytes) {
    QRN_TRY(check(source));
    et_flat spec = {0}, b = {0};
    put_spec(&spec, source);
    b.failed = spec.failed;
    put_program(&b, source, &spec);
    put_payload_header(&b, source);
    qrn_free(spec.data);
    if (b.failed) {
        qrn_free(b.data);
        return QRN_FAIL(QRN_E_MEM, "out of memory for the program");
    }
    *head = b.data;
    *n_bytes = b.n;
    return QRN_OK;
}
