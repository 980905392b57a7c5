// SPDX-License-Identifier: MIT
//
// Lists of encodings, and writing them. Numbers have the digits of a float, so what is read again
// is the same to the bit.
#include "quantizer/encodings_json.h"

#include "base/mem.h"
#include "base/outfile.h"
#include "base/report_text.h"

#include <string.h>

static qrn_status no_memory(void) { return QRN_FAIL(QRN_E_MEM, "out of memory for encodings"); }

qrn_status qz_encodings_create(qz_encodings **out) {
    qz_encodings *e = qrn_calloc(sizeof *e);
    if (!e || !(e->arena = qrn_arena_create())) {
        qrn_free(e);
        return no_memory();
    }
    e->path = "";
    *out = e;
    return QRN_OK;
}

void qz_encodings_free(qz_encodings *e) {
    if (!e)
        return;
    qrn_strmap_clear(&e->by_name);
    qrn_arena_destroy(e->arena);
    qrn_free(e->items);
    qrn_free(e);
}

const qz_encoding *qz_encodings_find(const qz_encodings *e, const char *name) {
    const size_t *at = qrn_strmap_get(&e->by_name, name);
    return at ? &e->items[*at] : NULL;
}

static const void *copy(qz_encodings *e, const void *data, size_t bytes, bool *ok) {
    const void *made = data ? qrn_arena_copy(e->arena, data, bytes) : NULL;
    *ok = *ok && (made || !data);
    return made;
}

qrn_status qz_encodings_add(qz_encodings *e, const qz_encoding *item) {
    if (e->n == e->cap) {
        uint32_t cap = e->cap ? 2 * e->cap : 64;
        qz_encoding *grown = qrn_realloc(e->items, e->cap * sizeof *grown, cap * sizeof *grown);
        if (!grown)
            return no_memory();
        e->items = grown;
        e->cap = cap;
    }
    bool ok = true;
    qz_encoding q = *item;
    const size_t at = e->n, *place = copy(e, &at, sizeof at, &ok);
    q.name = copy(e, item->name, strlen(item->name) + 1, &ok);
    q.scales = copy(e, item->scales, item->n * sizeof *item->scales, &ok);
    q.offsets = copy(e, item->offsets, item->n * sizeof *item->offsets, &ok);
    q.multiples = copy(e, item->multiples, item->n * sizeof *item->multiples, &ok);
    q.channel_scales =
        copy(e, item->channel_scales, item->n_channels * sizeof *item->channel_scales, &ok);
    if (!ok || !qrn_strmap_put(&e->by_name, q.name, (void *)place))
        return no_memory();
    e->items[e->n++] = q;
    return QRN_OK;
}

// --- writing

static void put_floats(FILE *to, const float *v, uint32_t n, bool list) {
    if (list)
        fputc('[', to);
    for (uint32_t i = 0; i < n; i++) {
        if (i)
            fputs(", ", to);
        qrn_json_number(to, (double)v[i]);
    }
    if (list)
        fputc(']', to);
}

// minus: zero points instead of offsets; shift: of signed integers.
static void put_offsets(FILE *to, const qz_encoding *q, bool minus, int64_t shift, bool list) {
    if (list)
        fputc('[', to);
    for (uint32_t i = 0; i < q->n; i++) {
        int64_t v = minus ? -(int64_t)q->offsets[i] - shift : (int64_t)q->offsets[i];
        fprintf(to, "%s%lld", i ? ", " : "", (long long)v);
    }
    if (list)
        fputc(']', to);
}

static void put_legacy(FILE *to, const qz_encoding *q) {
    qrn_json_text(to, q->name);
    fputs(": [", to);
    for (uint32_t i = 0; i < (q->is_float ? 1 : q->n); i++) {
        fprintf(to, "%s\n      {\"bitwidth\": %u, \"dtype\": \"%s\"", i ? "," : "", q->bits,
                q->is_float ? "float" : "int");
        if (!q->is_float) {
            fprintf(to, ", \"is_symmetric\": \"%s\", \"min\": ", q->symmetric ? "True" : "False");
            qrn_json_number(to, qz_encoding_min(q, i));
            fputs(", \"max\": ", to);
            qrn_json_number(to, qz_encoding_max(q, i));
            fprintf(to, ", \"offset\": %d, \"scale\": ", q->offsets[i]);
            qrn_json_number(to, (double)q->scales[i]);
        }
        fputc('}', to);
    }
    fputc(']', to);
}

