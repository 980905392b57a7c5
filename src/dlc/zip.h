// SPDX-License-Identifier: MIT
//
// Zip archives as DLC files are: entries are stored, not compressed, and begin at multiples of 64
// bytes, so that they can be used where they lie. Numbers of the format, for its reader and writer.
#ifndef QRN_DLC_ZIP_H
#define QRN_DLC_ZIP_H

#include "dlc/dlc.h"

#define QRN_ZIP_ALIGN 64u
#define QRN_ZIP_LOCAL 0x04034b50u
#define QRN_ZIP_CENTRAL 0x02014b50u
#define QRN_ZIP_END 0x06054b50u
#define QRN_ZIP_LOCAL_BYTES 30u
#define QRN_ZIP_CENTRAL_BYTES 46u
#define QRN_ZIP_END_BYTES 22u
#define QRN_ZIP_MOST_BYTES UINT32_MAX // an archive without the 64-bit extensions
#define QRN_ZIP_NAME_BYTES 255u

// Entries of an archive in memory, in their order, with checksums verified; `type` is 0.
qrn_status qrn_zip_read(const char *name, const void *data, uint64_t size_bytes, qrn_arena *arena,
                        qrn_dlc_record **entries, uint32_t *n);

// A run of bytes of an entry.
typedef struct qrn_zip_part {
    const void *data;
    uint64_t size_bytes;
} qrn_zip_part;

typedef struct qrn_zip_entry {
    const char *name;
    const qrn_zip_part *parts;
    uint32_t n_parts;
} qrn_zip_entry;

// The whole archive as a list of parts in the arena.
qrn_status qrn_zip_write(const qrn_zip_entry *entries, uint32_t n, qrn_arena *arena,
                         qrn_zip_part **parts, size_t *n_parts, uint64_t *size_bytes);

#endif
