/* SPDX-License-Identifier: Apache-2.0
 * The chain of trust over all 2^32 fp32 inputs: for each cast, the scalar code's answer is compared with
 * that of every other link that has one. `build/unit slow_exhaustive` prints how many were compared. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle.h"
#include "recording.h"
#include "suite.h"

#define CHUNK  65536u
#define CHUNKS 65536u

typedef struct job {
    const mx_format *format;
    mx_cast cast;
    const recording *seen; /* NULL where no hardware was asked */
} job;

typedef struct worker {
    const job *job;
    mx_oracle *oracle;
} worker;

/* A link of the chain: the codes of `CHUNK` consecutive patterns from `first` on. A new one (a fast path)
 * is a new row of `links`. */
typedef struct link_of_chain {
    const char *name;
    bool (*has)(const job *j);
    void (*fill)(worker *w, uint32_t first, uint8_t *codes);
} link_of_chain;

static void fill_scalar(worker *w, uint32_t first, uint8_t *codes)
{
    for (uint32_t i = 0; i < CHUNK; i++)
        codes[i] = (uint8_t)mx_encode(w->job->format, value_of_f32(first + i), &w->job->cast, 0);
}

static bool has_oracle(const job *j) { return j->format; }

static void fill_oracle(worker *w, uint32_t first, uint8_t *codes)
{
    for (uint32_t i = 0; i < CHUNK; i++)
        codes[i] = (uint8_t)mx_oracle_encode(w->oracle, &w->job->cast, value_of_f32(first + i), 0);
}

static bool has_recording(const job *j) { return j->seen; }

static void fill_recorded(worker *w, uint32_t first, uint8_t *codes)
{
    for (uint32_t i = 0; i < CHUNK;) {
        uint64_t end;
        uint32_t code = recording_code(w->job->seen, first + i, &end);
        for (; i < CHUNK && (uint64_t)first + i < end; i++)
            codes[i] = (uint8_t)code;
    }
}

static const link_of_chain links[] = {
    {"oracle", has_oracle, fill_oracle},
    {"recorded hardware", has_recording, fill_recorded},
};
#define N_LINKS (sizeof links / sizeof *links)

/* The first pattern of the chunk where a link disagrees, or -1; counts what it compared. */
static int64_t check_chunk(worker *w, uint32_t first, uint64_t compared[N_LINKS], size_t *link)
{
    uint8_t scalar[CHUNK], other[CHUNK];
    fill_scalar(w, first, scalar);
    for (*link = 0; *link < N_LINKS; ++*link) {
        if (!links[*link].has(w->job)) continue;
        links[*link].fill(w, first, other);
        compared[*link] += CHUNK;
        if (memcmp(scalar, other, CHUNK) == 0) continue;
        for (uint32_t i = 0;; i++)
            if (scalar[i] != other[i]) return (int64_t)first + i;
    }
    return -1;
}

static void run_job(const job *j)
{
    uint64_t compared[N_LINKS] = {0};
    int64_t bad = -1;
    size_t bad_link = 0;
#pragma omp parallel
    {
        worker w = {j, mx_oracle_new(j->format)};
        uint64_t mine[N_LINKS] = {0};
#pragma omp for schedule(dynamic, 64)
        for (uint32_t chunk = 0; chunk < CHUNKS; chunk++) {
            size_t link;
            int64_t at = check_chunk(&w, chunk * CHUNK, mine, &link);
            if (at < 0) continue;
#pragma omp critical
            if (bad < 0 || at < bad) bad = at, bad_link = link;
        }
#pragma omp critical
        for (size_t i = 0; i < N_LINKS; i++)
            compared[i] += mine[i];
        mx_oracle_free(w.oracle);
    }
    for (size_t i = 0; i < N_LINKS; i++)
        if (compared[i])
            printf("%s %s, overflow policy %d: scalar = %s on %llu inputs\n", j->format->name,
                   mx_rounding_name(j->cast.rounding), j->cast.overflow, links[i].name,
                   (unsigned long long)compared[i]);
    fflush(stdout); /* a job takes minutes */
    ck_assert_msg(bad < 0, "%s %s: %s disagrees first at %08x", j->format->name,
                  mx_rounding_name(j->cast.rounding), links[bad_link].name, (unsigned)bad);
}

/* Round to nearest even, saturating: e4m3 and e5m2 are among the recordings. */
START_TEST(formats_without_hardware)
{
    static const char *const names[] = {"e2m1", "e8m0"};
    job j = {mx_format_find(names[_i]), MX_CAST_DEFAULT, NULL};
    run_job(&j);
}
END_TEST

START_TEST(recorded_casts)
{
    char path[16][256];
    static recording r;
    int n = recording_paths(path, 16);
    for (int i = 0; i < n; i++) {
        recording_read(path[i], &r);
        job j = {r.format, r.cast, &r};
        run_job(&j);
    }
}
END_TEST

Suite *slow_exhaustive(void)
{
    Suite *s = suite_create("all 2^32 inputs");
    TCase *t = tcase_create("casts");
    tcase_set_timeout(t, 3600);
    tcase_add_loop_test(t, formats_without_hardware, 0, 2);
    tcase_add_test(t, recorded_casts);
    suite_add_tcase(s, t);
    return s;
}
