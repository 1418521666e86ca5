/* SPDX-License-Identifier: Apache-2.0
 * stats_json.h - statistics as JSON and back, without loss: parts made on different machines merge. */
#ifndef CHECKS_STATS_JSON_H
#define CHECKS_STATS_JSON_H

#include <jansson.h>

#include "stats.h"

/* Counters, exact sums as text, histograms with trailing zeros cut, and under "read" the derived figures
 * (SQNR, quantiles, bias) that people look at; the latter are ignored on the way back. NULL: no memory. */
json_t *stats_to_json(const mx_stats *s);
mx_status stats_from_json(const json_t *o, mx_stats *s, const char *place, mx_error *e);

#endif
