// SPDX-License-Identifier: MIT
//
// Tiles of AMX in plain C, for CPUs that have none. Included before everything else of a kernel
// file (-include), it replaces the intrinsics by functions that follow the public definition of the
// instructions: palette 1, 8 tiles of up to 16 rows by 64 bytes, zeroed when they are configured.
// Where a CPU would raise an exception, `amx_emulated_fault` is called.
#ifndef TESTS_KERNEL_AMX_EMULATED_H
#define TESTS_KERNEL_AMX_EMULATED_H

#include <immintrin.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct amx_emulated_counts {
    unsigned long configurations, loads, stores, products;
} amx_emulated_counts;

// Of this thread.
extern _Thread_local amx_emulated_counts amx_emulated;
bool amx_emulated_is_configured(void);

// Receives what is wrong, and must not return; ends the process unless a test replaces it.
extern void (*amx_emulated_fault)(const char *what);

void amx_emulated_loadconfig(const void *configuration);
void amx_emulated_storeconfig(void *configuration);
void amx_emulated_release(void);
void amx_emulated_zero(unsigned tile);
void amx_emulated_load(unsigned tile, const void *base, ptrdiff_t stride);
void amx_emulated_store(unsigned tile, void *base, ptrdiff_t stride);
// sums += a times b, four neighbours in depth at a time.
void amx_emulated_product(unsigned sums, unsigned a, unsigned b, bool a_signed, bool b_signed);

#undef _tile_loadconfig
#undef _tile_storeconfig
#undef _tile_release
#undef _tile_zero
#undef _tile_loadd
#undef _tile_stream_loadd
#undef _tile_stored
#undef _tile_dpbusd
#undef _tile_dpbssd
#undef _tile_dpbuud
#undef _tile_dpbsud
#define _tile_loadconfig(from) amx_emulated_loadconfig(from)
#define _tile_storeconfig(to) amx_emulated_storeconfig(to)
#define _tile_release() amx_emulated_release()
#define _tile_zero(tile) amx_emulated_zero(tile)
#define _tile_loadd(tile, base, stride) amx_emulated_load(tile, base, (ptrdiff_t)(stride))
#define _tile_stream_loadd(tile, base, stride) amx_emulated_load(tile, base, (ptrdiff_t)(stride))
#define _tile_stored(tile, base, stride) amx_emulated_store(tile, base, (ptrdiff_t)(stride))
#define _tile_dpbusd(sums, a, b) amx_emulated_product(sums, a, b, false, true)
#define _tile_dpbssd(sums, a, b) amx_emulated_product(sums, a, b, true, true)
#define _tile_dpbuud(sums, a, b) amx_emulated_product(sums, a, b, false, false)
#define _tile_dpbsud(sums, a, b) amx_emulated_product(sums, a, b, true, false)

#endif
