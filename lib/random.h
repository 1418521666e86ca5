/* SPDX-License-Identifier: Apache-2.0
 *
 * random.h - counter-based random numbers (Philox4x32-10 of Random123).
 *
 * A draw is a pure function of (seed, stream, index): any part of an input can be made alone, in any
 * order, by any number of threads or processes, with the same bits on any machine. The real-valued draws
 * use only IEEE add, multiply, divide and sqrt, never libm, whose results differ between versions. */
#ifndef MX_RANDOM_H
#define MX_RANDOM_H

#include <stdint.h>

uint32_t mx_random_u32(uint64_t seed, uint32_t stream, uint64_t index);
uint64_t mx_random_u64(uint64_t seed, uint32_t stream, uint64_t index);
double mx_random_uniform(uint64_t seed, uint32_t stream, uint64_t index); /* open interval (0, 1), 52 bits */
double mx_random_normal(uint64_t seed, uint32_t stream, uint64_t index);  /* mean 0, variance 1 */

double mx_ln(double x);              /* natural logarithm of a positive finite x; relative error < 1e-15 */
double mx_exp(double x);             /* relative error < 1e-15 for |x| < 700 */
double mx_normal_quantile(double p); /* inverse normal CDF, 0 < p < 1 */

#endif
