/* SPDX-License-Identifier: Apache-2.0
 *
 * selftest.cu - the GPU quantisers against host code (reference.h), byte for byte, and their speed against
 * the device's own copy. For the author of the kernels: `mxcheck kernel` and `mxcheck bench` do both for
 * everyone.
 *
 *   gpu-selftest LIB.so check             every operation, shapes and special values, padding and guards
 *   gpu-selftest LIB.so large             offsets past 2^31 elements, fast kernels against plain ones
 *   gpu-selftest LIB.so bench [FILTER [ROWS COLS [REPEATS]]]
 */
#include "../ops.h"
#include "../silu.cuh"
#include "reference.h"

#include <algorithm>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <dlfcn.h>

#define CUDA(call)                                                                                           \
    do {                                                                                                     \
        cudaError_t error_ = (call);                                                                         \
        if (error_ != cudaSuccess) {                                                                         \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(error_));       \
            exit(3);                                                                                         \
        }                                                                                                    \
    } while (0)

static const mx_kernel_library *lib;

/* ---- inputs
 * ------------------------------------------------------------------------------------------------- */

static __host__ __device__ uint64_t mix(uint64_t z)
{
    z += 0x9E3779B97F4A7C15ull;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

static uint32_t to_bits(float v, const std::string &type)
{
    uint16_t h;
    uint32_t b;
    if (type == "f32") return memcpy(&b, &v, 4), b;
    if (type == "bf16") {
        __nv_bfloat16 t = __float2bfloat16(v);
        return memcpy(&h, &t, 2), h;
    }
    __half t = __float2half(v);
    return memcpy(&h, &t, 2), h;
}
static float from_bits(uint32_t b, const std::string &type)
{
    float v;
    if (type == "f16") {
        __half t;
        uint16_t h = (uint16_t)b;
        memcpy(&t, &h, 2);
        return __half2float(t);
    }
    if (type == "bf16") b <<= 16;
    memcpy(&v, &b, 4);
    return v;
}

/* Regions of 32 x 32 in different moods, so that blocks of any direction meet every kind of content. */
static std::vector<uint32_t> make(int64_t rows, int64_t cols, const std::string &type, uint64_t seed)
{
    std::vector<uint32_t> x(rows * cols);
    const uint32_t inf = type == "f32" ? 0x7F800000u : type == "bf16" ? 0x7F80u : 0x7C00u;
    const uint32_t sign = type == "f32" ? 0x80000000u : 0x8000u;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < cols; c++) {
            uint64_t region = mix(seed * 1000003 + r / 32 * 4099 + c / 32),
                     h = mix(seed ^ mix(r * 1000003 + c));
            float u = (float)((double)(h >> 11) / 9007199254740992.0 * 2 - 1);
            int e = (int)(mix(region) % 230) - 120;
            if (type == "f16") e = e / 8;
            uint32_t b;
            switch (region % 10) {
            case 0: b = (uint32_t)(h & (type == "f32" ? 0xFFFFFFFFu : 0xFFFFu)); break; /* any pattern */
            case 1: b = h % 3 ? 0 : sign; break;
            case 2: b = (uint32_t)(h % 7) | (h & 64 ? sign : 0); break; /* deepest subnormals */
            case 3: { /* at the thresholds of the rules: 448, 57344, 6 times 2^e, and a step around them */
                const float at[] = {448, 57344, 6, 1, 1.5f, 1.75f, 1.9375f, 464};
                b = to_bits(std::ldexp(at[h % 8], e / 2), type) + (uint32_t)(h >> 8 & 3) - 1;
                if (h & 1 << 20) b ^= sign;
                break;
            }
            case 4: b = to_bits(u, type); break;
            case 5: b = h % 61 ? to_bits(u, type) : inf + 1 + (h & 64 ? sign : 0); break; /* some NaN */
            case 6: b = h % 97 ? to_bits(u, type) : inf | (h & 64 ? sign : 0); break;     /* some Inf */
            case 7: b = to_bits((float)(int)(h % 37) * 0.25f, type); break;               /* ties */
            default: b = to_bits(std::ldexp(u, e), type); break;
            }
            x[r * cols + c] = b;
        }
    if (type == "f32" && rows * cols > 64) x[5] = 0x04600001, x[40] = 0x04600002;
    return x;
}

