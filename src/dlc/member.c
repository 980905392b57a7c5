// SPDX-License-Identifier: MIT
//
// Members of the JSON records, checked: kinds, ranges, and the bytes of other records that they
// name.
#include "dlc/topology.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

qrn_status qrn_dlc_json(const char *name, const qrn_dlc_record *r, qrn_arena *a, qrn_json **out) {
    qrn_status s = qrn_json_read(name, r->data, r->size_bytes, a, out);
    return s == QRN_OK || s == QRN_E_MEM ? s : QRN_E_BINARY;
}

qrn_status qrn_dlc_wrong(const qrn_dlc_site *s, const qrn_json *at, const char *what) {
    return QRN_FAIL(QRN_E_BINARY, "%s: line %u%s%s%s%s%s: %s", s->name, at->line,
                    *s->graph ? ", graph '" : "", s->graph, *s->graph ? "'" : "",
                    *s->item ? ", " : "", s->item, what);
}

static qrn_status wrong_key(const qrn_dlc_site *s, const qrn_json *at, const char *key,
                            const char *what) {
    char text[160];
    snprintf(text, sizeof text, "'%.40s' %.100s", key, what);
    return qrn_dlc_wrong(s, at, text);
}

qrn_status qrn_dlc_member(const qrn_dlc_site *s, const qrn_json *object, const char *key,
                          qrn_json_kind kind, bool needed, const qrn_json **out) {
    const qrn_json *v = object->kind == QRN_JSON_OBJECT ? qrn_json_member(object, key) : NULL;
    *out = v;
    if (!v)
        return needed ? wrong_key(s, object, key, "is missing") : QRN_OK;
    if (v->kind == kind)
        return QRN_OK;
    char what[60];
    snprintf(what, sizeof what, "is %s, expected %s", qrn_json_kind_text(v->kind),
             qrn_json_kind_text(kind));
    return wrong_key(s, v, key, what);
}

qrn_status qrn_dlc_text(const qrn_dlc_site *s, const qrn_json *object, const char *key,
                        const char **out) {
    const qrn_json *v = NULL;
    QRN_TRY(qrn_dlc_member(s, object, key, QRN_JSON_STRING, true, &v));
    *out = v->text;
    return QRN_OK;
}

// Digits alone: the reader lets through what JSON calls a number.
static bool is_whole(const char *text) { return strspn(text, "-0123456789") == strlen(text); }

qrn_status qrn_dlc_value_u64(const qrn_dlc_site *s, const qrn_json *v, uint64_t most,
                             uint64_t *out) {
    if (v->kind != QRN_JSON_NUMBER || !is_whole(v->text) || *v->text == '-')
        return qrn_dlc_wrong(s, v, "expected a whole number that is not negative");
    errno = 0;
    unsigned long long n = strtoull(v->text, NULL, 10);
    if (errno || n > most)
        return qrn_dlc_wrong(s, v, "a number is too large");
    *out = n;
    return QRN_OK;
}

qrn_status qrn_dlc_value_i64(const qrn_dlc_site *s, const qrn_json *v, int64_t *out) {
    if (v->kind != QRN_JSON_NUMBER || !is_whole(v->text))
        return qrn_dlc_wrong(s, v, "expected a whole number");
    errno = 0;
    long long n = strtoll(v->text, NULL, 10);
    if (errno)
        return qrn_dlc_wrong(s, v, "a number is too large");
    *out = n;
    return QRN_OK;
}

qrn_status qrn_dlc_u32(const qrn_dlc_site *s, const qrn_json *object, const char *key,
                       uint32_t most, uint32_t *out) {
    const qrn_json *v = NULL;
    uint64_t n = 0;
    QRN_TRY(qrn_dlc_member(s, object, key, QRN_JSON_NUMBER, true, &v));
    QRN_TRY(qrn_dlc_value_u64(s, v, most, &n));
    *out = (uint32_t)n;
    return QRN_OK;
}

qrn_status qrn_dlc_bits(const qrn_dlc_site *s, const qrn_json *object, const char *key,
                        unsigned digits, uint64_t *out) {
    const char *text = NULL;
    QRN_TRY(qrn_dlc_text(s, object, key, &text));
    if (strlen(text) != digits || strspn(text, "0123456789abcdef") != digits)
        return wrong_key(s, object, key, "is not as many hexadecimal digits as it must be");
    *out = strtoull(text, NULL, 16);
    return QRN_OK;
}

qrn_status qrn_dlc_flag(const qrn_dlc_site *s, const qrn_json *object, const char *key, bool *out) {
    const qrn_json *v = NULL;
    QRN_TRY(qrn_dlc_member(s, object, key, QRN_JSON_TRUE, false, &v));
    *out = v != NULL;
    return QRN_OK;
}

qrn_status qrn_dlc_bytes(const qrn_dlc_site *s, const qrn_json *object, const char *key,
                         const char *record, uint64_t bytes, uint32_t align, bool needed,
                         const void **data) {
    const qrn_json *v = NULL;
    uint64_t at = 0, n = 0;
    *data = NULL;
    QRN_TRY(qrn_dlc_member(s, object, key, QRN_JSON_ARRAY, needed, &v));
    if (!v)
        return QRN_OK;
    if (v->n != 2)
        return wrong_key(s, v, key, "is not a pair of position and bytes");
    QRN_TRY(qrn_dlc_value_u64(s, v->first, UINT64_MAX, &at));
    QRN_TRY(qrn_dlc_value_u64(s, v->first->next, UINT64_MAX, &n));
    const qrn_dlc_record *r = qrn_dlc_find(s->dlc, record);
    if (!r || at > r->size_bytes || n > r->size_bytes - at)
        return wrong_key(s, v, key, "lies outside its record");
    if (at % align)
        return wrong_key(s, v, key, "is not aligned");
    if (n != bytes) {
        char what[100];
        snprintf(what, sizeof what, "has %llu bytes, expected %llu", (unsigned long long)n,
                 (unsigned long long)bytes);
        return wrong_key(s, v, key, what);
    }
    *data = (const char *)r->data + at;
    return QRN_OK;
}
