// SPDX-License-Identifier: MIT
//
// The keypoint family.
#include "kernels/detect/candidates.h"
#include "kernels/detect/roi.h"

#include <math.h>

#define FARTHEST 1.5 // cells that the fit may move a maximum

// Index before or behind `at`, mirrored at the ends of an axis.
static size_t neighbour(size_t at, int step, size_t size) {
    if (step < 0)
        return at > 0 ? at - 1 : size > 1 ? 1 : 0;
    if (step > 0)
        return at + 1 < size ? at + 1 : at > 0 ? at - 1 : 0;
    return at;
}

static double cell(const qrn_view *map, size_t box, size_t y, size_t x, size_t point) {
    return qrn_real_get(map, ((box * map->dims[1] + y) * map->dims[2] + x) * map->dims[3] + point);
}

// Moves (dx, dy) from a maximum to the top of the second-order fit g[y][x]; returns its height.
static double refine(double g[3][3], double *dx, double *dy) {
    double gx = (g[1][2] - g[1][0]) / 2.0, gy = (g[2][1] - g[0][1]) / 2.0;
    double xx = g[1][2] - 2.0 * g[1][1] + g[1][0], yy = g[2][1] - 2.0 * g[1][1] + g[0][1];
    double xy = (g[2][2] - g[2][0] - g[0][2] + g[0][0]) / 4.0, det = xx * yy - xy * xy;
    *dx = -(yy * gx - xy * gy) / det;
    *dy = -(xx * gy - xy * gx) / det;
    if (!isfinite(*dx) || !isfinite(*dy))
        *dx = *dy = 0.0;
    double far = fmax(fabs(*dx), fabs(*dy));
    if (far > FARTHEST) {
        *dx *= FARTHEST / far;
        *dy *= FARTHEST / far;
    }
    return g[1][1] + gx * *dx + gy * *dy +
           (xx * *dx * *dx + 2.0 * xy * *dx * *dy + yy * *dy * *dy) / 2.0;
}

static qrn_status keypoint_ref(const qrn_kcall *k) {
    const qrn_view *map = k->in[0];
    size_t height = map->dims[1], width = map->dims[2], points = map->dims[3];
    if (height == 0 || width == 0 || points == 0)
        return QRN_E_ARGUMENT;
    for (size_t o = 0; o < map->dims[0] * points; o++) {
        size_t box = o / points, point = o % points, best = 0;
        for (size_t i = 1; i < height * width; i++)
            if (cell(map, box, i / width, i % width, point) >
                cell(map, box, best / width, best % width, point))
                best = i;
        double g[3][3], dx, dy;
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                g[i][j] = cell(map, box, neighbour(best / width, i - 1, height),
                               neighbour(best % width, j - 1, width), point);
        double score = refine(g, &dx, &dy);
        qrn_box b = qrn_box_get(k->in[1], box * 4);
        size_t row = best / width, col = best % width;
        double x = ((double)col + dx + 0.5) * (b.at[2] - b.at[0]) / (double)width + b.at[0];
        double y = ((double)row + dy + 0.5) * (b.at[3] - b.at[1]) / (double)height + b.at[1];
        qrn_real_put(k->out[0], o, score);
        qrn_real_put(k->out[1], o * 2, x);
        qrn_real_put(k->out[1], o * 2 + 1, y);
    }
    return QRN_OK;
}

static const qrn_kernel keypoint_rows[] = {
    {.name = "keypoint_f32_ref", .domain = QRN_DOMAIN_F32, .fn = keypoint_ref},
    {.name = "keypoint_f64_ref", .domain = QRN_DOMAIN_F64, .fn = keypoint_ref},
};
QRN_FAMILY(keypoint, 0);
