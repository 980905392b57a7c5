// SPDX-License-Identifier: MIT
//
// Binaries that are damaged behind right checksums: every byte of every record changed, and random
// changes, removals and additions. The answer is a description that can be walked through, or
// 30010; no memory is kept.
#include "../binary/refile.h"
#include "pairs.h"
#include "sample.h"
#include "system/system.h"

#include <stdlib.h>
#include <string.h>

enum { RANDOM_TRIALS = 20000 };

typedef struct world {
    QnnSystemContext_Handle_t reader;
    refile good;
    unsigned n_described, n_refused;
} world;

// Reads every byte that a list of tensors refers to; the sum keeps the compiler from leaving it
// out.
static uint64_t walk_tensors(const Qnn_Tensor_t *list, uint32_t n) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        const Qnn_TensorV1_t *v = &list[i].v1;
        const Qnn_QuantizeParams_t *q = &v->quantizeParams;
        sum += strlen(v->name) + v->id + (unsigned)v->dataType;
        for (uint32_t d = 0; d < v->rank; d++)
            sum += v->dimensions[d];
        if (list[i].version == QNN_TENSOR_VERSION_2 && list[i].v2.isDynamicDimensions)
            for (uint32_t d = 0; d < v->rank; d++)
                sum += list[i].v2.isDynamicDimensions[d];
        if (q->encodingDefinition != QNN_DEFINITION_DEFINED)
            continue;
        if (q->quantizationEncoding == QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET)
            for (uint32_t k = 0; k < q->axisScaleOffsetEncoding.numScaleOffsets; k++)
                sum += (uint64_t)q->axisScaleOffsetEncoding.scaleOffset[k].offset;
        if (q->quantizationEncoding == QNN_QUANTIZATION_ENCODING_BW_FLOAT_BLOCK)
            for (uint32_t d = 0; d < v->rank; d++)
                sum += q->bwFloatBlockEncoding.blockSize[d];
    }
    return sum;
}

static uint64_t walk(const QnnSystemContext_BinaryInfoV3_t *v) {
    uint64_t sum = strlen(v->buildId) + strlen(v->socVersion);
    sum += walk_tensors(v->contextTensors, v->numContextTensors);
    for (uint32_t i = 0; i < v->numGraphs; i++) {
        const QnnSystemContext_GraphInfoV3_t *g = &v->graphs[i].graphInfoV3;
        sum += strlen(g->graphName) + walk_tensors(g->graphInputs, g->numGraphInputs) +
               walk_tensors(g->graphOutputs, g->numGraphOutputs) +
               walk_tensors(g->updateableTensors, g->numUpdateableTensors);
        const unsigned char *blob = g->graphBlobInfo;
        for (uint32_t k = 0; k < g->graphBlobInfoSize; k++)
            sum += blob[k];
    }
    return sum;
}

// Describes what was changed, with a reader of its own: descriptions live as long as it does.
static void try_it(world *w, const refile *r) {
    static volatile uint64_t sink;
    size_t size = 0;
    uint8_t *bytes = refile_join(r, &size);
    const QnnSystemContext_BinaryInfo_t *info = NULL;
    assert_non_null(bytes);
    OK(QnnSystemContext_create(&w->reader));
    size_t live = qrn_alloc_live();
    Qnn_ErrorHandle_t code = QnnSystemContext_getMetadata(w->reader, bytes, size, &info);
    free(bytes);
    if (code == QNN_SUCCESS) {
        sink = walk(&info->contextBinaryInfoV3);
        w->n_described++;
    } else {
        assert_int_equal(code, QNN_SYSTEM_CONTEXT_ERROR_MALFORMED_BINARY);
        assert_int_equal(qrn_alloc_live(), live);
        w->n_refused++;
    }
    (void)sink;
    OK(QnnSystemContext_free(w->reader));
}

static int set_up(void **state) {
    static world w;
    uint64_t size = 0;
    void *bytes = sample_bytes(&size);
    memset(&w, 0, sizeof w);
    if (!refile_split(bytes, size, &w.good))
        return -1;
    free(bytes);
    *state = &w;
    return 0;
}

static int tear_down(void **state) {
    refile_free(&((world *)*state)->good);
    return 0;
}

static void every_byte_may_be_wrong(void **state) {
    static const uint8_t changes[] = {0x01, 0x80, 0xff};
    world *w = *state;
    try_it(w, &w->good);
    assert_int_equal(w->n_described, 1);
    for (uint32_t i = 0; i < w->good.n; i++) {
        refile_section *s = &w->good.sections[i];
        for (size_t at = 0; at < s->size; at++)
            for (size_t c = 0; c < sizeof changes; c++) {
                s->data[at] ^= changes[c];
                try_it(w, &w->good);
                s->data[at] ^= changes[c];
            }
    }
    // Changes behind the checksums are often noticed, and often only change a number.
    assert_true(w->n_refused > 500 && w->n_described > 500);
}

static uint64_t next(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void random_changes(void **state) {
    world *w = *state;
    uint64_t seed = 0x9e3779b97f4a7c15u;
    uint64_t size = 0;
    void *bytes = sample_bytes(&size);
    for (int i = 0; i < RANDOM_TRIALS; i++) {
        refile r;
        assert_true(refile_split(bytes, size, &r));
        for (unsigned edits = 1 + (unsigned)(next(&seed) % 4); edits; edits--) {
            refile_section *s = &r.sections[next(&seed) % r.n];
            if (s->size == 0)
                continue;
            size_t at = (size_t)(next(&seed) % s->size);
            uint64_t kind = next(&seed) % 8;
            if (kind == 0)
                refile_splice(s, at, s->size - at < 4 ? s->size - at : 4, 0);
            else if (kind == 1)
                refile_splice(s, at, 0, 4);
            else if (kind < 5 && s->size - at >= 4)
                refile_put(s->data + at,
                           (uint32_t)(next(&seed) % 3 ? next(&seed) % 9 : next(&seed)));
            else
                s->data[at] = (uint8_t)next(&seed);
        }
        try_it(w, &r);
        refile_free(&r);
    }
    free(bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_byte_may_be_wrong),
        cmocka_unit_test(random_changes),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
