// SPDX-License-Identifier: MIT
//
// Included in front of every file of a portable build (cmake/QuernPortable.cmake), whose sysroot
// has glibc 2.31: the functions that got a new version in 2.29 are linked in the version before,
// which differs in how it sets errno alone.
#if defined(__x86_64__)
#define QRN_FIRST_GLIBC "GLIBC_2.2.5"
#else
#define QRN_FIRST_GLIBC "GLIBC_2.17"
#endif
#define QRN_FIRST(f) __asm__(".symver " #f "," #f "@" QRN_FIRST_GLIBC);
QRN_FIRST(exp)
QRN_FIRST(exp2)
QRN_FIRST(log)
QRN_FIRST(log2)
QRN_FIRST(pow)
