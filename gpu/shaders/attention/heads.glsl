// What all kernels of attention share: which tile of which key head a workgroup works on, its tensors,
// and the queries that see a key. The includer says whether the last tiles of a causal attention walk
// the furthest (last_tile_first).
// Push:
//   address  q, k, v, upstream, log-sum-exp, offset, first result, second result; few_queries.glsl has
//            other names for some
//   word     0-1 address of how many keys count, 2-3 address of the table, 7 tiles of a head
// Table: see the names below, then words between individuals of the eight addresses and of the counts.

layout(constant_id = 5) const uint only_vectors = 0;  // Rows of all matrices start on 16 bytes.

const uint table_rows = 0U;         // Queries of one key head.
const uint table_queries = 1U;      // Of one query head.
const uint table_keys = 2U;
const uint table_width = 3U;        // Of q and k.
const uint table_value_width = 4U;  // Of v, the output and its upstream.
const uint table_heads = 5U;        // Key heads of an individual.
const uint table_flags = 6U;
const uint table_scale = 7U;
const uint table_window = 8U;   // 0: all.
const uint table_sharing = 9U;  // Key heads next to each other for which one count stands.
const uint table_strides = 10U;

const uint flag_causal = 1U;
const uint flag_counts = 2U;   // Not all keys count.
const uint flag_own_row = 4U;  // A key and a value after those that count, see few_queries.glsl.

const uint tensor_q = 0U;
const uint tensor_k = 1U;
const uint tensor_v = 2U;
const uint tensor_upstream = 3U;
const uint tensor_log_sum_exp = 4U;
const uint tensor_offset = 5U;
const uint tensor_result = 6U;
const uint tensor_second_result = 7U;
const uint tensor_counts = 8U;

// The score of a key that a query does not see.
float no_score() {
    return uintBitsToFloat(0xFF800000U);
}

Words table() {
    return Words(packUint2x32(uvec2(push.word[2], push.word[3])));
}

// A tensor of one key head.
struct Matrix {
    uint64_t address;
    uint rows;   // That exist; after them are zeros.
    uint width;  // Words of a row.
};

// What this workgroup works on.
struct Work {
    uint individual;
    uint head;
    uint tile;
    int keys;  // That count.
};

Work work() {
    Work result;
    uint number = group();
    // Tiles with the longest walk begin first.
    result.tile = number % push.word[7];
    if (last_tile_first) result.tile = push.word[7] - 1U - result.tile;
    number /= push.word[7];
    result.head = number % table().at[table_heads];
    result.individual = number / table().at[table_heads];
    result.keys = int(table().at[table_keys]);
    if ((table().at[table_flags] & flag_counts) != 0U) {
        uint stride = table().at[table_strides + tensor_counts];
        uint64_t address = packUint2x32(uvec2(push.word[0], push.word[1])) +
                           4UL * uint64_t(result.individual) * uint64_t(stride);
        int count = Integers(address).at[result.head / table().at[table_sharing]];
        result.keys = clamp(count, 0, result.keys);
    }
    return result;
}

// The rows of a tensor that belong to the key head, of which the first `rows` count.
Matrix matrix(uint tensor, Work here, uint stored_rows, uint rows, uint width) {
    uint64_t first = uint64_t(here.individual) * uint64_t(table().at[table_strides + tensor]) +
                     uint64_t(here.head) * uint64_t(stored_rows * width);
    return Matrix(push.address[tensor] + 4UL * first, rows, width);
}

// A query sees the keys below this one; rows that do not exist see none.
int seen_keys(uint row, int keys) {
    if (row >= table().at[table_rows]) return 0;
    if ((table().at[table_flags] & flag_causal) == 0U) return keys;
    int queries = int(table().at[table_queries]);
    return clamp(int(row % uint(queries)) + 1 + keys - queries, 0, keys);
}

// What any of `count` queries from `first` on sees.
int seen_keys_of(uint first, uint count, int keys) {
    uint last = min(first + count, table().at[table_rows]) - 1U;
    uint queries = table().at[table_queries];
    return first / queries == last / queries ? seen_keys(last, keys) : keys;
}

float scale() {
    return uintBitsToFloat(table().at[table_scale]);
}

// Words that are not there are zeros. Where all rows are vectors nothing branches, so that many
// loads are on their way at once: what does not exist reads the first row instead.
vec4 load_quad(Matrix from, uint row, uint column) {
    bool exists = row < from.rows && column < from.width;
    uint at = exists ? row * from.width + column : 0U;
    if (only_vectors != 0U) {
        vec4 quad = Reals4(from.address + 4UL * uint64_t(at)).at[0];
        return exists ? quad : vec4(0.0F);
    }
    vec4 quad = vec4(0.0F);
    Reals values = Reals(from.address);
    [[unroll]] for (uint i = 0U; i < 4U; ++i) {
        if (exists && column + i < from.width) quad[i] = values.at[at + i];
    }
    return quad;
}

void store_quad(Matrix to, uint row, uint column, vec4 quad) {
    if (row >= to.rows || column >= to.width) return;
    uint at = row * to.width + column;
    if (only_vectors != 0U) {
        Reals4(to.address + 4UL * uint64_t(at)).at[0] = quad;
        return;
    }
    Reals values = Reals(to.address);
    [[unroll]] for (uint i = 0U; i < 4U; ++i) {
        if (column + i < to.width) values.at[at + i] = quad[i];
    }
}