/* ---- device buffers with guards
 * -------------------------------------------------------------------------------- */

constexpr size_t GUARD = 256;
constexpr int POISON = 0xA5;

struct Buffer {
    uint8_t *base = nullptr;
    size_t bytes = 0, misalign = 0;
    Buffer(size_t n, size_t off = 0) : bytes(n), misalign(off)
    {
        CUDA(cudaMalloc(&base, n + off + 2 * GUARD));
        CUDA(cudaMemset(base, POISON, n + off + 2 * GUARD));
    }
    Buffer(const Buffer &) = delete;
    ~Buffer() { cudaFree(base); }
    void *data() const { return base + GUARD + misalign; }
    std::vector<uint8_t> read() const
    {
        std::vector<uint8_t> v(bytes);
        CUDA(cudaMemcpy(v.data(), data(), bytes, cudaMemcpyDeviceToHost));
        return v;
    }
    bool guards_intact() const
    {
        std::vector<uint8_t> v(bytes + misalign + 2 * GUARD);
        CUDA(cudaMemcpy(v.data(), base, v.size(), cudaMemcpyDeviceToHost));
        for (size_t i = 0; i < v.size(); i++)
            if ((i < GUARD + misalign || i >= GUARD + misalign + bytes) && v[i] != POISON) return false;
        return true;
    }
};

struct Case {
    int64_t rows, cols, pad;
    size_t misalign; /* elements that inputs start after a 16-byte boundary */
};

static mx_kernel_tensor tensor(const char *name, const char *type, int64_t rows, int64_t cols, int64_t pitch,
                               const Buffer &b)
{
    return {name, type, 2, {rows, cols}, pitch, b.data(), b.bytes};
}

static int64_t tile_at(int64_t r, int64_t c, int64_t cols)
{
    return (r / 128 * ((cols + 3) / 4) + c / 4) * 512 + r % 32 * 16 + r % 128 / 32 * 4 + c % 4;
}

/* One quantised copy: where its bytes should lie, and whether they do. */
struct Copy {
    Spec spec;
    bool transposed, tiled;
    int64_t rows, cols; /* of x */
    int64_t q_rows, q_cols, q_pitch, s_rows, s_cols;
    size_t q_bytes, s_bytes;
    Copy(const Spec &s, bool t, const char *layout, int64_t r, int64_t c)
        : spec(s), transposed(t), tiled(mx_gpu_same(layout, "tile-128x4")), rows(r), cols(c)
    {
        int64_t gr = (r + s.block_rows - 1) / s.block_rows, gc = (c + s.block_cols - 1) / s.block_cols;
        q_rows = t ? c : r, q_cols = t ? r : c, s_rows = t ? gc : gr, s_cols = t ? gr : gc;
        q_pitch = s.bits == 4 ? q_cols + q_cols % 2 : q_cols;
        q_bytes = q_rows * q_pitch * s.bits / 8;
        s_bytes = tiled ? (s_rows + 127) / 128 * ((s_cols + 3) / 4) * 512 : s_rows * s_cols;
    }
    int64_t differences(const Ref &ref, const std::vector<uint8_t> &q, const std::vector<uint8_t> &s,
                        std::string *first) const
    {
        int64_t n = 0;
        char text[200];
        std::vector<uint8_t> want_s(s_bytes, 0), want_q(q_bytes, 0);
        for (int64_t r = 0; r < ref.grid_rows; r++)
            for (int64_t c = 0; c < ref.grid_cols; c++) {
                int64_t a = transposed ? c : r, b = transposed ? r : c;
                want_s[tiled ? tile_at(a, b, s_cols) : a * s_cols + b] = ref.scales[r * ref.grid_cols + c];
            }
        for (int64_t r = 0; r < rows; r++)
            for (int64_t c = 0; c < cols; c++) {
                int64_t at = transposed ? c * q_pitch + r : r * q_pitch + c;
                if (spec.bits == 4)
                    want_q[at / 2] |= ref.codes[r * cols + c] << at % 2 * 4;
                else
                    want_q[at] = ref.codes[r * cols + c];
            }
        for (size_t i = 0; i < s_bytes; i++)
            if (s[i] != want_s[i] && n++ == 0) {
                snprintf(text, sizeof text, "scale byte %zu: got %02X, want %02X", i, s[i], want_s[i]);
                *first = text;
            }
        for (size_t i = 0; i < q_bytes; i++)
            if (q[i] != want_q[i] && n++ == 0) {
                snprintf(text, sizeof text, "code byte %zu (row %lld, col %lld): got %02X, want %02X", i,
                         (long long)(i * 8 / spec.bits / q_pitch), (long long)(i * 8 / spec.bits % q_pitch),
                         q[i], want_q[i]);
                *first = text;
            }
        return n;
    }
};

