// SPDX-License-Identifier: MIT
//
// Facts about the chips that can be modelled: one row each (socs.def). A file named by QUERN_SOCS
// adds rows and replaces those of the same number; docs/htp-device.md describes it. It is read
// once, when a chip is first asked for; pointers to rows stay valid.
#ifndef QRN_BASE_SOC_H
#define QRN_BASE_SOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct qrn_soc {
    uint32_t id;         // SoC model number of the API; 0: none, facts of an architecture
    const char *name;    // "SM8650"
    const char *aliases; // further names, separated by spaces (in them _), or ""
    uint32_t arch;       // 68 to 81
    uint32_t vtcm_mb;
    uint32_t hvx; // vector units
    uint32_t hmx; // matrix units
    uint32_t cores;
    bool fp16;      // half-precision arithmetic
    bool dlbc;      // bandwidth compression
    bool signed_pd; // signed process domains
    bool slc;       // system-level cache allocator
} qrn_soc;

#define QRN_SOC_WARNING_MAX 384 // bytes of a warning
#define QRN_SOC_DEFAULT 30u     // SM8350: what a device without options is

// The chip with this model number, or with this name or alias: in any case, with or without
// "Snapdragon", and whatever separates its words ("8 Gen 3", "8gen3"); NULL: unknown.
const qrn_soc *qrn_soc_by_id(uint32_t id);
const qrn_soc *qrn_soc_by_name(const char *name);
// i-th row; NULL behind the last one.
const qrn_soc *qrn_soc_at(uint32_t i);
// Line i of what was wrong with the file of QUERN_SOCS; NULL behind the last one.
const char *qrn_soc_warning(uint32_t i);
// Facts that every chip of an architecture has at least; NULL: unknown architecture.
const qrn_soc *qrn_soc_of_arch(uint32_t arch);
// Tests: these bytes instead of the file. Not thread-safe; earlier pointers to rows end.
void qrn_soc_reread(const void *text, size_t size);

#endif
