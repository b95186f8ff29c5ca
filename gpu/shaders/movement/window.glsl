// What the kernels of im2col and col2im share: how windows lie over the last axes of a value.
// Push block:
//   address  0 result, 1 operand, 2 axes
//   word     0 items, 1 words between individuals of the result, 2 of the operand, 3 elements of an
//            individual's result, 4 windows of a plane, 5 taps of a window, 6 elements of a plane
// An axis is six words, the last axis first: kernel, positions, elements, stride, dilation, padding in
// front.

layout(constant_id = 1) const uint rank = 1;

struct Axis {
    uint kernel;
    uint positions;
    uint elements;
    uint stride;
    uint dilation;
    uint before;
};

Axis axis_of(uint axis) {
    Words words = Words(push.address[2]);
    uint at = 6U * axis;
    return Axis(words.at[at], words.at[at + 1U], words.at[at + 2U], words.at[at + 3U],
                words.at[at + 4U], words.at[at + 5U]);
}