/* ---- running an operation
 * ---------------------------------------------------------------------------------------- */

struct Result {
    int64_t runs = 0, bytes = 0, wrong = 0, failed = 0;
    std::string first;
};

static void note(Result *t, const mx_kernel_op *op, const std::string &type, const Case &k,
                 const std::string &what)
{
    if (t->first.empty()) {
        char text[400];
        snprintf(text, sizeof text, "%s %s %lldx%lld pad %lld misalign %zu: %s", op->name, type.c_str(),
                 (long long)k.rows, (long long)k.cols, (long long)k.pad, k.misalign, what.c_str());
        t->first = text;
    }
}

static void check(const mx_kernel_op *op, const std::string &type, const Case &k, uint64_t seed, Result *t)
{
    const std::string operation = op->operation;
    const bool grad = operation == "swiglu-grad-quantize", swiglu = has(operation, "swiglu");
    const bool both = operation == "quantize-both" || operation == "swiglu-quantize-both" || grad;
    const size_t size = type == "f32" ? 4 : 2;
    const int64_t pitch = k.cols + k.pad;
    std::vector<const char *> names = {"x"};
    if (swiglu)
        names =
            grad ? std::vector<const char *>{"gate", "up", "dy"} : std::vector<const char *>{"gate", "up"};

    std::vector<std::vector<float>> values;
    std::vector<Buffer *> buffers;
    std::vector<mx_kernel_tensor> in, out;
    for (size_t n = 0; n < names.size(); n++) {
        std::vector<uint32_t> bits = make(k.rows, k.cols, type, seed + n * 77);
        std::vector<uint8_t> raw((size_t)(k.rows * pitch) * size, 0x7F); /* pad holds NaN */
        std::vector<float> v(bits.size());
        for (int64_t r = 0; r < k.rows; r++)
            for (int64_t c = 0; c < k.cols; c++) {
                memcpy(&raw[(r * pitch + c) * size], &bits[r * k.cols + c], size);
                v[r * k.cols + c] = from_bits(bits[r * k.cols + c], type);
            }
        buffers.push_back(new Buffer(raw.size(), k.misalign * size));
        CUDA(cudaMemcpy(buffers.back()->data(), raw.data(), raw.size(), cudaMemcpyHostToDevice));
        values.push_back(v);
        in.push_back(tensor(names[n], type.c_str(), k.rows, k.cols, pitch, *buffers.back()));
    }
    int64_t cols = k.cols;
    std::vector<float> x = values[0];
    if (swiglu) {
        cols = grad ? 2 * k.cols : k.cols;
        x.assign(k.rows * cols, 0);
        for (int64_t r = 0; r < k.rows; r++)
            for (int64_t c = 0; c < k.cols; c++) {
                int64_t i = r * k.cols + c;
                float a, b = 0;
                if (grad)
                    ref_swiglu_grad(values[0][i], values[1][i], values[2][i], &a, &b);
                else
                    a = ref_swiglu(values[0][i], values[1][i]);
                x[r * cols + c] = from_bits(to_bits(a, type), type);
                if (grad) x[r * cols + k.cols + c] = from_bits(to_bits(b, type), type);
            }
    }

    const Spec spec = spec_of(op->recipe);
    Spec spec_t = spec;
    std::swap(spec_t.block_rows, spec_t.block_cols);
    const Copy first(spec, mx_gpu_same(op->data_layout, "transposed"), op->scale_layout, k.rows, cols);
    const Copy second(spec_t, true, op->scale_layout_t, k.rows, cols);
    const char *element = spec.bits == 4 ? "e2m1" : spec.man == 2 ? "e5m2" : "e4m3";
    const char *scale = spec.nvfp4 ? "ue4m3" : "e8m0";
    Buffer q(first.q_bytes), s(first.s_bytes), qt(second.q_bytes), st(second.s_bytes);
    out.push_back(tensor("q", element, first.q_rows, first.q_cols, spec.bits == 4 ? 0 : first.q_cols, q));
    out.push_back(tensor("scale", scale, first.s_rows, first.s_cols, first.tiled ? 0 : first.s_cols, s));
    if (both) {
        out.push_back(tensor("qt", element, second.q_rows, second.q_cols, second.q_cols, qt));
        out.push_back(
            tensor("scalet", scale, second.s_rows, second.s_cols, second.tiled ? 0 : second.s_cols, st));
    }
    char message[200] = "";
    mx_kernel_call call = {
        op,      (uint32_t)in.size(), (uint32_t)out.size(), in.data(), out.data(), 1, 0, 0, NULL,
        message, sizeof message};
    int status = op->run(&call);
    cudaError_t error = cudaDeviceSynchronize();
    t->runs++;
    if (status != MX_KERNEL_DONE || error != cudaSuccess) {
        t->failed++;
        note(t, op, type, k, std::string(message) + " " + cudaGetErrorString(error));
        if (error != cudaSuccess) exit(3);
    } else {
        std::string what;
        int64_t n = first.differences(ref_quantize(spec, x, k.rows, cols), q.read(), s.read(), &what);
        if (both) n += second.differences(ref_quantize(spec_t, x, k.rows, cols), qt.read(), st.read(), &what);
        bool intact = q.guards_intact() && s.guards_intact() && qt.guards_intact() && st.guards_intact();
        if (!intact) n++, what += " guard overwritten";
        t->bytes += first.q_bytes + first.s_bytes + (both ? second.q_bytes + second.s_bytes : 0);
        t->wrong += n;
        if (n) note(t, op, type, k, what);
    }
    for (Buffer *b : buffers)
        delete b;
}

