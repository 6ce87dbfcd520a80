// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include "product_10x32_avx512.h"

#include <stdint.h>

#include "tiles_10x32_avx512.h"

// How far ahead the first tile asks for its own weights. In shorter panels what lies so far ahead
// is of no use.
#define AHEAD 8192

static inline size_t least_of(size_t a, size_t b) { return a < b ? a : b; }

static inline size_t quotient_up(size_t a, size_t b) { return (a + b - 1) / b; }

// The weights of a product, or of a part of K.
struct block {
  size_t part, parts, first, kc;  // elements kc from `first` of each of the parts
};

// A panel of columns and its neighbour are kept in the second cache for all rows; where K is
// longer, it is divided. C has the sums meanwhile.
#define LONGEST 1536
#define PART_OF_LONGER 1024

// The block behind one; parts is 0 behind the last.
static struct block next_block(const struct executorch_product* p, struct block last) {
  struct block next = last;
  if (p->parts * p->kc <= LONGEST) {
    next = (struct block){.parts = last.parts == 0 ? p->parts : 0, .kc = p->kc};
  } else if (p->kc <= PART_OF_LONGER) {
    next.part += last.parts;
    next.parts = least_of(p->parts - next.part, PART_OF_LONGER / p->kc);
    next.kc = p->kc;
  } else {
    const size_t pieces = quotient_up(p->kc, PART_OF_LONGER);
    const size_t piece = quotient_up(quotient_up(p->kc, pieces), STEP) * STEP;
    next.first += last.kc;
    if (next.first >= p->kc) {
      next.first = 0;
      ++next.part;
    }
    next.parts = next.part < p->parts;
    next.kc = least_of(p->kc - next.first, piece);
  }
  return next;
}

static size_t bytes_of_panel(const struct executorch_product* p) {
  return (1 + p->parts * p->kc) * COLUMNS * sizeof(float);
}

// What lies in a panel before a block's weights.
static size_t bytes_before(const struct executorch_product* p, struct block block) {
  return (1 + block.part * p->kc + block.first) * COLUMNS * sizeof(float);
}

static const float* weights_of(const struct executorch_product* p, struct block block,
                               size_t panel) {
  return moved(p->w, panel * bytes_of_panel(p) + bytes_before(p, block));
}

static size_t bytes_of(struct block block) {
  return block.parts * block.kc * COLUMNS * sizeof(float);
}

// What all tiles of a block together ask for: the next block, or else the weights behind all.
static struct fetching what_to_fetch(const struct executorch_product* p, struct block block,
                                     struct block next) {
  struct fetching fetching = {{NULL, NULL}, NULL, 0};
  if (!p->fetches) return fetching;
  const size_t panels = quotient_up(p->columns, COLUMNS);
  size_t bytes = 0;
  if (next.parts != 0) {
    fetching.at[0] = (const char*)weights_of(p, next, 0);
    fetching.at[1] = (const char*)weights_of(p, next, panels > 1);
    bytes = bytes_of(next);
  } else {
    const char* const behind = (const char*)moved(p->w, panels * bytes_of_panel(p));
    const int is_divided = block.parts * block.kc != p->parts * p->kc;
    bytes = is_divided ? least_of(bytes_of(block), p->bytes_of_next) : p->bytes_of_next / 2;
    fetching.at[0] = behind;
    fetching.at[1] = behind + (is_divided ? bytes_of_panel(p) : bytes);
  }
  const size_t pairs = panels / 2, tiles = quotient_up(p->rows, MOST_ROWS);
  const size_t calls = pairs * quotient_up(p->rows, MOST_ROWS_OF_PAIR) + panels % 2 * tiles;
  const size_t steps = calls * block.parts * (block.kc / STEP);
  fetching.end = fetching.at[0] + bytes;
  fetching.lines = steps == 0 ? 0 : quotient_up(bytes / LINE, steps);
  return fetching;
}

