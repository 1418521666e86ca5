/* SPDX-License-Identifier: Apache-2.0
 *
 * A plain CPU kernel, with at most one planted fault: built once for each row of mutants.h with
 * -DMUTANT=name, and once as `control` without any. It shares nothing with the emulator. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mutants.h"
#include "mx_kernel.h"

enum mutant {
    control,
    control_device,
    control_prints,
#define X(name, what, check, cause) name,
    MUTANTS(X)
#undef X
};

#ifndef MUTANT
#define MUTANT control
#endif
#define IS(name) (MUTANT == (name))

static int call_count, device_error;

static uint32_t bits_of(float x)
{
    uint32_t b;
    memcpy(&b, &x, sizeof b);
    return b;
}

static float float_of(uint32_t b)
{
    float x;
    memcpy(&x, &b, sizeof x);
    return x;
}

/* ---- elements ---------------------------------------------------------------------------------------- */

typedef struct element {
    const char *recipe;
    int man_bits, bias;
    uint8_t max, nan, sign;
    float largest;
    int stochastic;
} element;

static const element elements[] = {
    {"cast-e4m3-cuda-sat", 3, 7, 0x7E, 0x7F, 0x80, 448, 0},
    {"cast-e5m2-sr16-sat", 2, 15, 0x7B, 0x7F, 0x80, 57344, 1},
    {"study:e4m3/e8m0/1x32/rceil/sr16", 3, 7, 0x7E, 0x7F, 0x80, 448, 1},
    {"study:e2m1/e8m0/1x32/rceil/sr16", 1, 1, 0x7, 0x7, 0x8, 6, 1},
    {"mxfp8", 3, 7, 0x7E, 0x7F, 0x80, 448, 0},
    {"mxfp8-e5m2", 2, 15, 0x7B, 0x7F, 0x80, 57344, 0},
    {"mxfp4", 1, 1, 0x7, 0x7, 0x8, 6, 0},
};

static const element *element_of(const char *recipe)
{
    size_t i = 0;
    while (i + 1 < sizeof elements / sizeof *elements && strcmp(elements[i].recipe, recipe))
        i++;
    return &elements[i];
}

static int rounds_up(uint32_t rest, uint32_t half, uint32_t kept)
{
    if (IS(truncated)) return 0;
    if (IS(ties_away) || (IS(nondeterministic) && call_count % 2)) return rest >= half;
    if (IS(ties_to_zero)) return rest > half;
    return rest > half || (rest == half && (kept & 1));
}

/* The draw of one element: a hash of its seed and place. */
static struct {
    uint64_t seed, index;
} draw;