static void check_dequantize(const mx_kernel_op *op, const Case &k, Result *t)
{
    const std::string type = op->output;
    const size_t size = type == "f32" ? 4 : 2;
    const Spec spec = spec_of(op->recipe);
    const Copy copy(spec, false, op->scale_layout, k.rows, k.cols);
    std::vector<uint8_t> codes(copy.q_bytes), scales(copy.s_bytes);
    for (size_t i = 0; i < codes.size(); i++)
        codes[i] = (uint8_t)mix(i + 5);
    for (size_t i = 0; i < scales.size(); i++)
        scales[i] = i % 3 ? (uint8_t)mix(i + 99) : (uint8_t)(120 + i % 16);
    Buffer q(codes.size()), s(scales.size()), y((size_t)(k.rows * k.cols) * size);
    CUDA(cudaMemcpy(q.data(), codes.data(), codes.size(), cudaMemcpyHostToDevice));
    CUDA(cudaMemcpy(s.data(), scales.data(), scales.size(), cudaMemcpyHostToDevice));
    mx_kernel_tensor in[2] = {
        tensor("q", "e4m3", k.rows, k.cols, k.cols, q),
        tensor("scale", "e8m0", copy.s_rows, copy.s_cols, copy.tiled ? 0 : copy.s_cols, s)};
    mx_kernel_tensor out = tensor("y", op->output, k.rows, k.cols, k.cols, y);
    char message[200] = "";
    mx_kernel_call call = {op, 2, 1, in, &out, 1, 0, 0, NULL, message, sizeof message};
    int status = op->run(&call);
    CUDA(cudaDeviceSynchronize());
    t->runs++;
    if (status != MX_KERNEL_DONE) t->failed++, note(t, op, type, k, message);
    std::vector<uint8_t> got = y.read();
    t->bytes += got.size();
    for (int64_t r = 0; r < k.rows; r++)
        for (int64_t c = 0; c < k.cols; c++) {
            int code = codes[r * k.cols + c];
            int e = code >> spec.man & ((1 << (7 - spec.man)) - 1), m = code & ((1 << spec.man) - 1);
            int bias = spec.man == 3 ? 7 : 15;
            double v =
                e ? std::ldexp((1 << spec.man) + m, e - bias - spec.man) : std::ldexp(m, 1 - bias - spec.man);
            if (spec.man == 3 && (code & 127) == 127) v = NAN;
            if (spec.man == 2 && e == 31) v = m ? NAN : INFINITY;
            int sc = scales[copy.tiled ? tile_at(r, c / 32, copy.s_cols) : r * copy.s_cols + c / 32];
            v = sc == 255 ? NAN : std::ldexp(code & 128 ? -v : v, sc - 127);
            uint32_t want = to_bits((float)v, type), b = 0;
            memcpy(&b, &got[(r * k.cols + c) * size], size);
            if (b != want && !(std::isnan(from_bits(b, type)) && std::isnan(from_bits(want, type)))) {
                char text[120];
                snprintf(text, sizeof text, "(%lld, %lld) code %02X scale %02X: got %08X, want %08X",
                         (long long)r, (long long)c, code, sc, b, want);
                t->wrong++;
                note(t, op, type, k, text);
            }
        }
    if (!y.guards_intact()) t->wrong++, note(t, op, type, k, "guard overwritten");
}

