/* SPDX-License-Identifier: Apache-2.0
 * Flags of cases. A new reason for a case is a new row. */
#include <string.h>

#include "case.h"
#include "flags.h"

#define OFP8    "OCP OFP8 v1.0"
#define MX_SPEC "OCP MX v1.0"
#define PTX     "PTX ISA 9.0"

static const mx_flag general[] = {
    /* name, kind, effect, source */
    {"midpoint", "rounding", "exact ties go up, down or to zero instead of to the even code",
     OFP8 ", IEEE 754-2019 4.3.1"},
    {"midpoint-neighbour", "rounding",
     "a value one step off a tie is first rounded to a wider type and lands on the tie (double rounding)",
     "IEEE 754-2019 4.3.1; bug-B01, bug-B11"},
    {"all-codes", "rounding", "some codes do not survive decoding and encoding again", "bug-B08, bug-B26"},
    {"subnormal", "subnormal",
     "results below the smallest normal are flushed to zero or get an implicit leading one",
     OFP8 "; bug-B12, bug-B14"},
    {"top-binade", "saturation",
     "the top exponent is taken for Inf and NaN, so that values from 256 on saturate early",
     OFP8 ": E4M3 uses its top binade; bug-B19"},
    {"overflow-edge", "saturation",
     "the largest value that rounds down to the maximum, and the next, are judged on the wrong side",
     OFP8 "; bug-B21"},
    {"signed-zero", "sign", "-0 loses its sign, or becomes NaN where a format has no -0", OFP8 "; bug-B28"},
    {"nan", "special", "NaN becomes a number, loses its sign against the recipe, or spoils the block scale",
     OFP8 ", " MX_SPEC " 6.3"},
    {"inf", "special", "infinity is not saturated, or not kept, as the recipe says; or sets a scale of 0xFF",
     OFP8 "; bug-B25"},
    {"every-scale-byte", "scale code",
     "scale bytes 0x00, 0xFE, 0xFF or subnormal E4M3 scales are decoded by a shift that does not hold there",
     MX_SPEC " 5.4.1; bug-B44, bug-B17"},
    {"amax-power-of-two", "scale selection",
     "amax at 2^k and one ulp beside it gets the neighbouring scale: log2 taken in floating point",
     MX_SPEC " 6.3"},
    {"rule-threshold", "scale selection",
     "amax at the point where the scale rule steps: floor, ceil, even and round-up part here",
     "bug-B39; PTX cvt.rp.satfinite.ue8m0x2"},
    {"zero-block", "zero", "an all-zero block gives NaN (0/0) or an infinite scale", "bug-B63, bug-B64"},
    {"tiny-block", "zero",
     "amax in the f32 subnormals, or so small that the scale underflows: block lost, or reciprocal infinite",
     "bug-B67, bug-B68"},
    {"tail", "tail", "the short last block is skipped, or reads past the end of the row for its amax",
     "bug-B69, bug-B82"},
    {"odd-size", "tail", "sizes that are no multiple of a vector, warp or tile take a wrong path",
     "bug-B69, bug-B71"},
    {"pitched", "stride",
     "rows with space between them are read as if dense, or written with the input's pitch", "bug-B87"},
    {"unaligned", "stride", "vector loads on a base that is not 16-byte aligned fault or read shifted data",
     "CUDA C++ Programming Guide, device memory accesses; bug-B87"},
    {"empty", "empty", "zero rows or columns: a launch of no blocks fails, or outputs are written anyway",
     "bug-B91"},
    {"empty-group", "empty", "an expert without tokens leaves its output unwritten", "bug-B91"},
    {"one-row-group", "empty", "an expert with one token: most of its tile is padding that must not count",
     "bug-B93"},
    {"padding", "padding",
     "scale tiles are padded to 128 x 4: stale pads reach real rows, or real rows land in the padding",
     PTX " tcgen05.mma scale factor layout; bug-B69, bug-B78"},
    {"realistic-normal", "data", "normally distributed values, as activations and weights mostly are",
     "counter-based generator, random.h"},
    {"heavy-tail", "data", "a few values dominate their block, the rest falls into subnormals and zero",
     "counter-based generator, random.h"},
    {"outlier-channel", "data", "whole columns are large, as in activations of large language models",
     "Dettmers et al., LLM.int8(), arXiv 2208.07339"},
    {"tie-away", "rounding",
     "a cast that must round ties away from zero, toward zero or directed uses another",
     "IEEE 754-2019 4.3; bug-B09"},
    {"stochastic", "rounding", "the random bits are not applied at the discarded fraction's scale",
     "bug-B99"},
    {"global-scale", "scale",
     "the second-level scale of NVFP4: order of divisions, its zero and its overflow", "bug-B63, bug-B67"},
    {"nibble-order", "packing", "two 4-bit codes of a byte are swapped", "bug-B107"},
    {"scale-layout", "layout", "the scale of one block is read for another", "bug-B72, bug-B76"},
    {"transposed", "transposition", "the columnwise copy is scrambled or scaled along the wrong axis",
     "bug-B94, bug-B96"},
    {"large-offset", "index overflow", "offsets past 2^31 wrap in 32-bit arithmetic", "bug-B88, bug-B89"},
    {"block-scales", "scale index",
     "a scale is taken from the block beside, from another row, or from the other operand: every block has a "
     "power of two of its own, so that the fault shows as an integer",
     "bug-B76, bug-B82"},
    {"one-hot-scale", "scale index", "one scale alone is not 1: does a row change, or a column, or nothing",
     "bug-B76"},
    {"k-tail", "tail", "lanes behind the last whole tile of K are dropped, or added twice",
     "bug-B82, bug-B84"},
    {"row-prefix", "tail", "results of a row depend on how many other rows there are", "bug-B71"},
    {"conservation", "accumulation", "ones times ones must count K: mass is lost or counted twice",
     "bug-B23, bug-B109"},
    {"split-k", "split-K", "partial sums of slices are lost, or scaled as slice 0 is", "bug-B86, bug-B106"},
    {"epilogue", "epilogue", "alpha, beta, c or bias are left out at some sizes", "bug-B77"},
    {"waves", "tail", "tiles of a later wave use what an earlier one left behind", "bug-B86"},
    {"expert-groups", "layout", "an expert's rows meet another expert's matrix, scales or neighbours' rows",
     "bug-B91, bug-B93"},
    {"accumulation", "accumulation", "products are added with fewer bits, or in another order, than claimed",
     "bug-B101"},
    {"recorded", "silicon", "what real hardware answered to this input", "vectors/seen/"},
};
enum { N_GENERAL = sizeof general / sizeof *general };

size_t mx_flag_count(void) { return N_GENERAL + mx_bug_flag_count; }

const mx_flag *mx_flag_row(size_t i)
{
    if (i >= mx_flag_count()) return NULL;
    return i < N_GENERAL ? &general[i] : &mx_bug_flags[i - N_GENERAL];
}

const mx_flag *mx_flag_find(const char *name)
{
    for (size_t i = 0; i < mx_flag_count(); i++)
        if (!strcmp(mx_flag_row(i)->name, name)) return mx_flag_row(i);
    return NULL;
}

const char *mx_flag_text(const char *flag)
{
    const mx_flag *f = mx_flag_find(flag);
    return f ? f->effect : NULL;
}

const char *mx_flag_at(size_t i)
{
    const mx_flag *f = mx_flag_row(i);
    return f ? f->name : NULL;
}
