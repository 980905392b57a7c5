// SPDX-License-Identifier: MIT
//
// Words for writing supported.def, which is included inside an initialiser of qrn_support_row[].
//   ROW(op, config, answer, ALTS(ALT(IN(0, F32), OUT(0, F32)), ...), note, params, constraints)
//   NOT(op, config)
#ifndef QRN_IR_SUPPORT_WORDS_H
#define QRN_IR_SUPPORT_WORDS_H

#include "ir/support.h"
#include "ir/type_words.h"

#define SUPPORT_LIST(type, ...) ((const type[]){__VA_ARGS__})
#define SUPPORT_LENGTH(type, ...) (sizeof(SUPPORT_LIST(type, __VA_ARGS__)) / sizeof(type))

#define ROW(op, config, answer, alts, note, params, constraints)                                   \
    {op, config, QRN_ANSWER_##answer, alts, note, params, constraints},
#define NOT(op, config) {op, config, QRN_ANSWER_NO, NULL, 0, "", "", ""},

#define ALTS(...)                                                                                  \
    SUPPORT_LIST(qrn_support_alt, __VA_ARGS__), SUPPORT_LENGTH(qrn_support_alt, __VA_ARGS__)
#define NO_ALTS NULL, 0
#define ALT(...)                                                                                   \
    {                                                                                              \
        SUPPORT_LIST(qrn_support_operand, __VA_ARGS__),                                            \
            SUPPORT_LENGTH(qrn_support_operand, __VA_ARGS__)                                       \
    }

// One operand, a run of operands, or all from a position on.
#define IN(i, types)                                                                               \
    { false, i, i, types }
#define OUT(i, types)                                                                              \
    { true, i, i, types }
#define INS(first, last, types)                                                                    \
    { false, first, last, types }
#define INS_FROM(first, types)                                                                     \
    { false, first, QRN_SUPPORT_LAST, types }
#define OUTS_FROM(first, types)                                                                    \
    { true, first, QRN_SUPPORT_LAST, types }

#endif