static __global__ void reciprocal_differences(unsigned long long *wrong)
{
    const uint32_t first = 0x3F800000u, last = 0x7F7FFFFFu;
    for (uint64_t b = first + blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; b <= last;
         b += gridDim.x * blockDim.x) {
        float d = __uint_as_float((uint32_t)b), want = d > 0x1p+126f ? 0.0f : __fdiv_rn(1.0f, d);
        if (__float_as_uint(mx::reciprocal_from_1(d)) != __float_as_uint(want)) atomicAdd(wrong, 1ull);
    }
}

static int check_all(const char *filter)
{
    const Case cases[] = {{128, 128, 0, 0}, {256, 384, 0, 0},  {1, 1, 0, 0},     {1, 31, 0, 0},
                          {33, 32, 0, 0},   {127, 129, 0, 0},  {129, 127, 3, 0}, {130, 2880, 0, 0},
                          {160, 136, 8, 0}, {384, 256, 40, 0}, {256, 256, 0, 1}, {255, 257, 5, 3},
                          {513, 64, 0, 0},  {64, 520, 0, 0},   {256, 392, 0, 8}, {2, 100000, 0, 0},
                          {5000, 8, 0, 0}};
    int bad = 0;
    unsigned long long *wrong, count;
    CUDA(cudaMalloc(&wrong, sizeof *wrong));
    CUDA(cudaMemset(wrong, 0, sizeof *wrong));
    reciprocal_differences<<<1024, 256>>>(wrong);
    CUDA(cudaMemcpy(&count, wrong, sizeof count, cudaMemcpyDeviceToHost));
    printf("reciprocal of every float from 1 up: %llu differ from IEEE division\n", count);
    bad += count != 0;
    for (uint32_t i = 0; i < lib->n_ops; i++) {
        const mx_kernel_op *op = &lib->ops[i];
        std::string operation = op->operation;
        if (filter && !has(op->name, filter)) continue;
        if (!op->run || (!has(operation, "quantize") && operation != "dequantize")) continue;
        Result t;
        uint64_t seed = 1;
        for (const Case &k : cases)
            if (operation == "dequantize")
                check_dequantize(op, k, &t);
            else
                for (const char *type : {"bf16", "f16", "f32"})
                    check(op, type, k, seed++, &t);
        printf("%-34s %4lld runs %10lld bytes  %lld differ, %lld failed %s\n", op->name, (long long)t.runs,
               (long long)t.bytes, (long long)t.wrong, (long long)t.failed, t.first.c_str());
        bad += t.wrong || t.failed;
    }
    printf("%s: %d operations with differences\n", bad ? "FAILED" : "passed", bad);
    return bad != 0;
}

/* ---- large: device against device
 * ------------------------------------------------------------------------------- */

static __global__ void fill(uint16_t *x, int64_t n, uint64_t seed)
{
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n;
         i += gridDim.x * (int64_t)blockDim.x) {
        uint64_t h = mix(seed + (uint64_t)i);
        float sum = 0;
        for (int k = 0; k < 4; k++)
            sum += (float)(h >> k * 16 & 0xFFFF) / 65536.0f - 0.5f;
        __nv_bfloat16 v = __float2bfloat16(sum * 1.7f);
        x[i] = __bfloat16_as_ushort(v);
    }
}
static __global__ void count_differences(const uint8_t *a, const uint8_t *b, int64_t n,
                                         unsigned long long *wrong)
{
    unsigned long long mine = 0;
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n;
         i += gridDim.x * (int64_t)blockDim.x)
        mine += a[i] != b[i];
    if (mine) atomicAdd(wrong, mine);
}

