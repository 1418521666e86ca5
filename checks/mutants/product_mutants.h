/* SPDX-License-Identifier: Apache-2.0
 *
 * product_mutants.h - faults planted in product.c: columns as in mutants.h. A new fault is a row here and a
 * line in product.c. */
#ifndef PRODUCT_MUTANTS_H
#define PRODUCT_MUTANTS_H

#define PRODUCT_MUTANTS(X)                                                                                   \
    X(neighbour_block, "a's scale of the next block of K", "product", "neighbouring block (+1 along K)")     \
    X(neighbour_block_b, "b's scale of the block of K before", "product", "neighbouring block (-1 along K)") \
    X(scale_of_row_zero, "b's scale of the row before", "product", "neighbouring row (-1)")                  \
    X(first_block, "one scale for all of K", "product", "scale of block 0")                                  \
    X(slice_scales, "the second slice of K uses the scales of the first", "product", "scales of slice 0")    \
    X(k_tail_dropped, "K behind whole tiles of 16 is dropped", "product", "tiles of 16 lanes is dropped")    \
    X(k_tail_doubled, "K behind whole tiles of 16 counts twice", "product", "16 lanes is counted twice")     \
    X(half_of_k, "odd lanes are left out", "product", "k mod 2 = 1 are left out")                            \
    X(swapped_scales, "the scales of a and b are swapped", "product", "swapped")                             \
    X(scale_as_number, "scale bytes are plain numbers", "product", "plain numbers")                          \
    X(scale_ignored, "b's scales are not applied", "product", "not applied, of b")                           \
    X(zero_at_00, "byte 00 is zero, byte FF is infinity", "product", "byte 00 is taken for zero")            \
    X(narrow_sum, "the accumulator keeps 14 bits", "product", "keeps 14 bits")                               \
    X(bf16_sum, "the accumulator is bf16", "product", "keeps 8 bits")                                        \
    X(order_reversed, "K is walked from its end", "product", "descending")                                   \
    X(order_by_rows, "K is walked backwards where rows are few", "rows", "descending order")                 \
    X(cut_output, "bf16 outputs are cut, not rounded", "product", "cut, not rounded, to the output")         \
    X(expert_off, "expert e takes the matrix of e + 1", "product", "expert +1 beside it")                    \
    X(expert_scales_off, "expert e takes the scales of e + 1", "product", "scales of the expert +1")         \
    X(group_off, "groups begin one row late", "product", "lie +1 off")                                       \
    X(empty_group_skipped, "an expert without tokens gets no zeros", "written", "not written")               \
    X(stale_accumulator, "sums start from what the output held", "pads", "start from what the output held")  \
    X(lost_slice, "two slices of K race: one of them is lost", "repeatable", "race")                         \
    X(one_slice_only, "the first slice of K is overwritten by the second", "product", "missing reduction")   \
    X(product_transposed, "d is written transposed", "product", "transposed")                                \
    X(bias_lost, "no bias where K is no multiple of 128", "product", "bias is missing")                      \
    X(beta_lost, "beta is taken for 1", "product", "beta is ignored")                                        \
    X(nan_dropped, "NaN elements count as zero", "product", "NaN elements count as zero")                    \
    X(few_rows_wrong, "fewer than 32 rows: the last one is skipped", "written", "")                          \
    X(all_zero, "zeros, whatever the operands", "product", "whole output is zero")                           \
    X(sign_lost, "the sign of every result is flipped", "product", "sign of every output is inverted")

#endif
