// Pairs of a key and the index it came from: no two are equal, so that any network sorts stably.
bool comes_before(uvec2 a, uvec2 b) {
    return a.x < b.x || (a.x == b.x && a.y < b.y);
}
