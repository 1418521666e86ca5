/* SPDX-License-Identifier: Apache-2.0
 *
 * swiglu.cu - SwiGLU fused with MXFP8 quantisation: the activation, or both gradients, never reach memory in
 * the high precision. silu.cuh defines the arithmetic. */
#define MX_GPU_LANE_ROWS 8
#include "launch.cuh"
#include "silu.cuh"

using namespace mx;

namespace
{

/* silu(gate) * up, rounded to the inputs' type. */
template <class T> struct SwigluSource {
    using In = T;
    struct Raw {
        Chunk<T> gate, up;
    };
    static constexpr int ROWS_IN_FLIGHT = 4;
    Matrix<T> gate, up;

    bool aligned() const { return gate.aligned && up.aligned; }

    template <bool FAST> __device__ __forceinline__ Raw load(const Shape &s, int64_t row, int64_t col) const
    {
        return {gate.template chunk<FAST>(s, row, col), up.template chunk<FAST>(s, row, col)};
    }
    __device__ __forceinline__ Chunk<T> finish(const Raw &raw) const
    {
        Chunk<T> c;
#pragma unroll
        for (int k = 0; k < CHUNK; k += 2) {
            float a = element<T>(raw.gate, k), b = element<T>(raw.gate, k + 1);
            put_pair(c, k, swiglu(sigma(a), a, element<T>(raw.up, k)),
                     swiglu(sigma(b), b, element<T>(raw.up, k + 1)));
        }
        return c;
    }
};

/* [dgate | dup], a matrix of twice the columns, wherever the halves meet: element by element. */
template <class T> struct SwigluGradSource {
    using In = T;
    using Raw = Chunk<T>;
    static constexpr int ROWS_IN_FLIGHT = 1;
    Matrix<T> gate, up, dy;
    int64_t cols; /* of one half */

    template <bool FAST> __device__ __forceinline__ Raw load(const Shape &s, int64_t row, int64_t col) const
    {
        Chunk<T> c;
#pragma unroll
        for (int k = 0; k < CHUNK; k += 2)
            put_pair(c, k, at(s, row, col + k), at(s, row, col + k + 1));
        return c;
    }
    __device__ __forceinline__ Chunk<T> finish(const Raw &raw) const { return raw; }

    __device__ __forceinline__ float at(const Shape &s, int64_t row, int64_t col) const
    {
        if (row >= s.rows || col >= s.cols) return 0;
        int64_t k = col < cols ? col : col - cols;
        float g = gate.at(row, k);
        SwigluGrad d = swiglu_grad(sigma(g), g, up.at(row, k), dy.at(row, k));
        return col < cols ? d.gate : d.up;
    }
};

/* What a lane keeps of its second half while it quantises the first: 16 bytes apart from lane to lane. */
template <class T> struct Shelf {
    uint4 piece[LANE_ROWS<T>][sizeof(Chunk<T>) / 16][THREADS<T>];

    __device__ __forceinline__ void put(int i, const Chunk<T> &c)
    {
#pragma unroll
        for (int w = 0; w < (int)sizeof c / 16; w++)
            piece[i][w][threadIdx.x] = make_uint4(c.w[4 * w], c.w[4 * w + 1], c.w[4 * w + 2], c.w[4 * w + 3]);
    }
    __device__ __forceinline__ Chunk<T> get(int i) const
    {
        Chunk<T> c;
#pragma unroll
        for (int w = 0; w < (int)sizeof c / 16; w++) {
            uint4 v = piece[i][w][threadIdx.x];
            c.w[4 * w] = v.x, c.w[4 * w + 1] = v.y, c.w[4 * w + 2] = v.z, c.w[4 * w + 3] = v.w;
        }
        return c;
    }
};

template <class T> struct GradShared {
    ScaleStage<E8M0Rule::BLOCK> scales[2];
    CodeStage codes;
    Shelf<T> up;
};

/* One tile of dgate and the tile of dup beside it from one read of gate, up and dy. */
template <class T, class Out>
__global__ void __launch_bounds__(THREADS<T>, PACKED<T> ? 2 : 1)
    swiglu_grad_tiles(const SwigluGradSource<T> source, const E8M0Rule rule, const Shape s, const Copy rows,
                      const Copy columns)
{
    extern __shared__ __align__(128) uint8_t shared[];
    GradShared<T> &at = *(GradShared<T> *)shared;
    int64_t row0, col0;
    tile_origin(s, &row0, &col0);
    Position p = position<T>(row0, col0);

    Chunk<T> c[LANE_ROWS<T>];
    constexpr int STEP = 2; /* rows in flight of each input */
#pragma unroll
    for (int i = 0; i < LANE_ROWS<T>; i += STEP) {
        Chunk<T> g[STEP], u[STEP], y[STEP];
#pragma unroll
        for (int j = 0; j < STEP; j++) {
            g[j] = source.gate.template chunk<true>(s, p.row + i + j, p.col);
            u[j] = source.up.template chunk<true>(s, p.row + i + j, p.col);
            y[j] = source.dy.template chunk<true>(s, p.row + i + j, p.col);
        }
#pragma unroll
        for (int j = 0; j < STEP; j++) {
            Chunk<T> up;
#pragma unroll
            for (int k = 0; k < CHUNK; k += 2) {
                float a = element<T>(g[j], k), b = element<T>(g[j], k + 1);
                SwigluGrad d = swiglu_grad(sigma(a), a, element<T>(u[j], k), element<T>(y[j], k));
                SwigluGrad e = swiglu_grad(sigma(b), b, element<T>(u[j], k + 1), element<T>(y[j], k + 1));
                put_pair(c[i + j], k, d.gate, e.gate);
                put_pair(up, k, d.up, e.up);
            }
            at.up.put(i + j, up);
        }
        __syncwarp(); /* keeps the next rows' loads from being hoisted, for which there are no registers */
    }
#pragma unroll 1
    for (int half = 0;; half++) {
        quantize_one<T, Out, ROWS, true>(c, rule, s, p, rows, at.scales[0], &at.codes);
        quantize_one<T, Out, COLUMNS_T, true>(c, rule, s, p, columns, at.scales[1], &at.codes);
        __syncthreads();
        flush<T, Out, ROWS, true>(rows, row0, col0, at.scales[0], &at.codes);
        flush<T, Out, COLUMNS_T, true>(columns, row0, col0, at.scales[1], &at.codes);
        if (half) break;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < LANE_ROWS<T>; i++)
            c[i] = at.up.get(i);
        p.col += source.cols, col0 += source.cols;
    }
}