static const mx_kernel_op *find(const char *name)
{
    for (uint32_t i = 0; i < lib->n_ops; i++)
        if (mx_gpu_same(lib->ops[i].name, name)) return &lib->ops[i];
    fprintf(stderr, "no operation %s\n", name);
    exit(2);
}

/* Everything one operation needs on the device for a bf16 problem. */
struct Problem {
    const mx_kernel_op *op;
    std::vector<Buffer *> buffers;
    std::vector<mx_kernel_tensor> in, out;
    double bytes = 0;
    char message[200] = "";

    Problem(const mx_kernel_op *o, int64_t rows, int64_t cols) : op(o)
    {
        const std::string operation = op->operation;
        const bool grad = operation == "swiglu-grad-quantize", swiglu = has(operation, "swiglu");
        if (operation == "dequantize") {
            dequantize(rows, cols);
            return;
        }
        for (const char *name : swiglu ? grad ? std::vector<const char *>{"gate", "up", "dy"}
                                              : std::vector<const char *>{"gate", "up"}
                                       : std::vector<const char *>{"x"}) {
            Buffer *b = add((size_t)(rows * cols) * 2);
            fill<<<2048, 256>>>((uint16_t *)b->data(), rows * cols, buffers.size() * 1234567);
            in.push_back(tensor(name, "bf16", rows, cols, cols, *b));
        }
        const Spec spec = spec_of(op->recipe);
        Spec spec_t = spec;
        std::swap(spec_t.block_rows, spec_t.block_cols);
        const int64_t width = grad ? 2 * cols : cols;
        copy("q", "scale",
             Copy(spec, mx_gpu_same(op->data_layout, "transposed"), op->scale_layout, rows, width));
        if (grad || has(operation, "both"))
            copy("qt", "scalet", Copy(spec_t, true, op->scale_layout_t, rows, width));
    }
    Problem(const Problem &) = delete;
    ~Problem()
    {
        for (Buffer *b : buffers)
            delete b;
    }
    Buffer *add(size_t n)
    {
        buffers.push_back(new Buffer(n));
        bytes += (double)n;
        return buffers.back();
    }
    void copy(const char *q, const char *s, const Copy &c)
    {
        Buffer *b = add(c.q_bytes);
        out.push_back(tensor(q, "e4m3", c.q_rows, c.q_cols, c.spec.bits == 4 ? 0 : c.q_cols, *b));
        b = add(c.s_bytes);
        out.push_back(tensor(s, "e8m0", c.s_rows, c.s_cols, c.tiled ? 0 : c.s_cols, *b));
    }
    void dequantize(int64_t rows, int64_t cols)
    {
        const Copy c(spec_of(op->recipe), false, op->scale_layout, rows, cols);
        copy("q", "scale", c);
        in.swap(out);
        fill<<<2048, 256>>>((uint16_t *)buffers[0]->data(), (int64_t)c.q_bytes / 2, 7);
        CUDA(cudaMemset(buffers[1]->data(), 120, c.s_bytes));
        Buffer *b = add((size_t)(rows * cols) * (mx_gpu_same(op->output, "f32") ? 4 : 2));
        out.push_back(tensor("y", op->output, rows, cols, cols, *b));
    }
    void run(cudaStream_t stream)
    {
        mx_kernel_call call = {
            op,      (uint32_t)in.size(), (uint32_t)out.size(), in.data(), out.data(), 1, 0, 0, stream,
            message, sizeof message};
        if (op->run(&call) != MX_KERNEL_DONE) {
            fprintf(stderr, "%s: %s\n", op->name, message);
            exit(3);
        }
    }
};

static unsigned long long differences(const mx_kernel_tensor &a, const mx_kernel_tensor &b)
{
    unsigned long long *wrong, count;
    CUDA(cudaMalloc(&wrong, sizeof *wrong));
    CUDA(cudaMemset(wrong, 0, sizeof *wrong));
    count_differences<<<2048, 256>>>((const uint8_t *)a.data, (const uint8_t *)b.data, (int64_t)a.bytes,
                                     wrong);
    CUDA(cudaMemcpy(&count, wrong, sizeof count, cudaMemcpyDeviceToHost));
    CUDA(cudaFree(wrong));
    return count + (a.bytes != b.bytes);
}

