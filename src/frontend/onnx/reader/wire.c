// SPDX-License-Identifier: MIT
//
// Protocol-buffer wire format, read in place.
#include "frontend/onnx/reader/wire.h"

#include <string.h>

ox_wire ox_wire_of(const uint8_t *base, ox_bytes message) {
    return (ox_wire){.base = base, .at = message.p, .end = message.p + message.n};
}

size_t ox_wire_offset(const ox_wire *w) { return (size_t)(w->at - w->base); }

static qrn_status broken(const ox_wire *w, const char *what) {
    return QRN_FAIL(QRN_E_BINARY, "offset %zu: %s", ox_wire_offset(w), what);
}

static qrn_status read_varint(ox_wire *w, uint64_t *out) {
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (w->at == w->end)
            return broken(w, "number cut short");
        uint8_t byte = *w->at++;
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *out = v;
            return QRN_OK;
        }
    }
    return broken(w, "number of more than 64 bits");
}

static qrn_status read_fixed(ox_wire *w, size_t bytes, uint64_t *out) {
    if ((size_t)(w->end - w->at) < bytes)
        return broken(w, "number cut short");
    uint64_t v = 0;
    memcpy(&v, w->at, bytes); // little-endian, as all machines we run on
    w->at += bytes;
    *out = v;
    return QRN_OK;
}

qrn_status ox_wire_next(ox_wire *w, bool *more) {
    *more = w->at < w->end;
    if (!*more)
        return QRN_OK;
    uint64_t tag;
    QRN_TRY(read_varint(w, &tag));
    w->field = (uint32_t)(tag >> 3);
    w->kind = (uint32_t)(tag & 7);
    if (tag >> 3 == 0 || tag >> 3 > 0x1fffffff)
        return broken(w, "field number out of range");
    switch (w->kind) {
    case OX_VARINT:
        return read_varint(w, &w->value);
    case OX_FIXED64:
        return read_fixed(w, 8, &w->value);
    case OX_FIXED32:
        return read_fixed(w, 4, &w->value);
    case OX_BYTES:
        break;
    default:
        return broken(w, "unknown wire type");
    }
    uint64_t n;
    QRN_TRY(read_varint(w, &n));
    if (n > (uint64_t)(w->end - w->at))
        return broken(w, "length goes past the end; the file is cut short or damaged");
    w->bytes = (ox_bytes){w->at, (size_t)n};
    w->at += n;
    return QRN_OK;
}

qrn_status ox_wire_int(const ox_wire *w, int64_t *out) {
    if (w->kind != OX_VARINT)
        return broken(w, "a number was expected");
    *out = (int64_t)w->value;
    return QRN_OK;
}

qrn_status ox_wire_float(const ox_wire *w, float *out) {
    if (w->kind != OX_FIXED32)
        return broken(w, "a 32-bit float was expected");
    uint32_t u = (uint32_t)w->value;
    memcpy(out, &u, sizeof u);
    return QRN_OK;
}

qrn_status ox_wire_bytes(const ox_wire *w, ox_bytes *out) {
    if (w->kind != OX_BYTES)
        return broken(w, "bytes were expected");
    *out = w->bytes;
    return QRN_OK;
}

qrn_status ox_wire_ints(const ox_wire *w, qrn_status (*add)(void *ctx, int64_t v), void *ctx) {
    if (w->kind == OX_VARINT)
        return add(ctx, (int64_t)w->value);
    if (w->kind != OX_BYTES)
        return broken(w, "numbers were expected");
    ox_wire packed = ox_wire_of(w->base, w->bytes);
    while (packed.at < packed.end) {
        uint64_t v;
        QRN_TRY(read_varint(&packed, &v));
        QRN_TRY(add(ctx, (int64_t)v));
    }
    return QRN_OK;
}

qrn_status ox_wire_count(const ox_wire *w, uint32_t element_kind, size_t *count) {
    if (w->kind == element_kind) {
        *count += 1;
        return QRN_OK;
    }
    if (w->kind != OX_BYTES)
        return broken(w, "numbers were expected");
    if (element_kind == OX_VARINT) { // one byte without continuation bit ends each number
        for (size_t i = 0; i < w->bytes.n; i++)
            *count += w->bytes.p[i] < 0x80;
        return QRN_OK;
    }
    size_t size = element_kind == OX_FIXED64 ? 8 : 4;
    if (w->bytes.n % size)
        return broken(w, "packed numbers of broken length");
    *count += w->bytes.n / size;
    return QRN_OK;
}
