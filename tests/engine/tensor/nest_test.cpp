#include "cambrian/engine/tensor/nest.hpp"

#include <gmock/gmock.h>

#include "cambrian/engine/tensor/shape.hpp"

namespace cambrian {
namespace {

using ::testing::ElementsAre;

TEST(Nest, MergesAxesThatEveryViewWalksInOneGo) {
    const std::array<NestView, 2> views{{{{3, 4}, 12}, {{3, 4}, 12}}};

    const Nest nest = elementwise_nest(views, true);

    EXPECT_EQ(nest.axis_count, 1);
    EXPECT_EQ(nest.inner().extent, 12);
    EXPECT_THAT(nest.inner().strides, ElementsAre(1, 1, 0, 0));
}

TEST(Nest, KeepsTheAxisThatOneViewIsBroadcastAlong) {
    const std::array<NestView, 2> views{{{{3, 4}, 12}, {{3, 1}, 3}}};

    const Nest nest = elementwise_nest(views, true);

    ASSERT_EQ(nest.axis_count, 2);
    EXPECT_EQ(nest.axes[0].extent, 3);
    EXPECT_THAT(nest.axes[0].strides, ElementsAre(4, 1, 0, 0));
    EXPECT_EQ(nest.inner().extent, 4);
    EXPECT_THAT(nest.inner().strides, ElementsAre(1, 0, 0, 0));
    EXPECT_EQ(nest.rows(5), 15);
}

TEST(Nest, WalksAPopulationWhoseIndividualsShareAnOperandInTwoAxes) {
    const std::array<NestView, 2> views{{{{4}, 4}, {{4}, 0}}};

    EXPECT_EQ(elementwise_nest(views, true).axis_count, 2);
    EXPECT_EQ(elementwise_nest(views, false).axis_count, 1);
}

TEST(Nest, OfNoElementsIsEmpty) {
    const std::array<NestView, 2> views{{{{3, 0}, 0}, {{3, 0}, 0}}};

    EXPECT_TRUE(elementwise_nest(views, true).empty);
}

TEST(AxisSplit, SeesAShapeAroundOneAxis) {
    const AxisSplit split(Shape{2, 3, 4, 5}, 1);

    EXPECT_EQ(split.outer, 2);
    EXPECT_EQ(split.length, 3);
    EXPECT_EQ(split.inner, 20);
    EXPECT_EQ(split.lines(), 40);
    EXPECT_EQ(split.elements(), 120);
}

}  // namespace
}  // namespace cambrian
