// SPDX-License-Identifier: MIT
//
// The words in which types.c and custom.c describe structs: rows are {KIND(struct, member, ...),
// WHEN(struct, selector, value)}. Included by those two files only.
#ifndef QRN_BACKEND_SAVER_FIELDS_H
#define QRN_BACKEND_SAVER_FIELDS_H

#include "backend/saver/saver.h"

#include "CPU/QnnCpuCommon.h"
#include "CPU/QnnCpuGraph.h"
#include "GPU/QnnGpuBackend.h"
#include "GPU/QnnGpuCommon.h"
#include "GPU/QnnGpuContext.h"
#include "GPU/QnnGpuGraph.h"
#include "HTP/QnnHtpCommon.h"
#include "HTP/QnnHtpContext.h"
#include "HTP/QnnHtpDevice.h"
#include "HTP/QnnHtpGraph.h"
#include "HTP/QnnHtpMem.h"
#include "QnnGlobalConfig.h"
#include "QnnProperty.h"

#define V(name)                                                                                    \
    { #name, (uint32_t)name }
#define ENUM(T, ...)                                                                               \
    static const qrn_saved_value values_##T[] __attribute__((unused)) = {__VA_ARGS__};             \
    static const qrn_saved_enum enum_##T                                                           \
        __attribute__((unused)) = {#T, values_##T, sizeof values_##T / sizeof values_##T[0]};
#include "backend/saver/enums.def"
#undef ENUM
#undef V

#define AT(T, f) .name = #f, .offset = offsetof(T, f)
#define U8(T, f) AT(T, f), .kind = QRN_SAVED_U8
#define U16(T, f) AT(T, f), .kind = QRN_SAVED_U16
#define U32(T, f) AT(T, f), .kind = QRN_SAVED_U32
#define I8(T, f) AT(T, f), .kind = QRN_SAVED_I8
#define I16(T, f) AT(T, f), .kind = QRN_SAVED_I16
#define I32(T, f) AT(T, f), .kind = QRN_SAVED_I32
#define U64(T, f) AT(T, f), .kind = QRN_SAVED_U64
#define I64(T, f) AT(T, f), .kind = QRN_SAVED_I64
#define F32(T, f) AT(T, f), .kind = QRN_SAVED_F32
#define F64(T, f) AT(T, f), .kind = QRN_SAVED_F64
#define STRING(T, f) AT(T, f), .kind = QRN_SAVED_STRING
#define STRINGS(T, f) AT(T, f), .kind = QRN_SAVED_STRINGS
#define BYTES(T, f) AT(T, f), .kind = QRN_SAVED_BYTES
#define ENUM_OF(T, f, E) AT(T, f), .kind = QRN_SAVED_ENUM, .values = &enum_##E
#define EMBED(T, f, t) AT(T, f), .kind = QRN_SAVED_STRUCT, .type = &qrn_type_##t
#define ONE(T, f, t) AT(T, f), .kind = QRN_SAVED_ONE, .type = &qrn_type_##t
#define MANY(T, f, t) AT(T, f), .kind = QRN_SAVED_MANY, .type = &qrn_type_##t
#define NUMBERS(T, f, k, c) AT(T, f), .kind = QRN_SAVED_NUMBERS, .element = QRN_SAVED_##k, .word = c
#define HANDLE(T, f, o) AT(T, f), .kind = QRN_SAVED_HANDLE, .object = QRN_SAVER_##o
#define CUSTOM(T, f, o) AT(T, f), .kind = QRN_SAVED_CUSTOM, .object = QRN_OPTION_##o
#define COUNT(T, n) .count_at = offsetof(T, n) + 1
#define COUNT64(T, n) .count_at = offsetof(T, n) + 1, .is_64bit = true
#define WHEN(T, f, v) .when_at = offsetof(T, f) + 1, .when = (uint32_t)v

#define STRUCT_AS(how, id, T, flags, ...)                                                          \
    static const qrn_saved_field fields_##id[] = {__VA_ARGS__};                                    \
    how const qrn_saved_type qrn_type_##id = {#T, sizeof(T), fields_##id,                          \
                                              sizeof fields_##id / sizeof fields_##id[0], flags};
#define NO_FLAGS .is_plain = false
#define STRUCT(id, T, ...) STRUCT_AS(static, id, T, NO_FLAGS, __VA_ARGS__)
#define STRUCT_OUT(id, T, ...) STRUCT_AS(, id, T, NO_FLAGS, __VA_ARGS__)
#define STRUCT_TENSOR(id, T, ...) STRUCT_AS(static, id, T, .is_tensor = true, __VA_ARGS__)
#define PLAIN(id, T, ...) STRUCT_AS(static, id, T, .is_plain = true, __VA_ARGS__)

#endif
