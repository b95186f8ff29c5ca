#pragma once

// All builders: what graphs are written with.
#include "cambrian/engine/graph/builders/activation.hpp"
#include "cambrian/engine/graph/builders/arithmetic.hpp"
#include "cambrian/engine/graph/builders/attention.hpp"
#include "cambrian/engine/graph/builders/contraction.hpp"
#include "cambrian/engine/graph/builders/convolution.hpp"
#include "cambrian/engine/graph/builders/index.hpp"
#include "cambrian/engine/graph/builders/losses.hpp"
#include "cambrian/engine/graph/builders/movement.hpp"
#include "cambrian/engine/graph/builders/norms.hpp"
#include "cambrian/engine/graph/builders/random.hpp"
#include "cambrian/engine/graph/builders/reduce.hpp"
#include "cambrian/engine/graph/builders/scan.hpp"
#include "cambrian/engine/graph/graph_copy.hpp"
