// SPDX-License-Identifier: MIT
//
// quern show for context binaries: graphs, tensors with encodings, options and sizes, as the System
// library returns them.
#include "tools/quern/binary.h"
#include "tools/quern/estimate.h"

#include "base/dtype.h"
#include "tools/quern/output.h"
#include "tools/quern/report.h"
#include "tools/quern/session.h"
#include "tools/quern/show_published.h"

#include "HTP/QnnHtpCommon.h"
#include "HTP/QnnHtpSystemContext.h"

#include <stdlib.h>
#include <string.h>

// The HTP's facts of a graph; NULL where there are none.
typedef struct facts {
    const QnnHtpSystemContext_GraphBlobInfoV1_t *v1;
    const QnnHtpSystemContext_GraphBlobInfoV2_t *v2;
} facts;

static facts facts_of(const QnnSystemContext_GraphInfoV3_t *g) {
    const QnnHtpSystemContext_GraphBlobInfo_t *b = g->graphBlobInfo;
    facts f = {0};
    if (!b || g->graphBlobInfoSize < sizeof *b ||
        b->version != QNN_SYSTEM_CONTEXT_HTP_GRAPH_INFO_BLOB_VERSION_V1)
        return f;
    f.v1 = &b->contextBinaryGraphBlobInfoV1;
    if (g->graphBlobInfoSize >= sizeof *b + sizeof *f.v2)
        f.v2 = (const void *)(b + 1);
    return f;
}

// "float32", "int64", or "ufixed8" for quantized ones.
static const char *type_text(Qnn_DataType_t dtype, char buf[16]) {
    qrn_dtype t = qrn_dtype_from_code((uint32_t)dtype);
    if (t == QRN_DTYPE_COUNT || !qrn_dtype_is_fixed(t))
        return ox_type_name(qt_type_of_qnn(dtype));
    snprintf(buf, 16, "%cfixed%u", qrn_dtypes[t].cls == QRN_CLASS_SFIXED ? 's' : 'u',
             qrn_dtypes[t].bits);
    return buf;
}

static void shape_of(const Qnn_TensorV1_t *v, uint64_t dims[OX_MAX_RANK]) {
    for (uint32_t i = 0; i < v->rank && i < OX_MAX_RANK; i++)
        dims[i] = v->dimensions[i];
}

static json_t *json_encoding(const Qnn_Tensor_t *t) {
    const Qnn_QuantizeParams_t *q = &t->v1.quantizeParams;
    float scale;
    int32_t offset;
    if (q->encodingDefinition != QNN_DEFINITION_DEFINED)
        return json_null();
    if (qt_border_encoding(t, &scale, &offset))
        return json_pack("{s:i,s:f,s:i}", "kind", (int)q->quantizationEncoding, "scale",
                         (double)scale, "offset", (int)offset);
    json_t *o = json_pack("{s:i}", "kind", (int)q->quantizationEncoding);
    if (o && q->quantizationEncoding == QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET) {
        json_t *list = json_array();
        for (uint32_t i = 0; i < q->axisScaleOffsetEncoding.numScaleOffsets; i++)
            json_array_append_new(
                list, json_real((double)q->axisScaleOffsetEncoding.scaleOffset[i].scale));
        json_object_set_new(o, "axis", json_integer(q->axisScaleOffsetEncoding.axis));
        json_object_set_new(o, "scales", list);
    }
    return o;
}

static json_t *json_tensors(const Qnn_Tensor_t *list, uint32_t n) {
    json_t *out = json_array();
    for (uint32_t i = 0; i < n; i++) {
        const Qnn_TensorV1_t *v = &list[i].v1;
        uint64_t dims[OX_MAX_RANK];
        char type[16];
        shape_of(v, dims);
        json_array_append_new(
            out, json_pack("{s:I,s:o,s:s,s:I,s:o,s:o}", "id", (json_int_t)v->id, "name",
                           qt_json_text(v->name), "type", type_text(v->dataType, type),
                           "data_format", (json_int_t)v->dataFormat, "shape",
                           qt_json_shape(v->rank, dims), "encoding", json_encoding(&list[i])));
    }
    return out;
}

// The schedule of a graph, to be printed or as an object; nothing if it has none.
static json_t *report_schedule(const QnnSystemContext_GraphInfoV3_t *g, bool json) {
    qrn_arena *arena = qrn_arena_create();
    json_t *o = NULL;
    qd_schedule s;
    bool known = false;
    if (arena && qt_binary_schedule(g, arena, &s, &known) && known) {
        if (json)
            o = qt_schedule_json(&s, false);
        else
            qt_print_schedule(&s, "  schedule");
    }
    qrn_arena_destroy(arena);
    return o;
}

