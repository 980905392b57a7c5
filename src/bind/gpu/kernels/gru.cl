// A GRU layer: LANES work items do all time steps of a batch row.
//   z = sigma(XZ x + HZ h + BXZ + BHZ)         r = sigma(XR x + HR h + BXR + BHR)
//   n = tanh(XN x + BXN + HN (r h) + BHN), or tanh(XN x + BXN + r (HN h + BHN)) when linear
//   h' = (1 - z) n + z h
// WORK of a row: h, z, r, what HN multiplies, h'. ST of a row: 1 once it holds something, h.
// P: batch, steps, stride of a step, stride of a row, inputs, units, reverse, linear, then bits:
// which inputs there are, and whether a state is kept.
#if LANES > 1
#define SYNC barrier(CLK_GLOBAL_MEM_FENCE);
#else
#define SYNC
#endif
#define EACH(u) for (int u = lane; u < units; u += LANES)
#define SIGMA(v) (1 / (1 + exp(-(v))))
// Between steps numbers are double where the device has it: recurrence lets small errors grow.
#define REAL WORK_T

#define IN_BXZ (ins >> 7 & 1)
#define IN_BXR (ins >> 8 & 1)
#define IN_BXN (ins >> 9 & 1)
#define IN_BHZ (ins >> 10 & 1)
#define IN_BHR (ins >> 11 & 1)
#define IN_BHN (ins >> 12 & 1)
#define IN_H0 (ins >> 13 & 1)
#define IN_RESET (ins >> 14 & 1)

// y = W v + B for unit u; v is the input or n values of the work space.
#define FROM_X(y, W, B)                                                                            \
    REAL y = IN_##B ? LD_##B(u) : 0.0f;                                                            \
    for (int j = 0; j < inputs; j++)                                                               \
        y += (REAL)LD_##W(u * inputs + j) * LD_X(from + j);
#define FROM_H(y, W, B, v)                                                                         \
    REAL y = IN_##B ? LD_##B(u) : 0.0f;                                                            \
    for (int j = 0; j < units; j++)                                                                \
        y += LD_##W(u * units + j) * v[j];

__kernel void gru(X_ARG, XZ_ARG, XR_ARG, XN_ARG, HZ_ARG, HR_ARG, HN_ARG, BXZ_ARG, BXR_ARG, BXN_ARG,
                  BHZ_ARG, BHR_ARG, BHN_ARG, H0_ARG, RESET_ARG, Y_ARG, HL_ARG, WORK_ARG, ST_ARG,
                  P_ARG EPI_ARGS) {
    X_BEGIN XZ_BEGIN XR_BEGIN XN_BEGIN HZ_BEGIN HR_BEGIN HN_BEGIN BXZ_BEGIN BXR_BEGIN BXN_BEGIN
    BHZ_BEGIN BHR_BEGIN BHN_BEGIN H0_BEGIN RESET_BEGIN Y_BEGIN HL_BEGIN WORK_BEGIN ST_BEGIN P_BEGIN
    const int row = (int)get_global_id(0) / LANES, lane = (int)get_global_id(0) % LANES;
    const int steps = P[1], inputs = P[4], units = P[5], linear = P[7], ins = P[8], keeps = P[9];
    if (row >= P[0])
        return; // whole work-groups
    __global REAL *h = WORK + row * 5 * units, *z = h + units, *r = z + units, *gated = r + units;
    __global REAL *fresh = gated + units, *kept = ST + row * (1 + units);
    const int goes_on = keeps && IN_RESET && LD_RESET(0) == 0 && kept[0] != 0;
    EACH(u) h[u] = goes_on ? kept[1 + u] : IN_H0 ? LD_H0(row * units + u) : 0.0f;
    SYNC
    for (int t = 0; t < steps; t++) {
        const int at_t = (P[6] ? steps - 1 - t : t) * P[2] + row * P[3], from = at_t * inputs;
        EACH(u) {
            FROM_X(xz, XZ, BXZ)
            FROM_H(hz, HZ, BHZ, h)
            FROM_X(xr, XR, BXR)
            FROM_H(hr, HR, BHR, h)
            z[u] = SIGMA(xz + hz);
            r[u] = SIGMA(xr + hr);
            gated[u] = linear ? h[u] : r[u] * h[u];
        }
        SYNC EACH(u) {
            FROM_X(xn, XN, BXN)
            FROM_H(hn, HN, BHN, gated)
            fresh[u] = (1 - z[u]) * tanh(xn + (linear ? r[u] * hn : hn)) + z[u] * h[u];
        }
        SYNC EACH(u) {
            h[u] = fresh[u];
            ST_Y(at_t * units + u, (float)h[u]);
        }
        SYNC
    }
    EACH(u) ST_HL(row * units + u, (float)h[u]);
    if (keeps) {
        EACH(u) kept[1 + u] = h[u];
        if (lane == 0)
            kept[0] = 1; // all have asked for it before the first barrier
    }
}
