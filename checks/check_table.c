/* SPDX-License-Identifier: Apache-2.0
 * The checks, in the order in which a reader wants to hear of a fault: what did not run at all, what
 * touched memory, what changes from run to run, then bits. */
#include "trial.h"

extern const check check_runs, check_processes, check_guards, check_inputs, check_written, check_repeatable,
    check_pads, check_padding, check_global, check_scales, check_codes, check_scales_t, check_codes_t,
    check_values, check_distribution, check_product, check_claim, check_rows;

const check *const checks[] = {
    &check_runs,    &check_processes, &check_guards,       &check_inputs,  &check_written, &check_repeatable,
    &check_pads,    &check_padding,   &check_global,       &check_scales,  &check_codes,   &check_scales_t,
    &check_codes_t, &check_values,    &check_distribution, &check_product, &check_claim,   &check_rows,
};
const size_t check_count_all = sizeof checks / sizeof *checks;
