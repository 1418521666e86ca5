/* SPDX-License-Identifier: Apache-2.0
 *
 * quantize_plain.cu - the same quantisers, slow and readable: one thread takes one block and walks it element
 * by element, in the words of the recipe. Shares no arithmetic with the fast kernels, so that the two can
 * judge each other. Read this one first. */
#include "launch.cuh"

using namespace mx;

namespace
{

/* An element format as numbers, so that one encoder serves all. */
struct Element {
    int bits, man_bits, emin, emax;
    double max;
    int nan_code; /* what a NaN of either sign becomes */
};

/* Round y to the format, to nearest even, saturating. */
__device__ int encode_plain(const Element &f, float y)
{
    if (isnan(y)) return f.nan_code;
    const int sign = signbit(y) ? 1 << (f.bits - 1) : 0;
    double a = fabs((double)y);
    if (a > f.max) a = f.max;
    int exponent = f.emin;
    while (ldexp(2.0, exponent) <= a)
        exponent++;
    double quantum = ldexp(1.0, exponent - f.man_bits);
    double rounded = rint(a / quantum) * quantum; /* at most max, since max is a multiple of its quantum */
    if (rounded >= ldexp(2.0, exponent)) exponent++, quantum *= 2;
    int significand = (int)(rounded / quantum);
    /* Below the smallest normal the exponent field is 0; otherwise the hidden bit carries into it. */
    return sign | (significand + (exponent - f.emin) * (1 << f.man_bits));
}

struct Plain {
    Element element;
    bool floor, keep_nan;
    int inf_code;
    int block_rows, block_cols;
    bool transposed; /* codes and scale grid */
    bool tiled;      /* scales in 128x4 tiles */
};

struct Target {
    uint8_t *q, *scale;
    int64_t q_pitch, scale_rows, scale_cols;
};

__device__ int64_t tile_offset(int64_t r, int64_t c, int64_t cols)
{
    return (r / 128 * ((cols + 3) / 4) + c / 4) * 512 + r % 32 * 16 + r % 128 / 32 * 4 + c % 4;
}

/* Scale byte of a block by its amax. */
__device__ int scale_plain(const Plain &r, float amax)
{
    if (isnan(amax)) return 255;
    if (isinf(amax)) return r.inf_code;
    if (amax == 0) return 0;
    int exponent;
    if (r.floor) { /* 2^(floor(log2 amax) - emax) */
        frexp((double)amax, &exponent);
        return max(exponent - 1 - r.element.emax + 127, 0);
    }
    const float ratio = amax * (float)(1.0 / r.element.max); /* rounded to fp32, as the recipe has it */
    if (ratio <= 0x1p-127f) return 0;
    const double significand =
        frexp((double)ratio, &exponent); /* ratio = significand * 2^exponent, from 1/2 */
    return exponent - (significand == 0.5) + 127;
}

template <class In>
__global__ void quantize_plain(const Matrix<In> x, int64_t rows, int64_t cols, const Plain r, const Target t)
{
    const int64_t across_blocks = (cols + r.block_cols - 1) / r.block_cols;
    const int64_t block = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    const int64_t block_row = block / across_blocks, block_col = block % across_blocks;
    const int64_t r0 = block_row * r.block_rows, r1 = min(r0 + r.block_rows, rows);
    const int64_t c0 = block_col * r.block_cols, c1 = min(c0 + r.block_cols, cols);
    if (r0 >= rows) return;

    float amax = 0;
    for (int64_t i = r0; i < r1; i++)
        for (int64_t k = c0; k < c1; k++) {
            float v = fabsf(x.at(i, k));
            if (isnan(v) ? r.keep_nan : !(v <= amax) && !isnan(amax)) amax = v;
        }
    const int s = scale_plain(r, amax);
    const int64_t sr = r.transposed ? block_col : block_row, sc = r.transposed ? block_row : block_col;
    t.scale[r.tiled ? tile_offset(sr, sc, t.scale_cols) : sr * t.scale_cols + sc] = (uint8_t)s;

    const float factor = s == 255 ? NAN : (float)ldexp(1.0, 127 - s);
    for (int64_t i = r0; i < r1; i++)
        for (int64_t k = c0; k < c1; k++) {
            int64_t at = r.transposed ? k * t.q_pitch + i : i * t.q_pitch + k;
            t.q[at] = (uint8_t)encode_plain(r.element, x.at(i, k) * factor);
        }
}

template <class In> int run_of(const mx_kernel_call *c, const mx_kernel_tensor *x, const Plain &r)
{
    int64_t rows, cols;
    as_matrix(x, &rows, &cols);
    const mx_kernel_tensor *q = mx_gpu_out(c, "q"), *scale = mx_gpu_out(c, "scale");
    if (!q || !scale) return mx_gpu_say(c, MX_KERNEL_FAILED, "needs q and scale");
    if (rows == 0 || cols == 0) return MX_KERNEL_DONE;
    const int64_t grid_rows = (rows + r.block_rows - 1) / r.block_rows;
    const int64_t grid_cols = (cols + r.block_cols - 1) / r.block_cols;
    const int64_t width = r.transposed ? rows : cols;
    Target t = {(uint8_t *)q->data, (uint8_t *)scale->data, q->pitch ? q->pitch : width,
                r.transposed ? grid_cols : grid_rows, r.transposed ? grid_rows : grid_cols};
    int64_t scales = t.scale_rows * t.scale_cols;
    if (r.tiled) scales = (t.scale_rows + 127) / 128 * ((t.scale_cols + 3) / 4) * 512;
    if ((int64_t)scale->bytes < scales || (int64_t)q->bytes < rows * cols)
        return mx_gpu_say(c, MX_KERNEL_REFUSED, "outputs too small");
    if ((grid_rows * grid_cols + 127) / 128 > INT32_MAX)
        return mx_gpu_say(c, MX_KERNEL_REFUSED, "more than 2^38 blocks");
    cudaMemsetAsync(scale->data, 0, (size_t)scales, mx_gpu_stream(c)); /* padding */
    quantize_plain<In><<<(unsigned)((grid_rows * grid_cols + 127) / 128), 128, 0, mx_gpu_stream(c)>>>(
        matrix_of<In>(x, cols), rows, cols, r, t);
    return mx_gpu_launched(c);
}

constexpr Element E4M3_ELEMENT = {8, 3, -6, 8, 448, 0x7F};
constexpr Element E5M2_ELEMENT = {8, 2, -14, 15, 57344, 0x7F};

template <const Element &ELEMENT, Special SPECIAL, int BLOCK_ROWS, int BLOCK_COLS, bool TILED>
int plain(const mx_kernel_call *c)
{
    constexpr bool FLOORS = SPECIAL == FLOOR || SPECIAL == AO_FLOOR;
    constexpr bool KEEPS = SPECIAL == AO_RCEIL || SPECIAL == AO_FLOOR;
    const Plain r = {ELEMENT,    FLOORS,     KEEPS,           KEEPS ? 0xFF : 0xFE,
                     BLOCK_ROWS, BLOCK_COLS, BLOCK_COLS == 1, TILED};
    const mx_kernel_tensor *x = mx_gpu_in(c, "x");
    if (!x) return mx_gpu_say(c, MX_KERNEL_FAILED, "no input x");
    if (mx_gpu_same(x->dtype, "bf16")) return run_of<__nv_bfloat16>(c, x, r);
    if (mx_gpu_same(x->dtype, "f16")) return run_of<__half>(c, x, r);
    if (mx_gpu_same(x->dtype, "f32")) return run_of<float>(c, x, r);
    return mx_gpu_say(c, MX_KERNEL_REFUSED, "no path for input %s", x->dtype);
}

#define PLAIN(e, recipe, ELEMENT, SPECIAL)                                                                   \
    MX_GPU_ROW("plain-row-" e "-tile", "quantize", recipe, NULL, "tile-128x4", NULL, NULL,                   \
               (plain<ELEMENT, SPECIAL, 1, 32, true>)),                                                      \
        MX_GPU_ROW("plain-col-t-" e "-tile", "quantize", recipe "-col", "transposed", "tile-128x4", NULL,    \
                   NULL, (plain<ELEMENT, SPECIAL, 32, 1, true>))

const mx_kernel_op ops[] = {
    PLAIN("e4m3-te", "mxfp8-te", E4M3_ELEMENT, TE),
    PLAIN("e4m3-floor", "mxfp8-floor", E4M3_ELEMENT, FLOOR),
    PLAIN("e4m3-ao-rceil", "mxfp8-ao-rceil", E4M3_ELEMENT, AO_RCEIL),
    PLAIN("e4m3-ao-floor", "mxfp8-ao-floor", E4M3_ELEMENT, AO_FLOOR),
    PLAIN("e5m2-te", "mxfp8-e5m2-te", E5M2_ELEMENT, TE),
    MX_GPU_ROW("plain-32x32-e4m3-te", "quantize", "mxfp8-te-32x32", NULL, NULL, NULL, NULL,
               (plain<E4M3_ELEMENT, TE, 32, 32, false>)),
};

} // namespace

MX_GPU_TABLE(quantize_plain, ops)