struct Inputs {
    const mx_kernel_tensor *gate, *up, *dy;
    int64_t rows, cols;
};

/* The inputs by name, of one shape and type. */
int inputs_of(const mx_kernel_call *c, bool grad, Inputs *in)
{
    *in = {mx_gpu_in(c, "gate"), mx_gpu_in(c, "up"), grad ? mx_gpu_in(c, "dy") : NULL, 0, 0};
    if (!in->gate || !in->up || (grad && !in->dy))
        return mx_gpu_say(c, MX_KERNEL_FAILED, "an input of gate, up%s is missing", grad ? ", dy" : "");
    as_matrix(in->gate, &in->rows, &in->cols);
    for (const mx_kernel_tensor *t : {in->up, in->dy}) {
        int64_t rows = in->rows, cols = in->cols;
        if (t) as_matrix(t, &rows, &cols);
        if (t && (rows != in->rows || cols != in->cols || !mx_gpu_same(t->dtype, in->gate->dtype)))
            return mx_gpu_say(c, MX_KERNEL_FAILED, "%s differs from gate in shape or type", t->name);
    }
    return MX_KERNEL_DONE;
}

template <class T, class Out, int FIRST, int SECOND>
int forward_of(const mx_kernel_call *c, const Inputs &in, const E8M0Rule &rule)
{
    Copy first, second;
    int result = copies_of<Out, FIRST, SECOND, E8M0Rule>(c, in.rows, in.cols, &first, &second);
    if (result != MX_KERNEL_DONE) return result;
    SwigluSource<T> source = {matrix_of<T>(in.gate, in.cols), matrix_of<T>(in.up, in.cols)};
    return launch<Out, FIRST, SECOND>(c, source, rule, in.rows, in.cols, first, second);
}

