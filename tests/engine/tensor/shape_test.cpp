#include "cambrian/engine/tensor/shape.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/tensor/tensor.hpp"

namespace cambrian {
namespace {

using testing::HasSubstr;

std::string message_of(const std::function<void()>& action) {
    try {
        action();
    } catch (const ShapeError& error) {
        return error.what();
    }
    return "no error";
}

TEST(Shape, CountsElementsAndAxes) {
    const Shape shape{2, 3, 4};

    EXPECT_EQ(shape.rank(), 3);
    EXPECT_EQ(shape.elements(), 24);
    EXPECT_EQ(shape[-1], 4);
    EXPECT_EQ(shape[0], 2);
    EXPECT_EQ(shape.text(), "[2, 3, 4]");
    EXPECT_EQ(Shape{}.elements(), 1);
    EXPECT_EQ((Shape{3, 0}).elements(), 0);
}

TEST(Shape, DiffersFromShapesOfOtherRank) {
    EXPECT_NE((Shape{3}), (Shape{3, 1}));
    EXPECT_NE(Shape{}, Shape{1});
    EXPECT_EQ((Shape{3, 1}), (Shape{3, 1}));
}

TEST(Shape, RejectsBadExtents) {
    EXPECT_THAT(message_of([] { (void)Shape{3, -1}; }), HasSubstr("[3, -1] has a negative extent"));
    EXPECT_THAT(message_of([] { (void)Shape{1, 1, 1, 1, 1, 1, 1, 1, 1}; }),
                HasSubstr("too many axes"));
    EXPECT_THAT(message_of([] {
                    (void)Shape{std::int64_t{1} << 40, std::int64_t{1} << 40};
                }),
                HasSubstr("too large"));
    EXPECT_THAT(message_of([] {
                    (void)Shape{0, std::int64_t{1} << 40, std::int64_t{1} << 40};
                }),
                HasSubstr("too large"))
        << "its strides do not fit";
    EXPECT_EQ((Shape{0, std::int64_t{1} << 62}.elements()), 0);
}

TEST(Shape, NamesTheAxesThatExist) {
    EXPECT_EQ(message_of([] {
                  (void)Shape{2, 3}[2];
              }),
              "axis 2 is not an axis of shape [2, 3] (its rank is 2) use an axis from -2 to 1");
}

TEST(Broadcasting, FollowsNumPy) {
    EXPECT_EQ(broadcast_shapes({}, {}), Shape{});
    EXPECT_EQ(broadcast_shapes({3, 1}, {17}), (Shape{3, 17}));
    EXPECT_EQ(broadcast_shapes({2, 1, 4}, {3, 1}), (Shape{2, 3, 4}));
    EXPECT_EQ(broadcast_shapes({1}, {0}), Shape{0});
    EXPECT_THAT(message_of([] {
                    (void)broadcast_shapes({2, 3}, {2, 4});
                }),
                HasSubstr("axis -1 has extents 3 and 4"));
}

TEST(Strides, AreRowMajor) {
    const auto strides = row_major_strides({2, 3, 4});

    EXPECT_EQ(strides[0], 12);
    EXPECT_EQ(strides[1], 4);
    EXPECT_EQ(strides[2], 1);
}

TEST(Tensor, HoldsOneValueForEachElement) {
    EXPECT_EQ(Tensor(ValueType::real, {2, 3}).elements, std::vector<double>(6, 0.0));
    EXPECT_EQ(Tensor::scalar(2.5).shape, Shape{});
    EXPECT_THAT(message_of([] { Tensor(ValueType::real, {2}, {1.0}); }),
                HasSubstr("got 1 values (it holds 2)"));
}

}  // namespace
}  // namespace cambrian