static void put_listed(FILE *to, const qz_encoding *q) {
    bool channels = q->n > 1 || q->axis != QZ_NO_AXIS, two = q->channel_scales != NULL;
    fputs("{\"name\": ", to);
    qrn_json_text(to, q->name);
    fprintf(to, ", \"enc_type\": \"%s\", \"dtype\": \"%s\", \"bw\": %u",
            two                        ? "LPBQ"
            : q->block                 ? "PER_BLOCK"
            : q->is_float || !channels ? "PER_TENSOR"
                                       : "PER_CHANNEL",
            q->is_float ? "FLOAT" : "INT", two ? 2 * q->bits : q->bits);
    if (!q->is_float) {
        fprintf(to, ", \"is_sym\": %s, \"scale\": ", q->symmetric ? "true" : "false");
        put_floats(to, two ? q->channel_scales : q->scales, two ? q->n_channels : q->n, true);
        fputs(", \"offset\": ", to);
        if (two) {
            for (uint32_t i = 0; i < q->n_channels; i++)
                fprintf(to, "%s%lld", i ? ", " : "[", -(1LL << (2 * q->bits - 1)));
            fputc(']', to);
        } else {
            put_offsets(to, q, false, 0, true);
        }
    }
    if (q->block && !q->is_float)
        fprintf(to, ", \"block_size\": %u", q->block);
    if (two) {
        fprintf(to, ", \"compressed_bw\": %u, \"per_block_int_scale\": ", q->bits);
        put_floats(to, q->multiples, q->n, true);
    }
    fputc('}', to);
}

static void put_modern(FILE *to, const qz_encoding *q) {
    bool list = q->n > 1 || q->axis != QZ_NO_AXIS, is_signed = q->symmetric;
    int64_t shift = is_signed ? INT64_C(1) << (q->bits - 1) : 0;
    fputs("{\"name\": ", to);
    qrn_json_text(to, q->name);
    fprintf(to, ", \"output_dtype\": \"%s%u\"",
            q->is_float ? "float"
            : is_signed ? "int"
                        : "uint",
            q->bits);
    if (!q->is_float && q->channel_scales) {
        fputs(", \"per_channel_float_scale\": ", to);
        put_floats(to, q->channel_scales, q->n_channels, true);
        fputs(", \"per_block_int_scale\": ", to);
        put_floats(to, q->multiples, q->n, true);
    } else if (!q->is_float) {
        fputs(", \"y_scale\": ", to);
        put_floats(to, q->scales, q->n, list);
    }
    if (!q->is_float && !is_signed) {
        fputs(", \"y_zero_point\": ", to);
        put_offsets(to, q, true, shift, list);
    }
    if (!q->is_float && list)
        fprintf(to, ", \"axis\": %d", q->axis != QZ_NO_AXIS ? q->axis : q->block ? 1 : 0);
    if (q->block && !q->is_float)
        fprintf(to, ", \"block_size\": %u", q->block);
    fputc('}', to);
}

static const struct {
    const char *version;
    const char *sections[2]; // activations and parameters; the first alone: both
    char open, close;
    void (*put)(FILE *to, const qz_encoding *q);
} forms[] = {
    [QZ_ENCODINGS_0_6_1] =
        {"0.6.1", {"activation_encodings", "param_encodings"}, '{', '}', put_legacy},
    [QZ_ENCODINGS_1_0_0] =
        {"1.0.0", {"activation_encodings", "param_encodings"}, '[', ']', put_listed},
    [QZ_ENCODINGS_2_0_0] = {"2.0.0", {"encodings", NULL}, '[', ']', put_modern},
};

qrn_status qz_encodings_print(const qz_encodings *e, qz_encodings_version version, FILE *to) {
    for (uint32_t i = 0; i < e->n && version == QZ_ENCODINGS_0_6_1; i++)
        if (e->items[i].block)
            return QRN_FAIL(QRN_E_UNSUPPORTED,
                            "tensor '%s' has blocks of %u, which version 0.6.1 has no form for; "
                            "write 1.0.0 or 2.0.0",
                            e->items[i].name, e->items[i].block);
    fprintf(to, "{\n  \"version\": \"%s\"", forms[version].version);
    for (int k = 0; k < 2 && forms[version].sections[k]; k++) {
        bool any = false;
        fprintf(to, ",\n  \"%s\": %c", forms[version].sections[k], forms[version].open);
        for (uint32_t i = 0; i < e->n; i++) {
            bool param = e->items[i].place == QZ_OF_PARAM;
            if (forms[version].sections[1] && param != (k == 1))
                continue;
            fprintf(to, "%s\n    ", any ? "," : "");
            forms[version].put(to, &e->items[i]);
            any = true;
        }
        fprintf(to, "%s%c", any ? "\n  " : "", forms[version].close);
    }
    fputs("\n}\n", to);
    return QRN_OK;
}

qrn_status qz_encodings_write(const qz_encodings *e, qz_encodings_version version,
                              const char *path) {
    qrn_outfile f;
    QRN_TRY(qrn_outfile_begin(&f, path));
    FILE *to = qrn_outfile_stream(&f);
    qrn_status s = to ? qz_encodings_print(e, version, to) : QRN_OK;
    if (s != QRN_OK) {
        qrn_outfile_abort(&f);
        return s;
    }
    return qrn_outfile_commit(&f);
}
