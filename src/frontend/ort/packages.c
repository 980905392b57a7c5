// SPDX-License-Identifier: MIT
//
// Op packages (option op_packages): "OpType:library:InterfaceSymbol[:Target]", separated by commas.
// Each library is registered with the backend; nodes of that type then go to the package, whose
// name is the symbol without "InterfaceProvider", as the public provider has it.
#include "frontend/ort/ep.h"

#include <string.h>

#define FIELDS 4
#define SUFFIX "InterfaceProvider"

static qrn_status read_entry(char *entry, char *fields[FIELDS]) {
    size_t n = 0;
    char *rest = entry;
    memset(fields, 0, FIELDS * sizeof *fields);
    while (rest) {
        char *piece = qe_cut(&rest, ':');
        if (n == FIELDS || !piece[0])
            n = FIELDS + 1; // too many, or an empty one
        else
            fields[n++] = piece;
        if (n > FIELDS)
            break;
    }
    if (n < 3 || n > FIELDS)
        return QRN_FAIL(QRN_E_ARGUMENT, "option op_packages: expected entries of the form "
                                        "OpType:library:InterfaceSymbol[:Target], separated by "
                                        "commas");
    return QRN_OK;
}

static qrn_status add_package(qe_ep *ep, char *const fields[FIELDS], ox_package *out) {
    const qc_client *c = ep->client;
    size_t n = strlen(fields[2]), m = strlen(SUFFIX);
    if (!c->qnn.backendRegisterOpPackage)
        return QRN_FAIL(QRN_E_UNSUPPORTED, "option op_packages: %s supports no packages", c->path);
    Qnn_ErrorHandle_t code =
        c->qnn.backendRegisterOpPackage(c->backend, fields[1], fields[2], fields[3]);
    if (QNN_GET_ERROR_CODE(code) != QNN_BACKEND_ERROR_OP_PACKAGE_DUPLICATE) // several ops of one
        QRN_TRY(qc_check(c, code, "backendRegisterOpPackage"));
    if (n > m && strcmp(fields[2] + n - m, SUFFIX) == 0)
        fields[2][n - m] = '\0';
    *out = (ox_package){.op = fields[0], .package = fields[2]};
    return QRN_OK;
}

qrn_status qe_packages_register(qe_ep *ep) {
    const char *given = ep->opt.packages;
    if (!given || !given[0])
        return QRN_OK;
    size_t most = 1;
    for (const char *p = given; *p; p++)
        most += *p == ',';
    char *rest = qrn_arena_strdup(ep->arena, given);
    ox_package *list = qrn_arena_alloc(ep->arena, most * sizeof *list);
    if (!rest || !list)
        return QRN_FAIL(QRN_E_MEM, "option op_packages: no memory");
    while (rest) {
        char *fields[FIELDS];
        QRN_TRY(read_entry(qe_cut(&rest, ','), fields));
        QRN_TRY(add_package(ep, fields, &list[ep->n_packages]));
        ep->n_packages++;
    }
    ep->packages = list;
    return QRN_OK;
}