static int check_large(int64_t rows, int64_t cols)
{
    Problem both(find("quantize-both-e4m3-te-tile"), rows, cols);
    both.run(NULL);
    int bad = 0;
    const char *plain[2] = {"plain-row-e4m3-te-tile", "plain-col-t-e4m3-te-tile"};
    for (int i = 0; i < 2; i++) {
        Problem p(find(plain[i]), rows, cols);
        p.run(NULL);
        CUDA(cudaDeviceSynchronize());
        unsigned long long q = differences(both.out[2 * i], p.out[0]),
                           s = differences(both.out[2 * i + 1], p.out[1]);
        printf(
            "%lld x %lld: quantize-both against %s: %llu codes and %llu scale bytes of %zu and %zu differ\n",
            (long long)rows, (long long)cols, plain[i], q, s, p.out[0].bytes, p.out[1].bytes);
        bad += q || s;
    }
    return bad != 0;
}

/* ---- speed
 * -------------------------------------------------------------------------------------------------------- */

template <class F> static double median_ms(int repeats, F run)
{
    std::vector<cudaEvent_t> at(repeats + 1);
    for (cudaEvent_t &e : at)
        CUDA(cudaEventCreate(&e));
    for (int i = 0; i < 3; i++)
        run();
    CUDA(cudaEventRecord(at[0]));
    for (int i = 0; i < repeats; i++) {
        run();
        CUDA(cudaEventRecord(at[i + 1]));
    }
    CUDA(cudaDeviceSynchronize());
    std::vector<float> ms(repeats);
    for (int i = 0; i < repeats; i++)
        CUDA(cudaEventElapsedTime(&ms[i], at[i], at[i + 1]));
    for (cudaEvent_t e : at)
        CUDA(cudaEventDestroy(e));
    std::sort(ms.begin(), ms.end());
    return ms[repeats / 2];
}

static double copy_rate(size_t bytes, int repeats)
{
    Buffer a(bytes), b(bytes);
    fill<<<2048, 256>>>((uint16_t *)a.data(), (int64_t)bytes / 2, 1);
    double ms = median_ms(
        repeats, [&] { CUDA(cudaMemcpyAsync(b.data(), a.data(), bytes, cudaMemcpyDeviceToDevice)); });
    return 2 * (double)bytes / ms * 1e-9;
}

static void bench(const char *filter, int64_t rows, int64_t cols, int repeats)
{
    double copy = copy_rate((size_t)(rows * cols) * 2, repeats);
    printf("%lld x %lld bf16, copy %.3f TB/s\n", (long long)rows, (long long)cols, copy);
    for (uint32_t i = 0; i < lib->n_ops; i++) {
        const mx_kernel_op *op = &lib->ops[i];
        if (!has(op->name, filter) || has(op->name, "plain") || !has(op->operation, "quantize")) continue;
        Problem p(op, rows, cols);
        double ms = median_ms(repeats, [&] { p.run(NULL); }), rate = p.bytes / ms * 1e-9;
        printf("  %-34s %8.1f us %7.3f TB/s  %.3f of copy\n", op->name, ms * 1e3, rate, rate / copy);
    }
    printf("  copy again %.3f TB/s\n", copy_rate((size_t)(rows * cols) * 2, repeats));
}

int main(int argc, char **argv)
{
    void *handle = argc > 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
    auto describe = handle ? (const mx_kernel_library *(*)(void))dlsym(handle, MX_KERNEL_SYMBOL) : NULL;
    if (!describe) {
        fprintf(stderr, "usage: gpu-selftest LIB.so check|large|bench [FILTER [ROWS COLS [REPEATS]]]: %s\n",
                argc > 2 ? dlerror() : "");
        return 2;
    }
    lib = describe();
    char device[200] = "";
    if (lib->open(device, sizeof device)) return 3;
    printf("%s on %s\n", argv[1], device);
    std::string what = argv[2];
    const char *filter = argc > 3 ? argv[3] : what == "bench" ? "te-tile" : NULL;
    if (what == "check") return check_all(filter);
    if (what == "large") return check_large(70016, 33024);
    bench(filter, argc > 5 ? atoll(argv[4]) : 131072, argc > 5 ? atoll(argv[5]) : 7168,
          argc > 6 ? atoi(argv[6]) : 15);
    return 0;
}
