/* SPDX-License-Identifier: Apache-2.0 */
#include "mismatch.h"

#include <inttypes.h>

static int64_t tile_for(int64_t n, int64_t most)
{
    int64_t tile = 1;
    while ((n - 1) / tile + 1 > most)
        tile *= 2;
    return tile;
}

void mismatch_begin(mismatch_map *m, int64_t height, int64_t width)
{
    *m = (mismatch_map){.height = height, .width = width};
    if (height <= 0 || width <= 0) {
        m->height = m->width = 0;
        return;
    }
    m->tile_rows = tile_for(height, MISMATCH_ROWS);
    m->tile_cols = tile_for(width, MISMATCH_COLS);
    m->rows = (int)((height - 1) / m->tile_rows) + 1;
    m->cols = (int)((width - 1) / m->tile_cols) + 1;
}

void mismatch_add(mismatch_map *m, int64_t row, int64_t col)
{
    if (row < 0 || col < 0 || row >= m->height || col >= m->width) return;
    uint32_t *tile = &m->wrong[row / m->tile_rows * m->cols + col / m->tile_cols];
    *tile += *tile < UINT32_MAX;
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* Elements of tile (r, c), which is short at the edges. */
static int64_t elements(const mismatch_map *m, int r, int c)
{
    return least(m->tile_rows, m->height - r * m->tile_rows) *
           least(m->tile_cols, m->width - c * m->tile_cols);
}

void mismatch_print(const mismatch_map *m, FILE *out)
{
    static const char shades[] = ":-=+*%#";
    enum { SHADES = sizeof shades - 1 };
    fprintf(out, "      where, in tiles of %" PRId64 " x %" PRId64 " elements ('.': none wrong, '#': all):\n",
            m->tile_rows, m->tile_cols);
    for (int r = 0; r < m->rows; r++) {
        fprintf(out, "      %8" PRId64 " ", m->first_row + r * m->tile_rows);
        for (int c = 0; c < m->cols; c++) {
            int64_t wrong = m->wrong[r * m->cols + c], all = elements(m, r, c);
            fputc(!wrong ? '.' : wrong >= all ? '#' : shades[wrong * (SHADES - 1) / all], out);
        }
        fputc('\n', out);
    }
}