// Some rows of A, a->count of them: the block's products with to->count columns, which begin at `w`.
// What tiles are told is changed in its place: of a copy that was just written in parts, processors
// wait for the parts.
static void rows_times(const struct executorch_product* p, struct rows_of_a* a,
                       struct columns_of_c* to, const float* w, struct block block,
                       struct fetching* fetching) {
  const size_t bytes = bytes_of_panel(p), skipped = bytes_before(p, block);
  const size_t rows = a->count, columns = to->count;
  const float* const first = a->first;
  const float** const table = a->table;
  uintptr_t c = (uintptr_t)to->c;
  for (size_t left = columns; left != 0; left -= to->count) {
    const int is_pair = left > COLUMNS;
    to->count = least_of(left, is_pair ? 2 * COLUMNS : COLUMNS);
    to->bias[0] = w;
    to->bias[1] = is_pair ? moved(w, bytes) : w;
    to->weights[0] = moved(to->bias[0], skipped);
    to->weights[1] = moved(to->bias[1], skipped);
    const size_t halves = (to->count + HALF - 1) / HALF;
    const tile_function* const tiles =
        (to->count % HALF == HALF / 2 ? kSharedTiles : kTiles)[halves - 1];
    // No more than MOST_ROWS, and for a pair two parts that are about as large.
    a->count = is_pair && rows > MOST_ROWS_OF_PAIR ? (rows + 1) / 2 : rows;
    for (size_t row = 0; row < rows; row += a->count, a->count = rows - row) {
      if (table != NULL) {
        a->table = table + row;
      } else {
        a->first = moved(first, row * a->stride);
      }
      to->c = (float*)(c + row * to->row);
      tiles[a->count - 1](a, fetching, to);
    }
    w = moved(w, 2 * bytes);
    c += 2 * COLUMNS * sizeof(float);
  }
  to->count = columns;
}

// Where tile `tile` ends, if all have about as many rows; tiles of one panel have even numbers.
static size_t end_of_tile(size_t rows, size_t tile, size_t tiles, size_t most) {
  const size_t end = rows * tile / tiles;
  return most == MOST_ROWS ? least_of((end + 1) / 2 * 2, rows) : end;
}

// All rows: the block's products with the columns from `first`, to->count of them, in tiles of no
// more than `most` rows, of which some follow each other with the same columns. Rows of a table are
// `each` at once; others are divided so that all tiles have about as many.
static void columns_times(const struct executorch_product* p, struct block block,
                          struct columns_of_c* to, size_t first, size_t most, size_t tiles_at_once,
                          struct fetching* fetching, const struct fetching* of_next) {
  const size_t skipped = block.first * sizeof(float), panel = first / COLUMNS;
  struct rows_of_a a = {.stride = p->a_stride,
                        .part_stride = p->part_stride,
                        .each = p->each,
                        .parts = block.parts,
                        .offset = p->a_offset + skipped,
                        .zero = p->zero,
                        .kc = block.kc};
  const float* const w = moved(p->w, panel * bytes_of_panel(p));
  const size_t tiles = quotient_up(p->rows, most);
  for (size_t row = 0, tile = 0, count; row < p->rows; row += count) {
    tile = least_of(tile + tiles_at_once, tiles);
    count = p->table != NULL ? least_of(p->each, p->rows - row)
                             : end_of_tile(p->rows, tile, tiles, most) - row;
    a.count = count;
    if (p->table != NULL) {
      a.table = p->table + row * p->parts + block.part * p->each;
    } else {
      a.first = moved(p->a, row * p->a_stride + block.part * p->part_stride + skipped);
    }
    to->c = (float*)((uintptr_t)p->c + row * p->cm_stride + first * sizeof(float));
    rows_times(p, &a, to, w, block, fetching);
    if (first == 0 && row == 0) *fetching = *of_next;
  }
}