static uint64_t mix(uint64_t z)
{
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static uint64_t noise(void)
{
    uint64_t seed = IS(seed_ignored) ? 0 : draw.seed,
             index = IS(repeated_noise) ? draw.index / 32 : draw.index;
    if (IS(seed_shifts)) return mix((seed + index) * 0x9E3779B97F4A7C15u);
    return mix(mix(seed + 0x9E3779B97F4A7C15u) + index * 0x9E3779B97F4A7C15u);
}

/* m in units of 2^-shift, rounded up where the discarded part and the draw together make a unit. */
static uint32_t rounded_by_noise(uint32_t m, int shift)
{
    if (shift > 60) return 0;
    uint64_t unit = (uint64_t)1 << shift, r = noise() >> (64 - shift);
    if (IS(noise_unused)) r = unit / 2;
    if (IS(biased_noise)) r = r > unit / 64 ? r - unit / 64 : 0;
    return (uint32_t)((m + r) >> shift);
}

static float through_f16(float x)
{
    float quantum = 0x1p-24f, magnitude = fabsf(x);
    if (!(magnitude < 65504)) return x;
    if (magnitude >= 0x1p-14f) quantum = ldexpf(1, ilogbf(magnitude) - 10);
    return rintf(x / quantum) * quantum;
}

static uint8_t encode(const element *e, float x)
{
    int bias = e->bias + (IS(fnuz) && e->bias == 7), emin = 1 - bias;
    if (IS(double_rounding)) x = through_f16(x);
    uint32_t b = bits_of(x), magnitude = b & 0x7FFFFFFF;
    uint8_t sign = b >> 31 ? e->sign : 0;
    if (magnitude > 0x7F800000) return IS(fnuz) && e->bias == 7 ? 0x80 : IS(nan_lost) ? e->max : e->nan;
    int exponent = (int)(magnitude >> 23) - 127, shift = 23 - e->man_bits;
    uint32_t m = (magnitude & 0x7FFFFF) | (magnitude >> 23 ? 0x800000 : 0);
    if (exponent < emin) shift += emin - exponent;
    uint32_t code = 0;
    if (e->stochastic)
        code = rounded_by_noise(m, shift);
    else if (shift <= 24) {
        uint32_t kept = m >> shift, half = 1u << (shift - 1), rest = m & (2 * half - 1);
        code = kept + (uint32_t)rounds_up(rest, half, kept);
    }
    if (exponent > emin) code += (uint32_t)(exponent - emin) << e->man_bits;
    if (IS(flush_results) && code < 1u << e->man_bits) code = 0;
    if (IS(clamp_before_round) && x > -2 * 256.0f && x < 2 * 256.0f && e->bias == 7 && code > e->max)
        return sign | 0x7F;
    if (IS(top_binade) && code >= (uint32_t)(e->max >> e->man_bits << e->man_bits)) code = e->max;
    uint32_t max = e->max + (IS(fnuz) && e->bias == 7 ? 1u : 0u);
    if (code > max) code = max;
    if (code == 0 && (IS(negative_zero_lost) || (IS(fnuz) && e->bias == 7))) sign = 0;
    return sign | (uint8_t)code;
}

/* ---- blocks ------------------------------------------------------------------------------------------ */

static uint8_t scale_of(const element *e, float amax)
{
    if (IS(bf16_amax)) {
        uint32_t b = bits_of(amax);
        if (b < 0x7F800000) amax = float_of((b + 0x7FFF + (b >> 16 & 1)) & 0xFFFF0000);
    }
    uint32_t p = bits_of(amax * (1 / e->largest)), s;
    if (IS(flush_scale) && p < 0x00800000) p = 0;
    if (amax != amax) return 0xFF;
    if (isinf(amax)) return IS(inf_scale) ? 0xFF : 0xFE;
    if (IS(zero_block) && amax == 0) return 0x7F;
    s = p >> 23;
    if (!IS(floor_scale) && (p & 0x7FFFFF) && p > 0x00400000) s++;
    if (IS(ceil_scale)) {
        int emax = e->bias == 15 ? 15 : e->bias == 7 ? 8 : 2, up = (bits_of(amax) & 0x7FFFFF) != 0;
        int exponent = (int)(bits_of(amax) >> 23) + up - emax;
        s = exponent < 0 ? 0 : (uint32_t)exponent;
    }
    if (IS(scale_up) && s < 0xFE) s++;
    if (IS(scale_down) && s > 0) s--;
    return (uint8_t)s;
}

/* Element i of x, whose base may be unaligned. */
static float load(const mx_kernel_tensor *t, int64_t i)
{
    const char *base = t->data;
    if (IS(aligned_loads)) base -= (uintptr_t)base & 15;
    if (!strcmp(t->dtype, "f32")) {
        float x;
        memcpy(&x, base + 4 * i, sizeof x);
        return IS(flush_inputs) && fabsf(x) < 0x1p-126f ? copysignf(0, x) : x;
    }
    uint16_t h;
    memcpy(&h, base + 2 * i, sizeof h);
    return float_of((uint32_t)h << 16);
}

static float block_amax(const mx_kernel_tensor *x, int64_t start, int64_t n, int64_t wide)
{
    static float before;
    float amax = IS(keeps_state) ? before : 0;
    for (int64_t i = 0; i < (IS(reads_past_row) ? wide : n); i++) {
        float v = fabsf(load(x, start + i));
        if (IS(nan_scale) && v != v) return v;
        if (v > amax) amax = v;
    }
    before = amax;
    return amax;
}

static void misbehave(const mx_kernel_tensor *x, int64_t n, float first)
{
    static void *volatile nowhere;
    if (IS(device_fault) && n % 32) device_error = 700;
    if (IS(crash) && n % 32) *(volatile char *)nowhere = 1;
    if (IS(hangs) && n % 32)
        while (1)
            (void)*(volatile int *)&call_count;
    if (IS(aborts) && first != first) abort();
    if (IS(exits) && first != first) exit(0);
    if ((IS(input_modified) || IS(device_input)) && bits_of(first) == 0x80000000) memset(x->data, 0, 4);
}

static void put(uint8_t *q, int64_t i, uint8_t code, int packed)
{
    if (!packed)
        q[i] = code;
    else {
        int high = (i & 1) ^ IS(swapped_nibbles);
        q[i / 2] = (uint8_t)(high ? (q[i / 2] & 0x0F) | code << 4 : (q[i / 2] & 0xF0) | code);
    }
}

/* Codes of one block; the row of codes starts at `row` units of q. */
static void quantize_block(const element *e, const mx_kernel_tensor *x, int64_t start, int64_t n, uint8_t *q,
                           int64_t row, int packed, uint8_t s)
{
    float multiplier = s == 0xFF ? NAN : ldexpf(1, 127 - s);
    for (int64_t i = 0; i < n; i++) {
        float v = load(x, start + i) * multiplier;
        draw.index = (uint64_t)(start + i);
        put(q, row + i, encode(e, v), packed);
    }
}

/* ---- operations -------------------------------------------------------------------------------------- */

static int64_t tile_offset(int64_t r, int64_t c, int64_t cols)
{
    int64_t tiles = (cols + 3) / 4, tile = (r / 128 * tiles + c / 4) * 512;
    if (IS(wrong_tile_index)) return tile + r % 128 * 4 + c % 4;
    return tile + r % 32 * 16 + r % 128 / 32 * 4 + c % 4;
}

static void leave_a_child(void)
{
    if (IS(forks) && fork() == 0) {
        sleep(30);
        _exit(0);
    }
    if (IS(daemon_left) && fork() == 0) {
        setsid();
        if (fork() == 0) sleep(30);
        _exit(0);
    }
    if (IS(fork_bomb_return) && fork() == 0) sleep(1);
}

static int quantize(const mx_kernel_call *c)
{
    const mx_kernel_tensor *x = &c->in[0];
    const element *e = element_of(c->op->recipe);
    uint8_t *q = c->out[0].data, *scale = c->out[1].data;
    int64_t rows = x->shape[0], cols = x->shape[1], blocks = (cols + 31) / 32, row_units = cols;
    int tiled = c->op->scale_layout != NULL, packed = c->op->data_layout != NULL;
    if (packed) row_units = (cols + 1) / 2 * 2;
    call_count++;
    draw.seed = c->seed;
    for (int i = 0; IS(control_prints) && i < 5000; i++)
        printf("this kernel tells the world that this is line %d\n", i);
    leave_a_child();
    if (IS(writes_nothing)) return MX_KERNEL_DONE;
    if (tiled && !IS(stale_padding)) memset(scale, 0, c->out[1].bytes);
    if (packed) memset(q, 0, c->out[0].bytes);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t b = 0; b < blocks; b++) {
            int64_t n = b + 1 < blocks ? 32 : cols - 32 * b;
            int64_t start = r * (IS(wrong_pitch) ? cols : x->pitch) + 32 * b;
            misbehave(x, n, load(x, start));
            if (IS(untouched_tail) && r + 1 == rows && n < 32) continue;
            uint8_t s = scale_of(e, block_amax(x, start, n, 32));
            quantize_block(e, x, start, n, q, r * row_units + 32 * b, packed, s);
            if (IS(scale_unfollowed) && s < 0xFE) s++;
            int64_t index = r * blocks + b;
            for (int64_t to = index; to <= index + IS(neighbour_scale) && to < rows * blocks; to++)
                if (to > index || index == 0 || !IS(neighbour_scale))
                    scale[tiled && !IS(row_major_scales) ? tile_offset(to / blocks, to % blocks, blocks)
                                                         : to] = s;
            if (IS(garbage_padding) && tiled && r + 1 == rows && b + 1 == blocks)
                scale[c->out[1].bytes - 1] |= s;
        }
    if (IS(writes_past_end) || IS(device_past_end)) q[c->out[0].bytes] ^= 0x11;
    if (IS(writes_before_start)) q[-1] ^= 0x11;
    if (IS(writes_far)) ((volatile uint8_t *)q)[c->out[0].bytes + 8192] = 1;
    return MX_KERNEL_DONE;
}