static json_t *json_graph(const QnnSystemContext_GraphInfoV3_t *g) {
    json_t *o = json_pack("{s:o,s:I,s:o,s:o,s:o}", "name", qt_json_text(g->graphName), "ops",
                          (json_int_t)(g->endOpIndex - g->startOpIndex + 1), "inputs",
                          json_tensors(g->graphInputs, g->numGraphInputs), "outputs",
                          json_tensors(g->graphOutputs, g->numGraphOutputs), "updateable",
                          json_tensors(g->updateableTensors, g->numUpdateableTensors));
    facts f = facts_of(g);
    if (o && f.v1)
        json_object_set_new(o, "options",
                            json_pack("{s:I,s:I,s:I,s:b}", "opt_level",
                                      (json_int_t)f.v1->optimizationLevel, "vtcm_mb",
                                      (json_int_t)f.v1->vtcmSize, "hvx_threads",
                                      (json_int_t)f.v1->numHvxThreads, "dlbc", f.v1->htpDlbc != 0));
    if (o && f.v1)
        json_object_set_new(o, "spill_fill_bytes",
                            json_integer((json_int_t)f.v1->spillFillBufferSize));
    if (o && f.v2) {
        json_object_set_new(o, "constant_bytes", json_integer((json_int_t)f.v2->constSize));
        json_object_set_new(o, "shared_bytes", json_integer((json_int_t)f.v2->sharedWeightsSize));
        json_object_set_new(o, "io_bytes", json_integer((json_int_t)f.v2->ioTensorSize));
        json_object_set_new(o, "native_k_tile", json_integer((json_int_t)f.v2->nativeKChannelSize));
        json_object_set_new(o, "native_v_tile", json_integer((json_int_t)f.v2->nativeVChannelSize));
    }
    json_t *schedule = report_schedule(g, true);
    if (schedule)
        json_object_set_new(o, "schedule", schedule);
    return o;
}

static const char *version_text(Qnn_Version_t v, char *buf, size_t size) {
    snprintf(buf, size, "%u.%u.%u", v.major, v.minor, v.patch);
    return buf;
}

static int show_json(const char *path, const qt_binary *b, bool verified) {
    const QnnSystemContext_BinaryInfoV3_t *v = b->info;
    char core[32], own[32], blob[32];
    json_t *graphs = json_array();
    for (uint32_t i = 0; i < v->numGraphs; i++)
        json_array_append_new(graphs, json_graph(&v->graphs[i].graphInfoV3));
    return qt_print_json(
        json_pack("{s:o,s:I,s:s,s:o,s:s,s:s,s:I,s:o,s:I,s:I,s:b,s:o,s:o}", "binary",
                  qt_json_text(path), "bytes", (json_int_t)b->n_bytes, "format",
                  version_text(v->contextBlobVersion, blob, sizeof blob), "build",
                  qt_json_text(v->buildId ? v->buildId : ""), "core_api",
                  version_text(v->coreApiVersion, core, sizeof core), "backend_api",
                  version_text(v->backendApiVersion, own, sizeof own), "backend_id",
                  (json_int_t)v->backendId, "soc", qt_json_text(v->socVersion ? v->socVersion : ""),
                  "soc_model", (json_int_t)v->socModel, "arch", (json_int_t)qt_binary_arch(b),
                  "verified", verified, "context_tensors",
                  json_tensors(v->contextTensors, v->numContextTensors), "graphs", graphs));
}

static void print_tensors(const char *title, const Qnn_Tensor_t *list, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        const Qnn_TensorV1_t *v = &list[i].v1;
        uint64_t dims[OX_MAX_RANK];
        char shape[256], type[16];
        float scale;
        int32_t offset;
        shape_of(v, dims);
        qt_print("  %-10s %s  %s %s", i ? "" : title, v->name, type_text(v->dataType, type),
                 qt_shape_text(v->rank, dims, shape, sizeof shape));
        if (qt_border_encoding(&list[i], &scale, &offset))
            qt_print("  scale %.9g, offset %d", (double)scale, offset);
        else if (v->quantizeParams.encodingDefinition == QNN_DEFINITION_DEFINED)
            qt_print("  encoding %d", (int)v->quantizeParams.quantizationEncoding);
        if (v->dataFormat == QNN_TENSOR_DATA_FORMAT_HMX_WEIGHT_LAYOUT)
            qt_print("  native KV layout");
        qt_print("\n");
    }
}

