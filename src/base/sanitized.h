// SPDX-License-Identifier: MIT
//
// Builds with sanitizers, as gcc and clang say it. AddressSanitizer learns which bytes behind an
// object are nobody's.
#ifndef QRN_BASE_SANITIZED_H
#define QRN_BASE_SANITIZED_H

#include <stddef.h>

#if defined(__SANITIZE_ADDRESS__)
#define QRN_ASAN 1
#elif defined(__SANITIZE_THREAD__)
#define QRN_TSAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define QRN_ASAN 1
#elif __has_feature(thread_sanitizer)
#define QRN_TSAN 1
#endif
#endif

#ifdef QRN_ASAN
void __asan_poison_memory_region(void const volatile *p, size_t n);
#define QRN_FORBID(p, n) __asan_poison_memory_region((p), (n))
#else
#define QRN_FORBID(p, n) ((void)(p), (void)(n))
#endif

#endif
