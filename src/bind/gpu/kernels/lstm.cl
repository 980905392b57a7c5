// An LSTM layer: LANES work items do all time steps of a batch row.
//   i = sigma(XI x + HI h + PI c + BI), or 1 - f without an input gate
//   f = sigma(XF x + HF h + PF c + BF)         g = tanh(XC x + HC h + BC)
//   c' = clip(f c + i g)                       o = sigma(XO x + HO h + PO c' + BO)
//   h' = o tanh(c'), or clip(PROJ (o tanh(c')) + BPROJ)
// With layer normalization (LN) each sum without its bias has mean 0 and variance 1 over the units
// and is scaled before the bias is added.
// WORK of a row: h, c, o tanh(c), then the four gates. ST of a row: 1 once it holds something, h, c.
// P: batch, steps, stride of a step, stride of a row, inputs, units, outputs, reverse, then bits: which
// inputs and which outputs there are. Bits, not macros: layers of all forms are one program.
#if LANES > 1
#define SYNC barrier(CLK_GLOBAL_MEM_FENCE);
#else
#define SYNC
#endif
#define EACH(i, count) for (int i = lane; i < (count); i += LANES)
#define CLIP(v, t) ((t) > 0.0f && fabs(v) > (t) ? copysign((REAL)(t), (v)) : (v))
#define SIGMA(v) (1 / (1 + exp(-(v))))
// Between steps numbers are double where the device has it: recurrence lets small errors grow.
#define REAL WORK_T

