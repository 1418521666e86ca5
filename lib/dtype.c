/* SPDX-License-Identifier: Apache-2.0
 * The plain machine types, and the formats seen as stored types. */
#include <string.h>

#include "dtype.h"

/* Names of safetensors: github.com/huggingface/safetensors, safetensors/src/tensor.rs, enum Dtype. */
static const mx_dtype plain[] = {
    {"u8", "U8", 1, MX_NUMBER_UNSIGNED, NULL},   {"i8", "I8", 1, MX_NUMBER_SIGNED, NULL},
    {"u16", "U16", 2, MX_NUMBER_UNSIGNED, NULL}, {"i16", "I16", 2, MX_NUMBER_SIGNED, NULL},
    {"u32", "U32", 4, MX_NUMBER_UNSIGNED, NULL}, {"i32", "I32", 4, MX_NUMBER_SIGNED, NULL},
    {"u64", "U64", 8, MX_NUMBER_UNSIGNED, NULL}, {"i64", "I64", 8, MX_NUMBER_SIGNED, NULL},
    {"f64", "F64", 8, MX_NUMBER_DOUBLE, NULL},   {"bool", "BOOL", 1, MX_NUMBER_UNSIGNED, NULL},
};
enum { N_PLAIN = sizeof plain / sizeof *plain };

/* Stored names that newer versions of safetensors know and our format rows do not write. */
static const char *const aliases[][2] = {{"F8_E4M3FNUZ", "e4m3fnuz"}, {"F8_E5M2FNUZ", "e5m2fnuz"}};

/* numpy.lib.format: byte order, kind, size. "=" never appears in files; big-endian is refused by name. */
static const char *const npy_names[][2] = {
    {"<f2", "f16"},  {"<f4", "f32"}, {"<f8", "f64"},  {"|u1", "u8"},   {"|i1", "i8"},  {"|b1", "bool"},
    {"<u2", "bf16"}, {"<i2", "i16"}, {"<u4", "u32"},  {"<i4", "i32"},  {"<u8", "u64"}, {"<i8", "i64"},
    {"|V1", "u8"},   {"<V1", "u8"},  {"|V2", "bf16"}, {"<V2", "bf16"}, {"<f1", "u8"},  {"|f1", "u8"},
};

static mx_dtype of_format(const mx_format *f)
{
    return (mx_dtype){f->name, f->dtype,
                      (uint8_t)(f->bits <= 8    ? 1
                                : f->bits <= 16 ? 2
                                                : 4),
                      MX_NUMBER_FORMAT, f};
}

bool mx_dtype_find(const char *name, mx_dtype *out)
{
    const mx_format *f = mx_format_find(name);
    if (f) return *out = of_format(f), true;
    for (int i = 0; name && i < N_PLAIN; i++)
        if (!strcmp(plain[i].name, name)) return *out = plain[i], true;
    return false;
}

bool mx_dtype_of_safetensors(const char *name, mx_dtype *out)
{
    for (int i = 0; i < N_PLAIN; i++)
        if (!strcmp(plain[i].safetensors, name)) return *out = plain[i], true;
    for (size_t i = 0; i < mx_format_count(); i++)
        if (!strcmp(mx_format_at(i)->dtype, name)) return *out = of_format(mx_format_at(i)), true;
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (!strcmp(aliases[i][0], name)) return mx_dtype_find(aliases[i][1], out);
    return false;
}

bool mx_dtype_of_npy(const char *descr, mx_dtype *out)
{
    for (size_t i = 0; i < sizeof npy_names / sizeof *npy_names; i++)
        if (!strcmp(npy_names[i][0], descr)) return mx_dtype_find(npy_names[i][1], out);
    return false;
}

const char *mx_dtype_npy(const mx_dtype *d)
{
    for (size_t i = 0; i < sizeof npy_names / sizeof *npy_names; i++)
        if (!strcmp(npy_names[i][1], d->name)) return npy_names[i][0];
    return d->bytes == 1 ? "|u1" : d->bytes == 2 ? "<u2" : "<u4";
}

bool mx_dtype_may_be(const mx_dtype *stored, const mx_dtype *as)
{
    return stored->bytes == as->bytes && !strcmp(stored->safetensors, as->safetensors);
}

uint64_t mx_dtype_bits(const mx_dtype *d, const void *data, int64_t i)
{
    const unsigned char *p = (const unsigned char *)data + (size_t)i * d->bytes;
    uint64_t bits = 0;
    for (int b = d->bytes - 1; b >= 0; b--)
        bits = bits << 8 | p[b];
    return bits;
}

double mx_dtype_value(const mx_dtype *d, uint64_t bits)
{
    double value;
    switch (d->number) {
    case MX_NUMBER_FORMAT: return mx_decode(d->format, (uint32_t)bits);
    case MX_NUMBER_UNSIGNED: return (double)bits;
    case MX_NUMBER_SIGNED: return (double)((int64_t)(bits << (64 - 8 * d->bytes)) >> (64 - 8 * d->bytes));
    case MX_NUMBER_DOUBLE: break;
    }
    memcpy(&value, &bits, sizeof value);
    return value;
}
