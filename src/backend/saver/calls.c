// SPDX-License-Identifier: MIT
//
// The functions that clients get: each calls the core's and writes the call down. One lock is held
// meanwhile, so the recording has the calls in the order in which they took effect. It is
// recursive, because clients may call from their callbacks, and outermost: the core's locks are
// taken after it.
#include "backend/saver/saver.h"

#include "HTP/QnnHtpDevice.h"
#include "QnnGlobalConfig.h"

#include <pthread.h>

static pthread_mutex_t lock;
static QNN_INTERFACE_VER_TYPE core; // filled before the first call

__attribute__((constructor)) static void make_lock(void) {
    pthread_mutexattr_t a;
    pthread_mutexattr_init(&a);
    pthread_mutexattr_settype(&a, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&lock, &a);
    pthread_mutexattr_destroy(&a);
}

void qrn_saver_lock(void) { pthread_mutex_lock(&lock); }
void qrn_saver_unlock(void) { pthread_mutex_unlock(&lock); }

QNN_INTERFACE_VER_TYPE *qrn_saver_core(void) { return &core; }

// What a description says of an argument.
#define NUMBER(k)                                                                                  \
    { .kind = QRN_SAVED_##k }
#define ENUM(e)                                                                                    \
    { .kind = QRN_SAVED_ENUM, .values = &qrn_enum_##e }
#define WORDS                                                                                      \
    { .kind = QRN_SAVED_STRING }
#define OBJECT(o)                                                                                  \
    { .kind = QRN_SAVED_HANDLE, .object = QRN_SAVER_##o }
#define OBJECTS(o, n)                                                                              \
    { .kind = QRN_SAVED_HANDLES, .object = QRN_SAVER_##o, .count_at = n }
#define NEW(o)                                                                                     \
    { .kind = QRN_SAVED_NEW, .object = QRN_SAVER_##o }
#define FRESH(c)                                                                                   \
    { .kind = QRN_SAVED_FRESH, .word = c }
#define ALWAYS(c)                                                                                  \
    { .kind = QRN_SAVED_ALWAYS, .word = c }
#define CALLBACK(c)                                                                                \
    { .kind = QRN_SAVED_WORD, .word = c }
#define LIST(t)                                                                                    \
    { .kind = QRN_SAVED_LIST, .type = &qrn_type_##t }
#define LIST_PLAIN(t)                                                                              \
    { .kind = QRN_SAVED_LIST, .type = &qrn_type_##t, .plain = true }
#define POINTERS(t, n)                                                                             \
    { .kind = QRN_SAVED_POINTERS, .type = &qrn_type_##t, .count_at = n }
#define POINTERS_PLAIN(t, n)                                                                       \
    { .kind = QRN_SAVED_POINTERS, .type = &qrn_type_##t, .count_at = n, .plain = true }
#define BY_VALUE(t)                                                                                \
    { .kind = QRN_SAVED_STRUCT, .type = &qrn_type_##t }
#define ONE(t)                                                                                     \
    { .kind = QRN_SAVED_ONE, .type = &qrn_type_##t }
#define ONE_ROOM(t)                                                                                \
    { .kind = QRN_SAVED_ONE, .type = &qrn_type_##t, .plain = true }
#define MANY(t, n)                                                                                 \
    { .kind = QRN_SAVED_MANY, .type = &qrn_type_##t, .count_at = n }
#define OUTPUTS(n)                                                                                 \
    { .kind = QRN_SAVED_OUTPUTS, .type = &qrn_type_tensor, .count_at = n }
#define MEMS(n)                                                                                    \
    { .kind = QRN_SAVED_MEMS, .type = &qrn_type_mem, .count_at = n }
#define NEW_TENSOR                                                                                 \
    { .kind = QRN_SAVED_TENSOR, .type = &qrn_type_tensor }
#define BYTES(n)                                                                                   \
    { .kind = QRN_SAVED_BYTES, .count_at = n }
#define ROOM(n)                                                                                    \
    { .kind = QRN_SAVED_ROOM, .count_at = n }
#define PROVIDER                                                                                   \
    { .kind = QRN_SAVED_PROVIDER }

// The table.
#define ROW(slot, comp, how, n, ...)                                                               \
    [QRN_SLOT(slot)] = {#slot, QRN_COMP_##comp, how, n, {__VA_ARGS__}},
#define CALL1(slot, comp, how, Ta, AA) ROW(slot, comp, how, 1, AA)
#define CALL2(slot, comp, how, Ta, AA, Tb, BB) ROW(slot, comp, how, 2, AA, BB)
#define CALL3(slot, comp, how, Ta, AA, Tb, BB, Tc, CC) ROW(slot, comp, how, 3, AA, BB, CC)
#define CALL4(slot, comp, how, Ta, AA, Tb, BB, Tc, CC, Td, DD)                                     \
    ROW(slot, comp, how, 4, AA, BB, CC, DD)
#define CALL5(slot, comp, how, Ta, AA, Tb, BB, Tc, CC, Td, DD, Te, EE)                             \
    ROW(slot, comp, how, 5, AA, BB, CC, DD, EE)
#define CALL6(slot, comp, how, Ta, AA, Tb, BB, Tc, CC, Td, DD, Te, EE, Tf, FF)                     \
    ROW(slot, comp, how, 6, AA, BB, CC, DD, EE, FF)
#define CALL7(slot, comp, how, Ta, AA, Tb, BB, Tc, CC, Td, DD, Te, EE, Tf, FF, Tg, GG)             \
    ROW(slot, comp, how, 7, AA, BB, CC, DD, EE, FF, GG)
#define CALL8(slot, comp, how, Ta, AA, Tb, BB, Tc, CC, Td, DD, Te, EE, Tf, FF, Tg, GG, Th, HH)     \
    ROW(slot, comp, how, 8, AA, BB, CC, DD, EE, FF, GG, HH)
#define CALL9(slot, comp, how, Ta, AA, Tb, BB, Tc, CC, Td, DD, Te, EE, Tf, FF, Tg, GG, Th, HH, Ti, \
              II)                                                                                  \
    ROW(slot, comp, how, 9, AA, BB, CC, DD, EE, FF, GG, HH, II)
#define SPECIAL5 CALL5
#define SPECIAL9 CALL9
// clang-format off
const qrn_saver_call qrn_saver_calls[] = {
#include "backend/saver/calls.def"
};
// clang-format on

// The functions.
#define BODY(slot, called, ...)                                                                    \
    const qrn_saver_call *call = &qrn_saver_calls[QRN_SLOT(slot)];                                 \
    const void *const args[] = {__VA_ARGS__};                                                      \
    Qnn_ErrorHandle_t code = qrn_saver_begin(call);                                                \
    return code == QNN_SUCCESS ? qrn_saver_end(call, called, args) : code;
#define CALL1(slot, comp, how, Ta, AA)                                                             \
    static Qnn_ErrorHandle_t slot(Ta a) { BODY(slot, core.slot(a), &a) }
#define CALL2(slot, comp, how, Ta, AA, Tb, BB)                                                     \
    static Qnn_ErrorHandle_t slot(Ta a, Tb b) { BODY(slot, core.slot(a, b), &a, &b) }
#define CALL3(slot, comp, how, Ta, AA, Tb, BB, Tc, CC)                                             \
    static Qnn_ErrorHandle_t slot(Ta a, Tb b, Tc c) { BODY(slot, core.slot(a, b, c), &a, &b, &c) }
#define CALL4(slot, comp, how, Ta, AA, Tb, BB, Tc, CC, Td, DD)                                     \
    static Qnn_ErrorHandle_t slot(Ta a, Tb b, Tc c, Td d) {                                        \
        BODY(slot, core.slot(a, b, c, d), &a, &b, &c, &d)                                          \
    }
#define CALL5(slot, comp, how, Ta, AA, Tb, BB, Tc, CC, Td, DD, Te, EE)                             \
    static Qnn_ErrorHandle_t slot(Ta a, Tb b, Tc c, Td d, Te e) {                                  \
        BODY(slot, core.slot(a, b, c, d, e), &a, &b, &c, &d, &e)                                   \
    }
#define CALL6(slot, comp, how, Ta, AA, Tb, BB, Tc, CC, Td, DD, Te, EE, Tf, FF)                     \
    static Qnn_ErrorHandle_t slot(Ta a, Tb b, Tc c, Td d, Te e, Tf f) {                            \
        BODY(slot, core.slot(a, b, c, d, e, f), &a, &b, &c, &d, &e, &f)                            \
    }
#define CALL7(slot, comp, how, Ta, AA, Tb, BB, Tc, CC, Td, DD, Te, EE, Tf, FF, Tg, GG)             \
    static Qnn_ErrorHandle_t slot(Ta a, Tb b, Tc c, Td d, Te e, Tf f, Tg g) {                      \
        BODY(slot, core.slot(a, b, c, d, e, f, g), &a, &b, &c, &d, &e, &f, &g)                     \
    }
#define CALL8(slot, comp, how, Ta, AA, Tb, BB, Tc, CC, Td, DD, Te, EE, Tf, FF, Tg, GG, Th, HH)     \
    static Qnn_ErrorHandle_t slot(Ta a, Tb b, Tc c, Td d, Te e, Tf f, Tg g, Th h) {                \
        BODY(slot, core.slot(a, b, c, d, e, f, g, h), &a, &b, &c, &d, &e, &f, &g, &h)              \
    }
#define CALL9(slot, comp, how, Ta, AA, Tb, BB, Tc, CC, Td, DD, Te, EE, Tf, FF, Tg, GG, Th, HH, Ti, \
              II)                                                                                  \
    static Qnn_ErrorHandle_t slot(Ta a, Tb b, Tc c, Td d, Te e, Tf f, Tg g, Th h, Ti i) {          \
        BODY(slot, core.slot(a, b, c, d, e, f, g, h, i), &a, &b, &c, &d, &e, &f, &g, &h, &i)       \
    }
#define SPECIAL5(...)
#define SPECIAL9(...)
#include "backend/saver/calls.def"

void qrn_saver_fill(QNN_INTERFACE_VER_TYPE *client) {
#define CALL1(slot, ...) client->slot = slot;
#define CALL2(slot, ...) client->slot = slot;
#define CALL3(slot, ...) client->slot = slot;
#define CALL4(slot, ...) client->slot = slot;
#define CALL5(slot, ...) client->slot = slot;
#define CALL6(slot, ...) client->slot = slot;
#define CALL7(slot, ...) client->slot = slot;
#define CALL8(slot, ...) client->slot = slot;
#define CALL9(slot, ...) client->slot = slot;
#define SPECIAL5(slot, ...) client->slot = qrn_saver_create_list;
#define SPECIAL9(slot, ...) client->slot = qrn_saver_execute_async;
#include "backend/saver/calls.def"
}
