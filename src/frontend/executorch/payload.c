// SPDX-License-Identifier: MIT
//
// The two parts of a QnnBackend delegate: the options it was compiled with, and the blob around the
// context binary, or a DLC file as it is.
#include "frontend/executorch/delegate.h"
#include "frontend/client/flat.h"

#include <string.h>

#define MAGIC 0x5678ABCDu
#define OLD_MAGIC 0x1234ABCDu
#define HEADER 256 // since release 1.2 the binary lies behind a padded header
#define OLD_HEADER 20

qrn_status et_qnn_options_parse(const void *data, size_t size, et_qnn_options *out) {
    qc_flat flat;
    qc_table root, soc, htp, backend, options;
    et_qnn_options o = {.library = ""};
    if (qc_flat_root(&flat, data, size, &root)) {
        if (qc_flat_table(&root, 0, &soc)) {
            o.soc = qc_flat_u32(&soc, 0, 0);
            if (qc_flat_table(&soc, 1, &htp)) {
                o.arch = qc_flat_u32(&htp, 0, 0);
                o.vtcm_mb = qc_flat_u32(&htp, 1, 0);
            }
        }
        if (qc_flat_table(&root, 1, &backend)) {
            o.backend = qc_flat_i32(&backend, 0, 0);
            if (qc_flat_table(&backend, 1, &options))
                o.performance_mode = qc_flat_i32(&options, 1, 0);
        }
        o.library = qc_flat_text(&root, 2, "");
        o.log_level = qc_flat_i32(&root, 3, 0);
        o.online_prepare = qc_flat_u8(&root, 4, 0);
        o.dump_outputs = qc_flat_u8(&root, 5, 0);
        o.profile_level = qc_flat_i32(&root, 6, 0);
        o.shared_buffer = qc_flat_u8(&root, 7, 0);
        o.from_binary = qc_flat_u8(&root, 8, 0);
    }
    if (flat.error)
        return QRN_FAIL(QRN_E_BINARY, "broken compile options: %s", flat.error);
    *out = o;
    return QRN_OK;
}

static uint64_t load(const uint8_t *p, unsigned bytes) {
    uint64_t v = 0;
    for (unsigned i = 0; i < bytes; i++)
        v |= (uint64_t)p[i] << (8 * i);
    return v;
}

qrn_status et_qnn_blob_parse(const void *data, size_t size, et_qnn_blob *out) {
    const uint8_t *p = data;
    uint32_t magic = size >= OLD_HEADER ? (uint32_t)load(p, 4) : 0;
    if (magic == OLD_MAGIC)
        return QRN_FAIL(QRN_E_UNSUPPORTED,
                        "made by release 0.7 or older with online_prepare, which has been given "
                        "up since; export the model again");
    if (size >= 12 && memcmp(p, "PK\3\4", 4) == 0) { // a DLC file, without a header of its own
        *out = (et_qnn_blob){p, size, (int64_t)load(p + 4, 8), true};
        return QRN_OK;
    }
    if (magic != MAGIC)
        return QRN_FAIL(QRN_E_BINARY, "it does not begin as a QNN payload does");
    uint64_t bytes = load(p + 12, 8);
    size_t header = bytes == size - OLD_HEADER ? OLD_HEADER : HEADER;
    if (size < header || bytes > size - header)
        return QRN_FAIL(QRN_E_BINARY,
                        "a context binary of %llu bytes in a payload of %zu; is the file cut off?",
                        (unsigned long long)bytes, size);
    *out = (et_qnn_blob){p + header, (size_t)bytes, (int64_t)load(p + 4, 8), false};
    return QRN_OK;
}