static void print_graph(const QnnSystemContext_GraphInfoV3_t *g) {
    char a[32], b[32], c[32];
    qt_print("\n%sgraph %s%s  %u ops\n", qt_style_on(QT_BOLD), g->graphName, qt_style_off(),
             g->endOpIndex - g->startOpIndex + 1);
    print_tensors("inputs", g->graphInputs, g->numGraphInputs);
    print_tensors("outputs", g->graphOutputs, g->numGraphOutputs);
    print_tensors("updateable", g->updateableTensors, g->numUpdateableTensors);
    facts f = facts_of(g);
    if (f.v1)
        qt_print("  %-10s level %u, VTCM %u MB, %llu HVX threads, DLBC %s\n", "options",
                 f.v1->optimizationLevel, f.v1->vtcmSize, (unsigned long long)f.v1->numHvxThreads,
                 f.v1->htpDlbc ? "on" : "off");
    if (f.v2)
        qt_print(
            "  %-10s constants %s, %.0f %% of them shared with other graphs; inputs and outputs "
            "%s; spill-fill %s\n",
            "sizes", qt_bytes_text((double)f.v2->constSize, a, sizeof a),
            f.v2->constSize ? 100.0 * (double)f.v2->sharedWeightsSize / (double)f.v2->constSize
                            : 0.0,
            qt_bytes_text((double)f.v2->ioTensorSize, b, sizeof b),
            qt_bytes_text((double)f.v1->spillFillBufferSize, c, sizeof c));
    report_schedule(g, false);
}

// What the graphs of a context save by storing equal constants once.
static void print_sharing(const qt_binary *b) {
    double used = 0;
    for (uint32_t i = 0; i < b->info->numGraphs; i++) {
        facts f = facts_of(&b->info->graphs[i].graphInfoV3);
        used += f.v2 ? (double)f.v2->constSize : 0;
    }
    char a[32], c[32];
    if (b->info->numGraphs > 1)
        qt_print("\n%u graphs use %s of constants; the whole file has %s\n", b->info->numGraphs,
                 qt_bytes_text(used, a, sizeof a), qt_bytes_text((double)b->n_bytes, c, sizeof c));
}

static int show_text(const char *path, const qt_binary *b, bool verified) {
    const QnnSystemContext_BinaryInfoV3_t *v = b->info;
    char size[32], core[32], own[32];
    qt_print("%s%s%s  context binary %u.%u, %s", qt_style_on(QT_BOLD), path, qt_style_off(),
             v->contextBlobVersion.major, v->contextBlobVersion.minor,
             qt_bytes_text((double)b->n_bytes, size, sizeof size));
    if (v->socVersion && *v->socVersion)
        qt_print(", for %s", v->socVersion);
    if (qt_binary_arch(b))
        qt_print(" (v%u)", qt_binary_arch(b));
    qt_print("\nmade by %s, QNN API %s, backend %u API %s\n", v->buildId ? v->buildId : "?",
             version_text(v->coreApiVersion, core, sizeof core), v->backendId,
             version_text(v->backendApiVersion, own, sizeof own));
    if (verified)
        qt_print("%severy checksum is right, and the graphs load%s\n", qt_style_on(QT_GREEN),
                 qt_style_off());
    print_tensors("context", v->contextTensors, v->numContextTensors);
    for (uint32_t i = 0; i < v->numGraphs; i++)
        print_graph(&v->graphs[i].graphInfoV3);
    print_sharing(b);
    return qt_close_stdout();
}

// Loads it on the backend that it was made for, with the checksums of weights as well.
static int verify(const char *path, const qt_binary *b) {
    if (b->info->backendId != QNN_BACKEND_ID_HTP) {
        qt_error("%s: made for backend %u, which cannot be asked to verify it", path,
                 b->info->backendId);
        return QT_EXIT_REFUSED;
    }
    const qt_backend_options htp = {.backend = "htp"};
    const qt_backend_extras extras = {.soc = b->info->socModel, .no_context = true};
    qc_client *c = NULL;
    setenv("QUERN_VERIFY", "1", 1); // read when the library is opened
    int code = qt_open_backend(&htp, &extras, &c);
    if (code == QT_EXIT_OK && qc_load(c, b->bytes, b->n_bytes, NULL, NULL) != QRN_OK) {
        qt_error("%s: %s", path, qrn_message());
        code = QT_EXIT_REFUSED;
    }
    qc_close(c);
    return code;
}

static int show_published(const char *path, const qt_binary *b, bool verified) {
    (void)path, (void)verified; // the schema has no place for them
    return qt_print_json(qt_published_json(b->info));
}

int qt_show_binary(const char *path, qt_binary_form form, bool check) {
    static int (*const show[])(const char *, const qt_binary *, bool) = {
        [QT_BINARY_TEXT] = show_text,
        [QT_BINARY_JSON] = show_json,
        [QT_BINARY_PUBLISHED] = show_published,
    };
    qt_binary b = {0};
    int code = qt_binary_open(path, &b);
    if (code == QT_EXIT_OK && check)
        code = verify(path, &b);
    if (code == QT_EXIT_OK)
        code = show[form](path, &b, check);
    qt_binary_close(&b);
    return code;
}
