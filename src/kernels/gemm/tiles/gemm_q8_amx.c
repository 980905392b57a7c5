// SPDX-License-Identifier: MIT
//
// GEMM for AMX: blocks of up to 32 rows by 32 columns as two by two tiles of sums. A tile of a
// panel, 16 steps by 16 columns, is what the packing dense8 holds. Sums go through memory to the
// vectors that requantize them, which also add what is left of a depth that is no multiple of 64.
// Few rows and short depths are left to the tiles of AVX-512 VNNI.
#include "kernels/gemm/tiles/gemm_q8.h"
#include "kernels/gemm/epilogue/requant8_avx512.h"

#include <string.h>

#define ROWS 32
#define HALF 16
#define STEPS 16 // of a tile
#define ROWS_MIN 8

// What all blocks of a call share.
typedef struct panel {
    const qrn_gemm_q8_tile *t;
    qrn_requant8_vectors requant;
    __mmask32 mask;  // of the columns that exist
    uint32_t rows;   // that the tiles are set up for
    size_t in_tiles; // steps
} panel;

// As the instruction wants it.
typedef struct configuration {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} configuration;

// Tiles 0 to 3: sums, 4 and 5: rows, 6 and 7: columns.
static void set_up(uint32_t rows) {
    configuration c = {.palette = 1};
    uint8_t high = (uint8_t)(rows < HALF ? rows : HALF);
    uint8_t low = (uint8_t)(rows > HALF ? rows - HALF : HALF); // where there is none, any
    const uint8_t n[8] = {high, high, low, low, high, low, STEPS, STEPS};
    for (int i = 0; i < 8; i++) {
        c.rows[i] = n[i];
        c.row_bytes[i] = 64;
    }
    __asm__ volatile("" : : "r"(&c) : "memory"); // the instruction reads all of it
    _tile_loadconfig(&c);
}

// Sums of rows [first, first + rows) over whole tiles.
static void multiply(const panel *p, uint32_t first, uint32_t rows, int32_t *acc) {
    const qrn_gemm_q8_tile *t = p->t;
    const uint8_t *a = t->a + first * t->a_row;
    const int8_t *b = t->b;
    const size_t b_row = QRN_PANEL * QRN_Q8_DEPTH, acc_row = QRN_PANEL * sizeof *acc;
    bool two = rows > HALF;
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (size_t s = 0; s < p->in_tiles; s += STEPS, a += 64, b += STEPS * b_row) {
        _tile_loadd(6, b, b_row);
        _tile_loadd(7, b + 64, b_row);
        _tile_loadd(4, a, t->a_row);
        _tile_dpbusd(0, 4, 6);
        _tile_dpbusd(1, 4, 7);
        if (two) {
            _tile_loadd(5, a + HALF * t->a_row, t->a_row);
            _tile_dpbusd(2, 5, 6);
            _tile_dpbusd(3, 5, 7);
        }
    }
    _tile_stored(0, acc, acc_row);
    _tile_stored(1, acc + 16, acc_row);
    if (two) {
        _tile_stored(2, acc + HALF * QRN_PANEL, acc_row);
        _tile_stored(3, acc + HALF * QRN_PANEL + 16, acc_row);
    }
}

static inline __m512i four_bytes(const uint8_t *p) {
    int32_t v;
    memcpy(&v, p, sizeof v);
    return _mm512_set1_epi32(v);
}

// Two vectors of sums of a row, with everything that tiles do not add.
static inline void whole_sums(const panel *p, uint32_t row, const int32_t *acc, __m512i *sums) {
    const qrn_gemm_q8_tile *t = p->t;
    __m512i term = _mm512_set1_epi32(t->row ? t->row[row] : 0);
    for (int v = 0; v < 2; v++) {
        __m512i sum = _mm512_add_epi32(_mm512_loadu_si512(acc + 16 * v),
                                       _mm512_loadu_si512(t->column + 16 * v));
        sums[v] = _mm512_add_epi32(sum, term);
    }
    const uint8_t *a = t->a + row * t->a_row;
    for (size_t s = p->in_tiles; s < t->steps; s++) {
        __m512i x = four_bytes(a + s * QRN_Q8_DEPTH);
        const int8_t *b = t->b + s * QRN_PANEL * QRN_Q8_DEPTH;
        sums[0] = _mm512_dpbusd_epi32(sums[0], x, _mm512_loadu_si512(b));
        sums[1] = _mm512_dpbusd_epi32(sums[1], x, _mm512_loadu_si512(b + 64));
    }
}

