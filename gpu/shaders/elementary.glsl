// The elementary functions of engine/core/elementary.inl for shaders, as own_<name>: the bits they
// compute are those of the C++ side. (Generated shaders have the #include line resolved for them.)
#define CAMBRIAN_ELEMENTARY(name) float own_##name
#define CAMBRIAN_CALL(name) own_##name
#define CAMBRIAN_PRECISE precise
#define CAMBRIAN_EXACT_SUM(a, b, c) fma(a, b, c)
#define float_to_bits floatBitsToUint
#define bits_to_float uintBitsToFloat

#include "cambrian/engine/core/elementary.inl"

#undef CAMBRIAN_ELEMENTARY
#undef CAMBRIAN_CALL
#undef CAMBRIAN_PRECISE
#undef CAMBRIAN_EXACT_SUM
#undef float_to_bits
#undef bits_to_float
