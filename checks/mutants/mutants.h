/* SPDX-License-Identifier: Apache-2.0
 *
 * mutants.h - the planted faults: name, what was done, the check that must see it ("": any), and words that
 * the named cause must hold ("": the fault has no cause that bits could tell).
 *
 * A new fault is a row here and a line in kernel.c. */
#ifndef MUTANTS_H
#define MUTANTS_H

#define MUTANTS(X)                                                                                           \
    X(ties_away, "ties round away from zero", "codes", "away from zero")                                     \
    X(truncated, "elements are truncated", "codes", "truncated")                                             \
    X(ties_to_zero, "ties round toward zero", "codes", "ties round toward zero")                             \
    X(flush_results, "subnormal codes are flushed to zero", "codes", "subnormal results are flushed")        \
    X(flush_inputs, "subnormal inputs are taken as zero", "codes", "flushed")                                \
    X(flush_scale, "the subnormal quotient of the scale is flushed", "scales", "flushed")                    \
    X(scale_up, "every scale is one too large", "scales", "off by +1")                                       \
    X(scale_down, "every scale is one too small", "scales", "off by -1")                                     \
    X(scale_unfollowed, "the stored scale is one too large, elements are right", "scales", "do not follow")  \
    X(floor_scale, "floor for round-up", "scales", "floor")                                                  \
    X(ceil_scale, "ceil of amax for round-up", "scales", "ceil")                                             \
    X(bf16_amax, "amax is rounded to bf16", "scales", "amax is rounded to bf16")                             \
    X(clamp_before_round, "the clamp looks at the value before rounding", "codes", "before rounding")        \
    X(top_binade, "the top binade saturates", "codes", "top binade")                                         \
    X(double_rounding, "elements pass through fp16", "codes", "double rounding")                             \
    X(nan_lost, "NaN becomes the maximum", "codes", "NaN is lost")                                           \
    X(nan_scale, "NaN in a block makes its scale NaN", "scales", "NaN")                                      \
    X(inf_scale, "Inf in a block gives byte FF", "scales", "FF instead of FE")                               \
    X(negative_zero_lost, "-0 becomes +0", "codes", "negative zero is lost")                                 \
    X(fnuz, "elements are E4M3 FNUZ", "codes", "FNUZ")                                                       \
    X(zero_block, "a zero block gets scale 7F", "scales", "")                                                \
    X(decode_flushes, "dequantise: subnormal codes read as zero", "values", "read as zero")                  \
    X(decode_bias, "dequantise: codes read with bias 8", "values", "factor of 2^-1")                         \
    X(decode_ff_inf, "dequantise: scale byte FF reads as infinity", "values",                                \
      "byte FF are read as infinity")                                                                        \
    X(swapped_nibbles, "the two codes of a byte are swapped", "codes", "nibbles")                            \
    X(wrong_tile_index, "tile-128x4 with its inner rows the wrong way round", "scales", "")                  \
    X(row_major_scales, "scales are row-major where tiles are claimed", "scales", "layout")                  \
    X(wrong_pitch, "rows are read at cols instead of pitch", "codes", "")                                    \
    X(aligned_loads, "the base is taken as aligned to 16 bytes", "codes", "")                                \
    X(neighbour_scale, "the scale of the block before is stored", "scales", "further back")                  \
    X(untouched_tail, "the short last block of the last row is not written", "written", "tail")              \
    X(stale_padding, "padding of tile-128x4 is not written", "written", "stale padding")                     \
    X(garbage_padding, "padding of tile-128x4 repeats the last scale", "padding", "padding")                 \
    X(writes_nothing, "returns without writing", "written", "never written")                                 \
    X(reads_past_row, "amax of a short block looks past the row's end", "pads", "")                          \
    X(writes_past_end, "writes one byte after q", "guards", "")                                              \
    X(writes_before_start, "writes one byte before q", "guards", "")                                         \
    X(writes_far, "writes 8 KiB after q", "runs", "")                                                        \
    X(input_modified, "zeroes -0 in its input", "inputs", "")                                                \
    X(nondeterministic, "every other call rounds ties away", "repeatable", "nondeterministic")               \
    X(keeps_state, "amax of a call enters the next", "", "")                                                 \
    X(device_past_end, "in device memory, writes one byte after q", "guards", "")                            \
    X(device_input, "in device memory, zeroes -0 in its input", "inputs", "")                                \
    X(device_fault, "the device reports an error on a short block", "runs", "")                              \
    X(biased_noise, "stochastic rounding goes up by 1/64 too rarely", "distribution",                        \
      "one-sided bias: rounds toward zero")                                                                  \
    X(repeated_noise, "one random draw for the 32 elements of a block", "distribution", "share a draw")      \
    X(seed_ignored, "the seed does not reach the random draws", "distribution", "the seed is ignored")       \
    X(seed_shifts, "seed and index are only added", "distribution", "seeds only shift it")                   \
    X(noise_unused, "stochastic rounding goes to nearest", "distribution",                                   \
      "no random bits reach the rounding")                                                                   \
    X(crash, "dereferences NULL on a short block", "runs", "")                                               \
    X(aborts, "aborts on NaN", "runs", "")                                                                   \
    X(exits, "calls exit(0) on NaN", "runs", "")                                                             \
    X(hangs, "never returns on a short block", "runs", "")                                                   \
    X(forks, "leaves a child process", "processes", "")                                                      \
    X(daemon_left, "leaves a process in a session of its own", "processes", "")                              \
    X(fork_bomb_return, "forks, and both processes return", "processes", "")

#endif