static void block_of_product(const struct executorch_product* p, struct block block,
                             struct block next) {
  struct columns_of_c to = {.row = p->cm_stride,
                            .begins = block.part == 0 && block.first == 0,
                            .ends = next.parts == 0,
                            .limits = p->limits,
                            .adds = p->adds};
  if (p->adds) to.added = ((const struct executorch_adding*)p->limits)->added;
  struct fetching of_next = what_to_fetch(p, block, next), fetching = of_next;
  if (to.begins && p->fetches && bytes_of(block) >= 2 * AHEAD) {
    const char* const own = (const char*)weights_of(p, block, 0);
    fetching.at[0] = own + AHEAD;
    fetching.at[1] = (const char*)weights_of(p, block, p->columns > COLUMNS) + AHEAD;
    fetching.end = own + bytes_of(block);
    fetching.lines = STEP * COLUMNS * sizeof(float) / LINE;
  }
  // A last panel without a neighbour takes more rows at once.
  const size_t rest = p->columns % (2 * COLUMNS), alone = rest <= COLUMNS ? rest : 0;
  to.count = p->columns - alone;
  if (to.count != 0) {
    columns_times(p, block, &to, 0, MOST_ROWS_OF_PAIR, 2, &fetching, &of_next);
  }
  to.count = alone;
  if (to.count != 0) {
    columns_times(p, block, &to, p->columns - alone, MOST_ROWS, 1, &fetching, &of_next);
  }
}

void executorch_f32_product_avx512(const struct executorch_product* product) {
  struct block block = next_block(product, (struct block){0});
  while (block.parts != 0) {
    const struct block next = next_block(product, block);
    block_of_product(product, block, next);
    block = next;
  }
}

#define DEFINE_PRODUCTS(gemm, igemm, rows_of_tile, does_add)                                 \
  EXECUTORCH_GEMM(gemm) {                                                                    \
    const struct executorch_product product = {.rows = mr,                                   \
                                               .columns = nc,                                \
                                               .parts = 1,                                   \
                                               .kc = kc / sizeof(float),                     \
                                               .a = a,                                       \
                                               .a_stride = a_stride,                         \
                                               .w = w,                                       \
                                               .c = c,                                       \
                                               .cm_stride = cm_stride,                       \
                                               .limits = limits,                             \
                                               .adds = does_add};                            \
    executorch_f32_product_avx512(&product);                                                 \
  }                                                                                          \
  EXECUTORCH_IGEMM(igemm) {                                                                  \
    const struct executorch_product product = {.rows = mr,                                   \
                                               .columns = nc,                                \
                                               .parts = ks / (rows_of_tile * sizeof(void*)), \
                                               .kc = kc / sizeof(float),                     \
                                               .table = a,                                   \
                                               .each = rows_of_tile,                         \
                                               .a_offset = a_offset,                         \
                                               .zero = zero,                                 \
                                               .w = w,                                       \
                                               .c = c,                                       \
                                               .cm_stride = cm_stride,                       \
                                               .limits = limits,                             \
                                               .adds = does_add};                            \
    executorch_f32_product_avx512(&product);                                                 \
  }

#define DEFINE(rows)                                                                               \
  DEFINE_PRODUCTS(executorch_f32_gemm_##rows##x32_avx512, executorch_f32_igemm_##rows##x32_avx512, \
                  rows, 0)
#define DEFINE_ADDING(rows)                                      \
  DEFINE_PRODUCTS(executorch_f32_gemm_adding_##rows##x32_avx512, \
                  executorch_f32_igemm_adding_##rows##x32_avx512, rows, 1)

DEFINE(5)
DEFINE(10)
DEFINE_ADDING(1)
DEFINE_ADDING(5)
DEFINE_ADDING(10)

EXECUTORCH_WINDOWS(executorch_f32_windows_10x32_avx512) {
  const struct executorch_product product = {.rows = mr,
                                             .columns = nc,
                                             .parts = parts,
                                             .kc = kc / sizeof(float),
                                             .a = a,
                                             .a_stride = a_stride,
                                             .part_stride = part_stride,
                                             .w = w,
                                             .c = c,
                                             .cm_stride = cm_stride,
                                             .limits = limits};
  executorch_f32_product_avx512(&product);
}
