/* SPDX-License-Identifier: Apache-2.0
 *
 * chain_impl.h - one product for one element type. The including file defines ELEMENT, VECTOR_BYTES and
 * NAME(x), and includes this once a type. A tile of TILE_ROWS rows and two vectors of columns stays in
 * registers for all of K; columns are vector lanes, so the order of a sum does not depend on the width. */

typedef ELEMENT NAME(vector) __attribute__((vector_size(VECTOR_BYTES), may_alias));

enum { NAME(cols) = 2 * VECTOR_BYTES / sizeof(ELEMENT) };

static inline void NAME(tile)(const ELEMENT *const *row, const ELEMENT *panel, int64_t k, ELEMENT *out)
{
    NAME(vector) left[TILE_ROWS] = {{0}}, right[TILE_ROWS] = {{0}};
    for (int64_t p = 0; p < k; p++) {
        const NAME(vector) *b = (const NAME(vector) *)(panel + p * NAME(cols));
        for (int i = 0; i < TILE_ROWS; i++) {
            left[i] += row[i][p] * b[0];
            right[i] += row[i][p] * b[1];
        }
    }
    for (int i = 0; i < TILE_ROWS; i++) {
        ((NAME(vector) *)out)[2 * i] = left[i];
        ((NAME(vector) *)out)[2 * i + 1] = right[i];
    }
}

/* Lanes [0, k) of `cols` rows of b, lane by lane; missing columns are zero. */
static void NAME(pack)(const ELEMENT *b, int64_t cols, int64_t k, ELEMENT *panel)
{
    for (int64_t p = 0; p < k; p++)
        for (int64_t j = 0; j < NAME(cols); j++)
            panel[p * NAME(cols) + j] = j < cols ? b[j * k + p] : 0;
}

static void NAME(rows)(const ELEMENT *a, int64_t rows, const ELEMENT *panel, int64_t k, int64_t slice,
                       ELEMENT *d, int64_t pitch, int64_t cols)
{
    ELEMENT out[TILE_ROWS * NAME(cols)] __attribute__((aligned(VECTOR_BYTES)));
    for (int64_t begin = 0; begin < k || !begin; begin += slice) {
        const ELEMENT *row[TILE_ROWS];
        for (int64_t i = 0; i < TILE_ROWS; i++)
            row[i] = a + (i < rows ? i : 0) * k + begin;
        NAME(tile)(row, panel + begin * NAME(cols), k - begin < slice ? k - begin : slice, out);
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < cols; j++) {
                ELEMENT x = out[i * NAME(cols) + j];
                d[i * pitch + j] = begin ? d[i * pitch + j] + x : x;
            }
        if (!slice) break;
    }
}

static bool NAME(product)(const ELEMENT *a, const ELEMENT *b, ELEMENT *d, int64_t m, int64_t n, int64_t k,
                          int slices)
{
    size_t bytes = (size_t)NAME(cols) * (size_t)(k + 1) * sizeof(ELEMENT);
    ELEMENT *panel = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!panel) return false;
    int64_t slice = slices > 1 ? (k + slices - 1) / slices : k;
    for (int64_t col = 0; col < n; col += NAME(cols)) {
        int64_t cols = n - col < NAME(cols) ? n - col : NAME(cols);
        NAME(pack)(b + col * k, cols, k, panel);
        for (int64_t row = 0; row < m; row += TILE_ROWS)
            NAME(rows)
        (a + row * k, m - row < TILE_ROWS ? m - row : TILE_ROWS, panel, k, slice, d + row * n + col, n, cols);
    }
    free(panel);
    return true;
}
#undef ELEMENT
#undef NAME