static int cast(const mx_kernel_call *c)
{
    const mx_kernel_tensor *x = &c->in[0];
    call_count++;
    draw.seed = c->seed;
    for (int64_t i = 0; i < x->shape[0] && !IS(writes_nothing); i++) {
        draw.index = (uint64_t)i;
        ((uint8_t *)c->out[0].data)[i] = encode(element_of(c->op->recipe), load(x, i));
    }
    return MX_KERNEL_DONE;
}

/* The value of an E4M3 code. */
static float decode(uint8_t code)
{
    int exponent = code >> 3 & 15, m = code & 7;
    float x = exponent ? ldexpf((float)(8 + m), exponent - 10) : ldexpf((float)m, -9);
    if (IS(decode_flushes) && !exponent) x = 0;
    if (IS(decode_bias)) x /= 2;
    if ((code & 0x7F) == 0x7F) x = NAN;
    return code & 0x80 ? -x : x;
}

static int dequantize(const mx_kernel_call *c)
{
    const uint8_t *q = c->in[0].data, *scale = c->in[1].data;
    float *y = c->out[0].data;
    int64_t cols = c->out[0].shape[1], blocks = (cols + 31) / 32;
    for (int64_t i = 0; i < c->out[0].shape[0] * cols; i++) {
        uint8_t s = scale[i / cols * blocks + i % cols / 32];
        float factor = s == 0xFF ? (IS(decode_ff_inf) ? INFINITY : NAN) : ldexpf(1, s - 127);
        if (!IS(writes_nothing)) y[i] = decode(q[i]) * factor;
    }
    return MX_KERNEL_DONE;
}