// The sums of a gate over x and h, of the work item's own units.
#define SUMS(y, WX, WH, PEEP)                                                                      \
    EACH(u, units) {                                                                               \
        REAL sum = 0;                                                                              \
        for (int j = 0; j < inputs; j++)                                                           \
            sum += (REAL)LD_##WX(u * inputs + j) * LD_X(from + j);                                 \
        for (int j = 0; j < out; j++)                                                              \
            sum += LD_##WH(u * out + j) * h[j];                                                    \
        if (IN_##PEEP)                                                                             \
            sum += LD_##PEEP(u) * c[u];                                                            \
        y[u] = sum;                                                                                \
    }
// What layer normalization needs of all sums of a gate: mean and 1 / deviation.
#define STATISTICS(y, LN, mean, inverse)                                                           \
    REAL mean = 0, inverse = 1;                                                                    \
    if (IN_##LN) {                                                                                 \
        REAL variance = 0;                                                                         \
        for (int u = 0; u < units; u++)                                                            \
            mean += y[u];                                                                          \
        mean /= units;                                                                             \
        for (int u = 0; u < units; u++)                                                            \
            variance += (y[u] - mean) * (y[u] - mean);                                             \
        inverse = 1 / sqrt(variance / units + (REAL)1e-8f);                                        \
    }
// What enters the activation of a gate.
#define GATE(y, LN, mean, inverse, B)                                                              \
    ((IN_##LN ? (y[u] - mean) * inverse * LD_##LN(u) : y[u]) + (IN_##B ? LD_##B(u) : 0.0f))

#define STORE(Z, values, count)                                                                    \
    if (OUT_##Z)                                                                                   \
        EACH(u, count) ST_##Z(row * (count) + u, (float)(values)[u]);

#define IN_BF (ins >> 7 & 1)
#define IN_BC (ins >> 8 & 1)
#define IN_BO (ins >> 9 & 1)
#define IN_H0 (ins >> 10 & 1)
#define IN_C0 (ins >> 11 & 1)
#define IN_LNI (ins >> 12 & 1)
#define IN_LNF (ins >> 13 & 1)
#define IN_LNC (ins >> 14 & 1)
#define IN_LNO (ins >> 15 & 1)
#define IN_XI (ins >> 16 & 1)
#define IN_PI (ins >> 18 & 1)
#define IN_PF (ins >> 19 & 1)
#define IN_PO (ins >> 20 & 1)
#define IN_BI (ins >> 21 & 1)
#define IN_PROJ (ins >> 22 & 1)
#define IN_BPROJ (ins >> 23 & 1)
#define IN_RESET (ins >> 24 & 1)
#define OUT_CN (outs >> 1 & 1)
#define OUT_HN (outs >> 2 & 1)
#define OUT_GI (outs >> 3 & 1)
#define OUT_GF (outs >> 4 & 1)
#define OUT_GC (outs >> 5 & 1)
#define OUT_GO (outs >> 6 & 1)
#define OUT_HL (outs >> 7 & 1)
#define IN_NONE 0
#define LD_NONE(i) 0.0f

__kernel void lstm(X_ARG, XF_ARG, XC_ARG, XO_ARG, HF_ARG, HC_ARG, HO_ARG, BF_ARG, BC_ARG, BO_ARG,
                   H0_ARG, C0_ARG, LNI_ARG, LNF_ARG, LNC_ARG, LNO_ARG, XI_ARG, HI_ARG, PI_ARG,
                   PF_ARG, PO_ARG, BI_ARG, PROJ_ARG, BPROJ_ARG, RESET_ARG, Y_ARG, CN_ARG, HN_ARG,
                   GI_ARG, GF_ARG, GC_ARG, GO_ARG, HL_ARG, WORK_ARG, ST_ARG, P_ARG,
                   const float cell_clip, const float out_clip EPI_ARGS) {
    X_BEGIN XF_BEGIN XC_BEGIN XO_BEGIN HF_BEGIN HC_BEGIN HO_BEGIN BF_BEGIN BC_BEGIN BO_BEGIN
    H0_BEGIN C0_BEGIN LNI_BEGIN LNF_BEGIN LNC_BEGIN LNO_BEGIN XI_BEGIN HI_BEGIN PI_BEGIN PF_BEGIN
    PO_BEGIN BI_BEGIN PROJ_BEGIN BPROJ_BEGIN RESET_BEGIN Y_BEGIN CN_BEGIN HN_BEGIN GI_BEGIN GF_BEGIN
    GC_BEGIN GO_BEGIN HL_BEGIN WORK_BEGIN ST_BEGIN P_BEGIN
    const int row = (int)get_global_id(0) / LANES, lane = (int)get_global_id(0) % LANES;
    const int inputs = P[4], units = P[5], out = P[6], steps = P[1], ins = P[8], outs = P[9];
    __global REAL *h = WORK + row * (out + 6 * units), *c = h + out, *hidden = c + units;
    __global REAL *gi = hidden + units, *gf = gi + units, *gc = gf + units, *go = gc + units;
    __global REAL *kept = ST + row * (1 + out + units);
    const int goes_on = (outs >> 8 & 1) && IN_RESET && LD_RESET(0) == 0 && kept[0] != 0.0f;
    EACH(u, out) h[u] = goes_on ? kept[1 + u] : IN_H0 ? LD_H0(row * out + u) : 0.0f;
    EACH(u, units) c[u] = goes_on ? kept[1 + out + u] : IN_C0 ? LD_C0(row * units + u) : 0.0f;
    SYNC
    for (int t = 0; t < steps; t++) {
        const int at_t = (P[7] ? steps - 1 - t : t) * P[2] + row * P[3], from = at_t * inputs;
        SUMS(gf, XF, HF, PF)
        SUMS(gc, XC, HC, NONE)
        if (IN_XI) {
            SUMS(gi, XI, HI, PI)
        }
        SYNC STATISTICS(gf, LNF, mean_f, inverse_f) STATISTICS(gc, LNC, mean_c, inverse_c)
        STATISTICS(gi, LNI, mean_i, inverse_i)
        SYNC EACH(u, units) {
            REAL f = SIGMA(GATE(gf, LNF, mean_f, inverse_f, BF));
            REAL g = tanh(GATE(gc, LNC, mean_c, inverse_c, BC));
            REAL i = IN_XI ? SIGMA(GATE(gi, LNI, mean_i, inverse_i, BI)) : 1 - f;
            REAL v = f * c[u] + i * g;
            gf[u] = f;
            gc[u] = g;
            gi[u] = i;
            c[u] = CLIP(v, cell_clip); // which only this work item reads here
        }
        SUMS(go, XO, HO, PO)
        SYNC STATISTICS(go, LNO, mean_o, inverse_o)
        SYNC EACH(u, units) {
            go[u] = SIGMA(GATE(go, LNO, mean_o, inverse_o, BO));
            hidden[u] = go[u] * tanh(c[u]);
        }
        SYNC EACH(j, out) {
            REAL v = hidden[j < units ? j : 0];
            if (IN_PROJ) {
                v = IN_BPROJ ? LD_BPROJ(j) : 0.0f;
                for (int u = 0; u < units; u++)
                    v += LD_PROJ(j * units + u) * hidden[u];
                v = CLIP(v, out_clip);
            }
            h[j] = v;
            ST_Y(at_t * out + j, (float)v);
        }
        SYNC
    }
    STORE(CN, c, units)
    STORE(HN, h, out)
    STORE(GI, gi, units)
    STORE(GF, gf, units)
    STORE(GC, gc, units)
    STORE(GO, go, units)
    STORE(HL, h, out)
    if (outs >> 8 & 1) {
        EACH(u, out) kept[1 + u] = h[u];
        EACH(u, units) kept[1 + out + u] = c[u];
        if (lane == 0)
            kept[0] = 1.0f; // all have asked for it before the first barrier
    }
}
