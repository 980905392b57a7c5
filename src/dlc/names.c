// SPDX-License-Identifier: MIT
//
// Words of DLC files for tensor types and data types: the public API's names without their prefix.
#include "dlc/dlc.h"

#include <string.h>

static const char *const roles[] = {
    [QRN_ROLE_INPUT] = "APP_WRITE",     [QRN_ROLE_OUTPUT] = "APP_READ",
    [QRN_ROLE_INOUT] = "APP_READWRITE", [QRN_ROLE_NATIVE] = "NATIVE",
    [QRN_ROLE_STATIC] = "STATIC",       [QRN_ROLE_NULL] = "NULL",
};
#define N_ROLES (sizeof roles / sizeof *roles)

static const char *const dtypes[QRN_DTYPE_COUNT] = {
    [QRN_DTYPE_F32] = "FLOAT_32",
    [QRN_DTYPE_F16] = "FLOAT_16",
    [QRN_DTYPE_BF16] = "BFLOAT_16",
    [QRN_DTYPE_F64] = "FLOAT_64",
    [QRN_DTYPE_I8] = "INT_8",
    [QRN_DTYPE_I16] = "INT_16",
    [QRN_DTYPE_I32] = "INT_32",
    [QRN_DTYPE_I64] = "INT_64",
    [QRN_DTYPE_U8] = "UINT_8",
    [QRN_DTYPE_U16] = "UINT_16",
    [QRN_DTYPE_U32] = "UINT_32",
    [QRN_DTYPE_U64] = "UINT_64",
    [QRN_DTYPE_SQ4] = "SFIXED_POINT_4",
    [QRN_DTYPE_SQ8] = "SFIXED_POINT_8",
    [QRN_DTYPE_SQ16] = "SFIXED_POINT_16",
    [QRN_DTYPE_SQ32] = "SFIXED_POINT_32",
    [QRN_DTYPE_UQ4] = "UFIXED_POINT_4",
    [QRN_DTYPE_UQ8] = "UFIXED_POINT_8",
    [QRN_DTYPE_UQ16] = "UFIXED_POINT_16",
    [QRN_DTYPE_UQ32] = "UFIXED_POINT_32",
    [QRN_DTYPE_B8] = "BOOL_8",
    [QRN_DTYPE_STR] = "STRING",
};

const char *qrn_dlc_role_name(unsigned role) { return role < N_ROLES ? roles[role] : NULL; }

const char *qrn_dlc_dtype_name(qrn_dtype type) { return dtypes[type]; }

int qrn_dlc_role_find(const char *name) {
    for (size_t i = 0; i < N_ROLES; i++)
        if (strcmp(roles[i], name) == 0)
            return (int)i;
    return -1;
}

qrn_dtype qrn_dlc_dtype_find(const char *name) {
    qrn_dtype t = (qrn_dtype)0;
    while (t < QRN_DTYPE_COUNT && strcmp(dtypes[t], name) != 0)
        t++;
    return t;
}
