// SPDX-License-Identifier: MIT
//
// Numbers of the context binary's outer form (docs/context-binary.md): header, section table,
// places of constants. Everything is little-endian; nothing outside src/binary needs this.
#ifndef QRN_BINARY_FORMAT_H
#define QRN_BINARY_FORMAT_H

#include <stdint.h>

#define QRN_BIN_MAGIC "QUERNCTX" // 8 bytes, without the terminator
#define QRN_BIN_HEADER_BYTES 64u
#define QRN_BIN_SECTION_BYTES 32u // of an entry of the section table
#define QRN_BIN_SECTION_ALIGN 4096u
#define QRN_BIN_CONST_ALIGN 64u
#define QRN_BIN_CONST_TAIL 64u // readable bytes behind the last constant of a section
#define QRN_BIN_MAX_GRAPHS 4096u
#define QRN_BIN_MAX_SECTIONS (4 * QRN_BIN_MAX_GRAPHS + 4)
#define QRN_BIN_NONE UINT32_MAX // no constant

// Where the fields of the header are.
enum {
    QRN_BIN_AT_MAGIC = 0,
    QRN_BIN_AT_MAJOR = 8,
    QRN_BIN_AT_MINOR = 12,
    QRN_BIN_AT_FILE_BYTES = 16,
    QRN_BIN_AT_SECTIONS = 24,
    QRN_BIN_AT_CRC = 28,  // of the header with 0 in this place, then the section table
    QRN_BIN_AT_PART = 32, // qrn_bin_part
    QRN_BIN_AT_ZERO = 36  // from here to the end of the header
};

typedef enum qrn_bin_section_type {
    QRN_BIN_SECTION_INFO = 1,    // one, the first
    QRN_BIN_SECTION_GRAPH = 2,   // one a graph
    QRN_BIN_SECTION_CONST = 3,   // constants whose checksum is always verified
    QRN_BIN_SECTION_WEIGHTS = 4, // constants that one graph uses
    QRN_BIN_SECTION_SHARED = 5,  // constants that several graphs use
    // At most one a graph; behind the graphs, for weights are last.
    QRN_BIN_SECTION_SCHEDULE = 6,
    QRN_BIN_SECTION_COMPILED = 7,
    QRN_BIN_SECTION_PREPARED = 8
} qrn_bin_section_type;

// Constants of this many bytes and more are weights, unless they are parameters of ops.
#define QRN_BIN_WEIGHT_BYTES 16384u

// Kind and flags of a value of a compiled graph.
#define QRN_BIN_VALUE_KIND 3u        // qrn_cvalue_kind
#define QRN_BIN_VALUE_LIKE_TENSOR 4u // type, shape and encoding are those of its tensor
#define QRN_BIN_VALUE_IN_OTHER 8u    // lies in the memory of another value

// Flags of the groups of an encoding.
#define QRN_BIN_GROUPS_OFFSETS 1u
#define QRN_BIN_GROUPS_REAL_OFFSETS 2u // per block
#define QRN_BIN_GROUPS_PACKED 4u       // per block, alone: in packed forms of the tensor

// Flags of a tensor.
#define QRN_BIN_TENSOR_UPDATEABLE 1u
#define QRN_BIN_TENSOR_OPTIONAL 2u

#endif
