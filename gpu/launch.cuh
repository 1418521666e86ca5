/* SPDX-License-Identifier: Apache-2.0
 *
 * launch.cuh - from a call of the harness to a launch of quantize_tile: shapes, alignment, checks. */
#ifndef MX_GPU_LAUNCH_CUH
#define MX_GPU_LAUNCH_CUH

#include "ops.h"
#include "flat.cuh"

namespace mx
{

/* Rows and columns of a tensor: all axes but the last are rows. */
static inline void as_matrix(const mx_kernel_tensor *t, int64_t *rows, int64_t *cols)
{
    *cols = t->rank > 0 ? t->shape[t->rank - 1] : 1;
    *rows = 1;
    for (int i = 0; i + 1 < t->rank; i++)
        *rows *= t->shape[i];
}

static inline bool multiple(const void *p, int64_t bytes) { return (uintptr_t)p % (uintptr_t)bytes == 0; }

template <class In> static Matrix<In> matrix_of(const mx_kernel_tensor *t, int64_t cols)
{
    int64_t pitch = t->pitch ? t->pitch : cols;
    bool aligned = multiple(t->data, 16) && pitch * (int64_t)sizeof(In) % 16 == 0;
    return {(const In *)t->data, pitch, aligned};
}

/* The copy that `codes` and `scales` hold of a rows x cols matrix; false, with a message, where they cannot.
 */
template <class Out, int BLOCK>
static bool copy_of(const mx_kernel_call *c, int mode, int64_t rows, int64_t cols, const mx_kernel_tensor *q,
                    const mx_kernel_tensor *scale, const char *scale_layout, Copy *o)
{
    if (!q || !scale) return mx_gpu_say(c, 0, "needs codes and scales to write to");
    const bool transposed = mode & COLUMNS_T, tiled = mx_gpu_same(scale_layout, "tile-128x4");
    const int64_t q_rows = transposed ? cols : rows, q_cols = transposed ? rows : cols;
    const bool down = mode & (COLUMNS | COLUMNS_T);
    const int64_t lines = down ? cols : rows,
                  length = down ? rows : cols; /* rows of scales, and their elements */
    o->q = (uint8_t *)q->data;
    o->q_pitch = q->pitch ? q->pitch : q_cols;
    if (Out::BITS == 4) o->q_pitch += o->q_pitch % 2;
    o->scale = (uint8_t *)scale->data;
    o->grid_rows = lines;
    o->grid_cols = (length + BLOCK - 1) / BLOCK;
    const int at_once = 2 * Out::BITS; /* bytes of the largest store */
    o->aligned = multiple(q->data, at_once) && o->q_pitch * Out::BITS / 8 % at_once == 0;
    int64_t codes = q_rows ? ((q_rows - 1) * o->q_pitch + q_cols) * Out::BITS / 8 : 0, scales;
    if (tiled) {
        o->placement = SCALES_TILED, o->scale_pitch = 0;
        scales = (lines + 127) / 128 * ((o->grid_cols + 3) / 4) * 512;
        o->aligned = o->aligned && multiple(scale->data, 16);
    } else if (mode & SQUARES) {
        o->placement = SCALES_SQUARES, o->scale_pitch = o->grid_cols;
        scales = (lines + BLOCK - 1) / BLOCK * o->grid_cols;
    } else if (mode & COLUMNS) {
        o->placement = SCALES_COLUMNS, o->scale_pitch = cols;
        scales = cols * o->grid_cols;
    } else {
        o->placement = SCALES_ROW_MAJOR, o->scale_pitch = scale->pitch ? scale->pitch : o->grid_cols;
        scales = lines ? (lines - 1) * o->scale_pitch + o->grid_cols : 0;
    }
    if ((int64_t)q->bytes < codes || (int64_t)scale->bytes < scales)
        return mx_gpu_say(c, 0, "%s needs %lld bytes of codes and %lld of scales; given %zu and %zu", q->name,
                          (long long)codes, (long long)scales, q->bytes, scale->bytes);
    return true;
}

/* Tiles that neighbouring thread blocks go down before they go right: all, where the transposed copy is the
 * only one (its lines then grow from neighbour to neighbour), else one. */
template <int FIRST, int SECOND> constexpr uint32_t BAND = FIRST == COLUMNS_T && !SECOND ? UINT32_MAX : 1;

template <class Out, int FIRST, int SECOND, bool FAST, class Source, class Rule>
static void launch_part(const mx_kernel_call *c, const Source &source, const Rule &rule, const Shape &s,
                        const Copy &first, const Copy &second)
{
    if (s.tiles_across == 0 || s.tiles_down == 0) return;
    quantize_tile<Source, Out, Rule, FIRST, SECOND, FAST>
        <<<s.tiles_across * s.tiles_down, THREADS<typename Source::In>, 0, mx_gpu_stream(c)>>>(
            source, rule, s, first, second);
}

/* Blocks along rows alone, in launches of whole tiles' rows and at most 65535 rows of thread blocks. */
template <class Out, class Source, class Rule>
static int launch_flat(const mx_kernel_call *c, const Source &source, const Rule &rule, int64_t rows,
                       int64_t cols, const Copy &o)
{
    constexpr int64_t PART = TILE / FLAT_ROWS / FLAT_WARPS, MOST = 65535 / PART;
    const int64_t wide = (cols + FLAT_COLS - 1) / FLAT_COLS, high = (rows + TILE - 1) / TILE;
    const Shape s = {rows, cols};
    for (int64_t first = 0; first < high; first += MOST) {
        const dim3 grid((unsigned)wide, (unsigned)((high - first < MOST ? high - first : MOST) * PART));
        quantize_flat<Source, Out, Rule>
            <<<grid, FLAT_WARPS * 32, 0, mx_gpu_stream(c)>>>(source, rule, s, o, first * TILE);
    }
    return mx_gpu_launched(c);
}

/* Launch on the call's stream, and return at once. Full tiles, then the strips below and right of them;
 * without alignment everything is strip. */
template <class Out, int FIRST, int SECOND, class Source, class Rule>
static int launch(const mx_kernel_call *c, const Source &source, const Rule &rule, int64_t rows, int64_t cols,
                  const Copy &first, const Copy &second)
{
    if (rows == 0 || cols == 0) return MX_KERNEL_DONE;
    const int64_t wide = (cols + TILE - 1) / TILE, high = (rows + TILE - 1) / TILE;
    if (wide > INT32_MAX / high)
        return mx_gpu_say(c, MX_KERNEL_REFUSED, "more than 2^31 - 1 tiles of 128 x 128");
    const bool aligned = source.aligned() && first.aligned && (!SECOND || second.aligned);
    if constexpr (FIRST == ROWS && !SECOND) {
        if (aligned && cols % FLAT_RUN == 0) return launch_flat<Out>(c, source, rule, rows, cols, first);
        const Shape all = {rows, cols, 0, 0, (uint32_t)high, (uint32_t)wide, 1};
        launch_part<Out, FIRST, SECOND, false>(c, source, rule, all, first, second);
    } else {
        const uint32_t all_down = (uint32_t)high, all_right = (uint32_t)wide;
        const uint32_t down = aligned ? rows / TILE : 0, right = aligned ? cols / TILE : 0;
        const uint32_t band = BAND<FIRST, SECOND> < all_down ? BAND<FIRST, SECOND> : all_down;
        const Shape full = {rows, cols, 0, 0, down, right, band};
        const Shape below = {rows, cols, down, 0, all_down - down, all_right, band};
        const Shape beside = {rows, cols, 0, right, down, all_right - right, band};
        launch_part<Out, FIRST, SECOND, true>(c, source, rule, full, first, second);
        launch_part<Out, FIRST, SECOND, false>(c, source, rule, below, first, second);
        launch_part<Out, FIRST, SECOND, false>(c, source, rule, beside, first, second);
    }
    return mx_gpu_launched(c);
}

/* Names of the two copies' tensors and layouts, by direction. */
template <class Out, int FIRST, int SECOND, class Rule>
static int copies_of(const mx_kernel_call *c, int64_t rows, int64_t cols, Copy *first, Copy *second)
{
    *second = Copy{};
    if (!copy_of<Out, Rule::BLOCK>(c, FIRST, rows, cols, mx_gpu_out(c, "q"), mx_gpu_out(c, "scale"),
                                   c->op->scale_layout, first))
        return MX_KERNEL_REFUSED;
    if (SECOND && !copy_of<Out, Rule::BLOCK>(c, SECOND, rows, cols, mx_gpu_out(c, "qt"),
                                             mx_gpu_out(c, "scalet"), c->op->scale_layout_t, second))
        return MX_KERNEL_REFUSED;
    return MX_KERNEL_DONE;
}

template <class In, class Out, int FIRST, int SECOND, class Rule>
static int quantize_plain_source(const mx_kernel_call *c, const mx_kernel_tensor *x, const Rule &rule)
{
    int64_t rows, cols;
    as_matrix(x, &rows, &cols);
    Copy first, second;
    int result = copies_of<Out, FIRST, SECOND, Rule>(c, rows, cols, &first, &second);
    if (result != MX_KERNEL_DONE) return result;
    PlainSource<In> source = {matrix_of<In>(x, cols)};
    return launch<Out, FIRST, SECOND>(c, source, rule, rows, cols, first, second);
}

/* Quantise the call's x by `rule`: one copy, or two. */
template <class Out, int FIRST, int SECOND, class Rule>
static int quantize_x(const mx_kernel_call *c, const Rule &rule)
{
    const mx_kernel_tensor *x = mx_gpu_in(c, "x");
    if (!x) return mx_gpu_say(c, MX_KERNEL_FAILED, "no input x");
    if (mx_gpu_in(c, "offsets")) return mx_gpu_say(c, MX_KERNEL_REFUSED, "expert groups are not supported");
    if (mx_gpu_same(x->dtype, "bf16"))
        return quantize_plain_source<__nv_bfloat16, Out, FIRST, SECOND>(c, x, rule);
    if (mx_gpu_same(x->dtype, "f16")) return quantize_plain_source<__half, Out, FIRST, SECOND>(c, x, rule);
    if (mx_gpu_same(x->dtype, "f32")) return quantize_plain_source<float, Out, FIRST, SECOND>(c, x, rule);
    return mx_gpu_say(c, MX_KERNEL_REFUSED, "no path for input %s", x->dtype);
}

/* ---- recipes with E8M0 scales, by the suffix of their names -------------------------------------------- */

enum Special { TE, FLOOR, AO_RCEIL, AO_FLOOR };

template <class Out> static E8M0Rule rule_of(Special s)
{
    const float inverse = 1.0f / Out::MAX; /* rounded once, to nearest */
    const bool floor = s == FLOOR || s == AO_FLOOR, keep_nan = s == AO_RCEIL || s == AO_FLOOR;
    const uint32_t inf_code = keep_nan ? 0xFF : 0xFE;
    return {inverse,
            Out::EMAX,
            floor,
            keep_nan,
            inf_code,
            floor ? ldexpf(1.0f, -Out::EMAX) : inverse,
            floor ? 0 : 0x7FFFFFu};
}

template <class Out, Special SPECIAL, int FIRST, int SECOND> static int quantize(const mx_kernel_call *c)
{
    return quantize_x<Out, FIRST, SECOND>(c, rule_of<Out>(SPECIAL));
}

/* Rows of an operation table: every direction of one element format and recipe. `e` is what names share. */
#define MX_GPU_ROW(name, operation, recipe, layout, scales, layout_t, scales_t, run)                         \
    {                                                                                                        \
        name, operation, recipe, "bf16,f16,f32", NULL, layout, scales, layout_t, scales_t, NULL, NULL, NULL, \
            run                                                                                              \
    }
#define MX_GPU_BY_SCALES(Out, e, recipe, SPECIAL, codes, codes_t, scales, tail)                              \
    MX_GPU_ROW("quantize-row-" e tail, "quantize", recipe, codes, scales, NULL, NULL,                        \
               (quantize<Out, SPECIAL, ROWS, 0>)),                                                           \
        MX_GPU_ROW("quantize-col-t-" e tail, "quantize", recipe "-col", codes_t, scales, NULL, NULL,         \
                   (quantize<Out, SPECIAL, COLUMNS_T, 0>)),                                                  \
        MX_GPU_ROW("quantize-both-" e tail, "quantize-both", recipe, codes, scales, codes_t, scales,         \
                   (quantize<Out, SPECIAL, ROWS, COLUMNS_T>))
#define MX_GPU_MXFP8(Out, e, recipe, SPECIAL)                                                                \
    MX_GPU_BY_SCALES(Out, e, recipe, SPECIAL, NULL, "transposed", "tile-128x4", "-tile"),                    \
        MX_GPU_BY_SCALES(Out, e, recipe, SPECIAL, NULL, "transposed", NULL, ""),                             \
        MX_GPU_ROW("quantize-col-" e, "quantize", recipe "-col", NULL, NULL, NULL, NULL,                     \
                   (quantize<Out, SPECIAL, COLUMNS, 0>))
#define MX_GPU_32X32(Out, e, recipe, SPECIAL)                                                                \
    MX_GPU_ROW("quantize-32x32-" e, "quantize", recipe "-32x32", NULL, NULL, NULL, NULL,                     \
               (quantize<Out, SPECIAL, SQUARES, 0>))

} // namespace mx
#endif
