/* SPDX-License-Identifier: Apache-2.0
 * The format table and decoding. A new format is a new row. */
#include <math.h>
#include <string.h>

#include "mx.h"

#define OCP_MX  "OCP Microscaling Formats (MX) v1.0"
#define OCP_FP8 "OCP 8-bit Floating Point Specification (OFP8) v1.0"
#define FNUZ    "Noune et al., 8-bit Numerical Formats for Deep Neural Networks, arXiv 2206.02915"

static const mx_format formats[] = {
    /* name, kind, specials, signed, bits, exp, man, bias, max, nan, inf, dtype, source */
    {"e4m3", MX_KIND_FLOAT, MX_SPECIALS_ALLONES, true, 8, 4, 3, 7, 0x7E, 0x7F, 0, "F8_E4M3", OCP_FP8},
    {"e5m2", MX_KIND_FLOAT, MX_SPECIALS_IEEE, true, 8, 5, 2, 15, 0x7B, 0x7F, 0x7C, "F8_E5M2", OCP_FP8},
    {"e3m2", MX_KIND_FLOAT, MX_SPECIALS_NONE, true, 6, 3, 2, 3, 0x1F, 0, 0, "U8", OCP_MX " 5.3.2"},
    {"e2m3", MX_KIND_FLOAT, MX_SPECIALS_NONE, true, 6, 2, 3, 1, 0x1F, 0, 0, "U8", OCP_MX " 5.3.2"},
    {"e2m1", MX_KIND_FLOAT, MX_SPECIALS_NONE, true, 4, 2, 1, 1, 0x7, 0, 0, "U8", OCP_MX " 5.3.3"},
    {"int8", MX_KIND_FIXED, MX_SPECIALS_NONE, true, 8, 0, 6, 0, 0x7F, 0, 0, "I8", OCP_MX " 5.3.4"},
    {"e8m0", MX_KIND_EXPONENT, MX_SPECIALS_ALLONES, false, 8, 8, 0, 127, 0xFE, 0xFF, 0, "F8_E8M0",
     OCP_MX " 5.4.1"},
    {"ue4m3", MX_KIND_FLOAT, MX_SPECIALS_ALLONES, false, 7, 4, 3, 7, 0x7E, 0x7F, 0, "F8_E4M3",
     "PTX ISA 9.0, .ue4m3 (tcgen05.mma kind::mxf4nvf4)"},
    {"e4m3fnuz", MX_KIND_FLOAT, MX_SPECIALS_NEGZERO, true, 8, 4, 3, 8, 0x7F, 0x80, 0, "U8", FNUZ},
    {"e5m2fnuz", MX_KIND_FLOAT, MX_SPECIALS_NEGZERO, true, 8, 5, 2, 16, 0x7F, 0x80, 0, "U8", FNUZ},
    {"bf16", MX_KIND_FLOAT, MX_SPECIALS_IEEE, true, 16, 8, 7, 127, 0x7F7F, 0x7FC0, 0x7F80, "BF16",
     "first 16 bits of IEEE 754 binary32"},
    {"f16", MX_KIND_FLOAT, MX_SPECIALS_IEEE, true, 16, 5, 10, 15, 0x7BFF, 0x7E00, 0x7C00, "F16",
     "IEEE 754-2019 binary16"},
    {"tf32", MX_KIND_FLOAT, MX_SPECIALS_IEEE, true, 19, 8, 10, 127, 0x3FBFF, 0x3FE00, 0x3FC00, "U32",
     "PTX ISA 9.0, .tf32: first 19 bits of binary32"},
    {"f32", MX_KIND_FLOAT, MX_SPECIALS_IEEE, true, 32, 8, 23, 127, 0x7F7FFFFF, 0x7FC00000, 0x7F800000, "F32",
     "IEEE 754-2019 binary32"},
};

size_t mx_format_count(void) { return sizeof formats / sizeof *formats; }

const mx_format *mx_format_at(size_t i) { return i < mx_format_count() ? &formats[i] : NULL; }

const mx_format *mx_format_find(const char *name)
{
    for (size_t i = 0; name && i < mx_format_count(); i++)
        if (!strcmp(formats[i].name, name)) return &formats[i];
    return NULL;
}

static uint32_t sign_bit(const mx_format *f) { return f->is_signed ? (uint32_t)1 << (f->bits - 1) : 0; }

static uint32_t code_mask(const mx_format *f) { return (uint32_t)(((uint64_t)1 << f->bits) - 1); }

bool mx_code_is_nan(const mx_format *f, uint32_t code)
{
    uint32_t magnitude = code & code_mask(f) & ~sign_bit(f);
    switch (f->specials) {
    case MX_SPECIALS_NONE: return false;
    case MX_SPECIALS_IEEE: return magnitude > f->inf_code;
    case MX_SPECIALS_ALLONES: return magnitude == f->nan_code;
    case MX_SPECIALS_NEGZERO: return (code & code_mask(f)) == f->nan_code;
    }
    return false;
}

bool mx_code_is_inf(const mx_format *f, uint32_t code)
{
    return f->specials == MX_SPECIALS_IEEE && (code & code_mask(f) & ~sign_bit(f)) == f->inf_code;
}

/* 2^k for any k that the formats need (-149 to 127): always a normal double. */
static double power_of_two(int k)
{
    uint64_t bits = (uint64_t)(k + 1023) << 52;
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

double mx_decode(const mx_format *f, uint32_t code)
{
    code &= code_mask(f);
    if (mx_code_is_nan(f, code)) return copysign((double)NAN, code & sign_bit(f) ? -1.0 : 1.0);
    if (f->kind == MX_KIND_EXPONENT) return power_of_two((int)code - f->bias);
    if (f->kind == MX_KIND_FIXED) return (double)(int8_t)code * power_of_two(-f->man_bits);

    double sign = code & sign_bit(f) ? -1.0 : 1.0;
    uint32_t magnitude = code & ~sign_bit(f);
    if (mx_code_is_inf(f, code)) return sign * (double)INFINITY;
    int exponent = (int)(magnitude >> f->man_bits);
    uint32_t mantissa = magnitude & (((uint32_t)1 << f->man_bits) - 1);
    if (exponent)
        mantissa |= (uint32_t)1 << f->man_bits;
    else
        exponent = 1;
    return sign * (double)mantissa * power_of_two(exponent - f->bias - f->man_bits);
}

double mx_format_max(const mx_format *f) { return mx_decode(f, f->max_code); }

int mx_format_emax(const mx_format *f) { return ilogb(mx_format_max(f)); }

int mx_format_emin(const mx_format *f)
{
    if (f->kind == MX_KIND_FIXED) return -f->man_bits;
    return f->kind == MX_KIND_EXPONENT ? -f->bias : 1 - f->bias;
}

double mx_format_tiny(const mx_format *f) { return mx_decode(f, f->kind == MX_KIND_EXPONENT ? 0 : 1); }
