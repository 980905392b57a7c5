// SPDX-License-Identifier: MIT
//
// What the generated ABI checks are written with, in C11 and in C++17. CHECK is decided by the
// compiler and counted by it, through __COUNTER__, so a check that was not compiled is not counted.
// RUN compares at run time. Included after the headers under test: they must stand on their own.

#ifndef QUERN_TEST_ABI_CHECKS_H
#define QUERN_TEST_ABI_CHECKS_H

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct abi_count {
    int fixed;  // static assertions compiled
    int passed; // comparisons made and true
    int failed; // comparisons made and false
};

#ifdef __cplusplus
#include <type_traits>
#define LINKAGE extern "C"
#define ALIGNOF(type) alignof(type)
#define SAME(a, ...) std::is_same<a, __VA_ARGS__>::value
#define ENUMERATOR(name, type, number)                                                             \
    ((name) == (number) && std::is_same<decltype(name), type>::value)
// The types of a model library; the headers of the other units do not declare this namespace.
namespace qnn_wrapper_api {}
using namespace qnn_wrapper_api;
#else
#define LINKAGE extern
#define ALIGNOF(type) _Alignof(type)
#define SAME(a, ...) _Generic((__typeof__(a) *)0, __typeof__(__VA_ARGS__) * : 1, default : 0)
// An enumerator is a plain int in C: which type it belongs to, only C++ can tell.
#define ENUMERATOR(name, type, number) ((name) == (number))
#endif

#define TEXT(...) TEXT_(__VA_ARGS__)
#define TEXT_(...) #__VA_ARGS__

#define CHECK(...) static_assert((__VA_ARGS__) && __COUNTER__ >= 0, #__VA_ARGS__)

#define RUN(...)                                                                                   \
    do {                                                                                           \
        if (__VA_ARGS__) {                                                                         \
            count->passed++;                                                                       \
        } else {                                                                                   \
            count->failed++;                                                                       \
            printf("abi: failed: %s:%d: %s\n", __FILE__, __LINE__, #__VA_ARGS__);                  \
        }                                                                                          \
    } while (0)

#endif // QUERN_TEST_ABI_CHECKS_H