// The results of two rows whose lanes are not sure.
static __attribute__((noinline)) void decide(const qrn_gemm_q8_tile *t, const __m512i *sums,
                                             __mmask16 sure, uint32_t row, uint32_t n) {
    int32_t acc[2 * QRN_PANEL];
    memcpy(acc, sums, sizeof acc);
    for (uint32_t i = 0; i < n * QRN_PANEL; i++) {
        uint32_t c = i % QRN_PANEL;
        if (!(sure >> c % 16 & 1) && c < t->cols)
            t->y[(row + i / QRN_PANEL) * t->y_row + c] = qrn_requant8_exact(t->requant, c, acc[i]);
    }
}

// Two rows, or the last one.
static void epilogue(const panel *p, uint32_t row, uint32_t n, const int32_t *acc) {
    const qrn_gemm_q8_tile *t = p->t;
    __m512i sums[4];
    whole_sums(p, row, acc, sums);
    whole_sums(p, row + n - 1, acc + (n - 1) * QRN_PANEL, sums + 2);
    if (t->acc) {
        int32_t *to = t->acc + (size_t)row * QRN_PANEL;
        for (uint32_t i = 0; i < 2 * n; i++)
            _mm512_mask_storeu_epi32(to + 16 * i, (__mmask16)(p->mask >> 16 * (i % 2)), sums[i]);
        return;
    }
    __mmask16 sure;
    __m512i q = qrn_requant8_clamp(&p->requant, qrn_requant8_four(&p->requant, sums, 2, &sure));
    uint8_t *y = t->y + row * t->y_row;
    _mm256_mask_storeu_epi8(y, p->mask, _mm512_castsi512_si256(q));
    if (n > 1)
        _mm256_mask_storeu_epi8(y + t->y_row, p->mask, _mm512_extracti64x4_epi64(q, 1));
    if (__builtin_expect(sure != 0xffff, 0))
        decide(t, sums, sure, row, n);
}

static void product(const qrn_gemm_q8_tile *t) {
    if (t->rows < ROWS_MIN || t->steps < STEPS) {
        qrn_gemm_q8_12x32_avx512vnni.tile(t);
        return;
    }
    _Alignas(64) int32_t acc[ROWS * QRN_PANEL];
    panel p = {.t = t,
               .mask = t->cols >= 32 ? 0xffffffffu : (1u << t->cols) - 1,
               .in_tiles = t->steps / STEPS * STEPS};
    if (!t->acc)
        p.requant = qrn_requant8_vectors_of(t->requant);
    uint32_t n = (t->rows + ROWS - 1) / ROWS, left = t->rows;
    for (uint32_t first = 0; n; n--) {
        uint32_t rows = (left + n - 1) / n;
        if (rows != p.rows)
            set_up(p.rows = rows);
        multiply(&p, first, rows, acc);
        for (uint32_t r = 0; r < rows; r += 2)
            epilogue(&p, first + r, rows - r < 2 ? 1 : 2, acc + r * QRN_PANEL);
        first += rows;
        left -= rows;
    }
    _tile_release();
}

static void row_sums(const uint8_t *a, size_t a_row, size_t depth, size_t rows, int32_t factor,
                     int32_t *sums) {
    qrn_gemm_q8_12x32_avx512vnni.row_sums(a, a_row, depth, rows, factor, sums);
}

const qrn_gemm_q8_kernel qrn_gemm_q8_32x32_amx = {"gemm_q8_32x32_amx", UINT32_MAX, product,
                                                  row_sums, qrn_dense_copy_avx512};