static const mx_kernel_op ops[] = {
    {.name = "dequantize", .operation = "dequantize", .recipe = "mxfp8", .output = "f32", .run = dequantize},
    {.name = "cast", .operation = "cast", .recipe = "cast-e4m3-cuda-sat", .inputs = "f32,bf16", .run = cast},
    {.name = "cast-noise",
     .operation = "cast",
     .recipe = "cast-e5m2-sr16-sat",
     .inputs = "f32,bf16",
     .run = cast},
    {.name = "mxfp8-noise",
     .operation = "quantize",
     .recipe = "study:e4m3/e8m0/1x32/rceil/sr16",
     .inputs = "f32,bf16",
     .run = quantize},
    {.name = "mxfp4-noise",
     .operation = "quantize",
     .recipe = "study:e2m1/e8m0/1x32/rceil/sr16",
     .inputs = "f32",
     .run = quantize},
    {.name = "mxfp8", .operation = "quantize", .recipe = "mxfp8", .inputs = "f32,bf16", .run = quantize},
    {.name = "mxfp8-e5m2",
     .operation = "quantize",
     .recipe = "mxfp8-e5m2",
     .inputs = "f32,bf16",
     .run = quantize},
    {.name = "mxfp8-tiled",
     .operation = "quantize",
     .recipe = "mxfp8",
     .inputs = "f32,bf16",
     .scale_layout = "tile-128x4",
     .run = quantize},
    {.name = "mxfp4-packed",
     .operation = "quantize",
     .recipe = "mxfp4",
     .inputs = "f32,bf16",
     .data_layout = "fp4-low-first",
     .run = quantize},
};

/* ---- a device that is none: memory of its own, a sticky error ------------------------------------------ */

static int device_open(char *device, size_t size)
{
    strncpy(device, "a pretended device", size - 1);
    return 0;
}

static int device_allocate(void **p, size_t bytes) { return (*p = malloc(bytes)) == NULL; }
static int device_release(void *p) { return free(p), 0; }
static int device_copy(void *to, const void *from, size_t bytes)
{
    return memcpy(to, from, bytes), device_error;
}
static int device_synchronize(void) { return device_error; }
static const char *device_text(int error)
{
    return error == 700 ? "an illegal memory access was encountered" : "?";
}

#define DEVICE_MEMORY                                                                                        \
    device_open, device_allocate, device_release, device_copy, device_copy, device_synchronize, device_text
#define ON_DEVICE (IS(control_device) || IS(device_past_end) || IS(device_input) || IS(device_fault))

#define TEXT_OF(x) #x
#define TEXT(x)    TEXT_OF(x)

const mx_kernel_library *mx_kernel_describe(void)
{
    enum { N_OPS = sizeof ops / sizeof *ops };
    static const mx_kernel_library on_host = {
        MX_KERNEL_ABI, TEXT(MUTANT), "1", N_OPS, ops, 0, 0, 0, 0, 0, 0, 0};
    static const mx_kernel_library on_device = {MX_KERNEL_ABI, TEXT(MUTANT), "1", N_OPS, ops, DEVICE_MEMORY};
    return ON_DEVICE ? &on_device : &on_host;
}
