// SPDX-License-Identifier: MIT
//
// What this machine can do at best, found by running it: arithmetic that never waits for memory,
// and memory that is only read. The limits that times of ops are held against.
#ifndef QRN_TOOLS_QUERN_BENCH_PEAK_H
#define QRN_TOOLS_QUERN_BENCH_PEAK_H

typedef enum qt_peak_kind { QT_PEAK_F32, QT_PEAK_I8, QT_PEAK_I16, QT_N_PEAKS } qt_peak_kind;
extern const char *const qt_peak_names[QT_N_PEAKS]; // "f32", "i8", "i16"

typedef struct qt_peaks {
    unsigned threads;
    double gops[QT_N_PEAKS];     // 1e9 operations a second, two for a multiply-add; 0: unknown
    const char *how[QT_N_PEAKS]; // the instructions that reached it
    // 1e9 bytes a second, read; 0: not known, or no memory to measure with.
    double l2_gbs, l3_gbs, dram_gbs;
    double l2_bytes, l3_bytes; // of all threads together; 0: the system does not say
} qt_peaks;

// Takes about a second and, for DRAM, 128 MiB, or 64 for each of several threads (1 to 64).
// Needs nothing but base/cpu.h, so that benchmarks can use it without the program.
void qt_peaks_measure(unsigned threads, qt_peaks *out);

#endif
