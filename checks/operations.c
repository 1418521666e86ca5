/* SPDX-License-Identifier: Apache-2.0 */
#include "operations.h"

#include <string.h>

#define QUANTIZED                                                                                            \
    {"q", PART_CODES, false}, { "scale", PART_SCALES, false }
#define QUANTIZED_T                                                                                          \
    {"qt", PART_CODES_T, false}, { "scalet", PART_SCALES_T, false }
#define SOURCE(name_)                                                                                        \
    {                                                                                                        \
        name_, PART_SOURCE, false                                                                            \
    }
#define FACTORS(n)                                                                                           \
    {n, PART_CODES, false}, { n "_scale", PART_SCALES, false }

static const operation operations[] = {
    {"cast", {SOURCE("x")}, {{"q", PART_CODES, false}}, false, true},
    {"quantize",
     {SOURCE("x"), {"global_amax", PART_PLAIN, true}, {"offsets", PART_PLAIN, true}},
     {QUANTIZED, {"global", PART_PLAIN, true}},
     false,
     false},
    {"quantize-both", {SOURCE("x")}, {QUANTIZED, QUANTIZED_T}, false, false},
    {"dequantize", {QUANTIZED, {"global", PART_PLAIN, true}}, {SOURCE("y")}, false, false},
    {"swiglu-quantize", {SOURCE("gate"), SOURCE("up")}, {QUANTIZED}, false, false},
    {"swiglu-quantize-both", {SOURCE("gate"), SOURCE("up")}, {QUANTIZED, QUANTIZED_T}, false, false},
    {"swiglu-grad-quantize",
     {SOURCE("gate"), SOURCE("up"), SOURCE("dy")},
     {QUANTIZED, QUANTIZED_T},
     false,
     false},
    {"place",
     {SOURCE("grid"), {"offsets", PART_PLAIN, true}},
     {{"packed", PART_PLACED, false}},
     false,
     false},
    {"gemm",
     {FACTORS("a"), FACTORS("b"), {"c", PART_SOURCE, true}, {"bias", PART_PLAIN, true}},
     {SOURCE("d")},
     true,
     false},
    {"grouped-forward",
     {FACTORS("a"), FACTORS("b"), {"offsets", PART_PLAIN, false}},
     {SOURCE("d")},
     true,
     false},
    {"grouped-dgrad",
     {FACTORS("a"), FACTORS("b"), {"offsets", PART_PLAIN, false}},
     {SOURCE("d")},
     true,
     false},
    {"grouped-wgrad",
     {FACTORS("a"), FACTORS("b"), {"offsets", PART_PLAIN, false}},
     {SOURCE("d")},
     true,
     false},
};

const operation *operation_find(const char *name)
{
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        if (!strcmp(name, operations[i].name)) return &operations[i];
    return NULL;
}
