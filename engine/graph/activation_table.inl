// The table of activations: one row each, the only place where one is listed. Configs and files hold
// the name, genes and bytecode the code, which is the place in this table. Who includes this
// defines CAMBRIAN_ACTIVATION(name, text, rectifier, keeps_zero, formula):
//
//   text        its name in layers; that of code 0 is "identity" where single neurons have it
//   rectifier   whether about half of what comes in is lost: weights start larger
//   keeps_zero  whether 0 gives 0
//   formula     of x, for readers
//
// The first six are the common ones, which every kernel has: see ActivationSet. A row has a function
// of each backend at the same place of graph/builders/activation.cpp, reference/interpret.cpp,
// cpu/kernels/activate.cpp, and by its code in op_activate_any of gpu/shaders/ops.glsl.
//
// What PyTorch calls GELU is exact_gelu; gelu is its approximate="tanh".
//
// The slope at a kink is 0 where a side is flat and at the 0 of abs and hat, else that of the side
// below for leaky_relu (0.01), above for hard_swish at 3 (1).

// clang-format off
CAMBRIAN_ACTIVATION(identity,      "linear",        false, true,  "x")
CAMBRIAN_ACTIVATION(relu,          "relu",          true,  true,  "max(x, 0)")
CAMBRIAN_ACTIVATION(silu,          "silu",          true,  true,  "x sigmoid(x)")
CAMBRIAN_ACTIVATION(gelu,          "gelu",          true,  true,  "(0.5 x)(1 + tanh(sqrt(2/pi) (x + 0.044715 ((x x) x))))")
CAMBRIAN_ACTIVATION(tanh,          "tanh",          false, true,  "tanh(x)")
CAMBRIAN_ACTIVATION(sigmoid,       "sigmoid",       false, false, "1 / (1 + e^-x)")
CAMBRIAN_ACTIVATION(steep_sigmoid, "steep_sigmoid", false, false, "sigmoid(4.9 x)")
CAMBRIAN_ACTIVATION(sin,           "sin",           false, true,  "sin(x limited to [-8192, 8192]); infinities give NaN")
CAMBRIAN_ACTIVATION(cos,           "cos",           false, false, "cos(x limited to [-8192, 8192]); infinities give NaN")
CAMBRIAN_ACTIVATION(gauss,         "gauss",         false, false, "e^(-x x)")
CAMBRIAN_ACTIVATION(abs,           "abs",           false, true,  "|x|")
CAMBRIAN_ACTIVATION(square,        "square",        false, true,  "x x")
CAMBRIAN_ACTIVATION(cube,          "cube",          false, true,  "(x x) x")
CAMBRIAN_ACTIVATION(elu,           "elu",           true,  true,  "x > 0 ? x : e^x - 1")
CAMBRIAN_ACTIVATION(leaky_relu,    "leaky_relu",    true,  true,  "x > 0 ? x : 0.01 x")
CAMBRIAN_ACTIVATION(softplus,      "softplus",      false, false, "max(0, x) + log1p(e^-|x|)")
CAMBRIAN_ACTIVATION(clamped,       "clamped",       false, true,  "x limited to [-1, 1]")
CAMBRIAN_ACTIVATION(hat,           "hat",           false, false, "max(0, 1 - |x|)")
CAMBRIAN_ACTIVATION(sign,          "sign",          false, true,  "-1, 0 or 1")
CAMBRIAN_ACTIVATION(step,          "step",          false, true,  "x > 0 ? 1 : 0")
CAMBRIAN_ACTIVATION(relu6,         "relu6",         true,  true,  "x limited to [0, 6]")
CAMBRIAN_ACTIVATION(hard_swish,    "hard_swish",    true,  true,  "(x relu6(x + 3)) (1/6)")
CAMBRIAN_ACTIVATION(mish,          "mish",          true,  true,  "x tanh(softplus(x))")
CAMBRIAN_ACTIVATION(exact_gelu,    "exact_gelu",    true,  true,  "(0.5 x)(1 + erf(sqrt(1/2) x))")
// clang-format on

#undef CAMBRIAN_ACTIVATION