template <class T, class Out> int grad_of(const mx_kernel_call *c, const Inputs &in, const E8M0Rule &rule)
{
    Copy rows, columns;
    int result = copies_of<Out, ROWS, COLUMNS_T, E8M0Rule>(c, in.rows, 2 * in.cols, &rows, &columns);
    if (result != MX_KERNEL_DONE || in.rows == 0 || in.cols == 0) return result;
    SwigluGradSource<T> source = {matrix_of<T>(in.gate, in.cols), matrix_of<T>(in.up, in.cols),
                                  matrix_of<T>(in.dy, in.cols), in.cols};
    bool fast = source.gate.aligned && source.up.aligned && source.dy.aligned && rows.aligned &&
                columns.aligned && in.cols % TILE == 0;
    const int64_t wide = (2 * in.cols + TILE - 1) / TILE, high = (in.rows + TILE - 1) / TILE;
    if (wide > INT32_MAX / high)
        return mx_gpu_say(c, MX_KERNEL_REFUSED, "more than 2^31 - 1 tiles of 128 x 128");
    const uint32_t down = fast ? in.rows / TILE : 0, across_half = in.cols / TILE;
    const Shape full = {in.rows, 2 * in.cols, 0, 0, down, across_half, 1};
    const Shape rest = {in.rows, 2 * in.cols, down, 0, (uint32_t)high - down, (uint32_t)wide, 1};
    if (down) {
        auto kernel = swiglu_grad_tiles<T, Out>;
        const int bytes = (int)sizeof(GradShared<T>);
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
        kernel<<<down * across_half, THREADS<T>, bytes, mx_gpu_stream(c)>>>(source, rule, full, rows,
                                                                            columns);
    }
    launch_part<Out, ROWS, COLUMNS_T, false>(c, source, rule, rest, rows, columns);
    return mx_gpu_launched(c);
}

template <class Out, Special SPECIAL, int FIRST, int SECOND> int forward(const mx_kernel_call *c)
{
    Inputs in;
    int result = inputs_of(c, false, &in);
    if (result != MX_KERNEL_DONE) return result;
    const E8M0Rule rule = rule_of<Out>(SPECIAL);
    if (mx_gpu_same(in.gate->dtype, "bf16"))
        return forward_of<__nv_bfloat16, Out, FIRST, SECOND>(c, in, rule);
    if (mx_gpu_same(in.gate->dtype, "f16")) return forward_of<__half, Out, FIRST, SECOND>(c, in, rule);
    if (mx_gpu_same(in.gate->dtype, "f32")) return forward_of<float, Out, FIRST, SECOND>(c, in, rule);
    return mx_gpu_say(c, MX_KERNEL_REFUSED, "no path for input %s", in.gate->dtype);
}

template <class Out, Special SPECIAL> int grad(const mx_kernel_call *c)
{
    Inputs in;
    int result = inputs_of(c, true, &in);
    if (result != MX_KERNEL_DONE) return result;
    const E8M0Rule rule = rule_of<Out>(SPECIAL);
    if (mx_gpu_same(in.gate->dtype, "bf16")) return grad_of<__nv_bfloat16, Out>(c, in, rule);
    if (mx_gpu_same(in.gate->dtype, "f16")) return grad_of<__half, Out>(c, in, rule);
    if (mx_gpu_same(in.gate->dtype, "f32")) return grad_of<float, Out>(c, in, rule);
    return mx_gpu_say(c, MX_KERNEL_REFUSED, "no path for input %s", in.gate->dtype);
}

#define SWIGLU_ROWS(scales, tail)                                                                            \
    MX_GPU_ROW("swiglu-quantize" tail, "swiglu-quantize", "mxfp8-te", NULL, scales, NULL, NULL,              \
               (forward<E4M3, TE, ROWS, 0>)),                                                                \
        MX_GPU_ROW("swiglu-quantize-both" tail, "swiglu-quantize-both", "mxfp8-te", NULL, scales,            \
                   "transposed", scales, (forward<E4M3, TE, ROWS, COLUMNS_T>)),                              \
        MX_GPU_ROW("swiglu-grad-quantize" tail, "swiglu-grad-quantize", "mxfp8-te", NULL, scales,            \
                   "transposed", scales, (grad<E4M3, TE>))

const mx_kernel_op ops[] = {SWIGLU_ROWS("tile-128x4", "-tile"), SWIGLU_ROWS(NULL, "")};

} // namespace

MX_GPU_TABLE(swiglu, ops)
