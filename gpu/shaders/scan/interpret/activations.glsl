// Activations of layers for network.glsl: INTERPRET_ACTIVATE on four outputs, INTERPRET_ACTIVATE_TWO on eight.

#ifndef CAMBRIAN_INTERPRET_ACTIVATIONS
#define CAMBRIAN_INTERPRET_ACTIVATIONS
// An activation by its gene code, on four outputs, none (0) first: every network ends with it. What two of them have in
// common is there once: a device compiles it for long, and keeps less of its code at hand.
vec4 interpret_activate(vec4 x, int code) {
    precise vec4 y = x;
    if (code == 0) {
        return x;
    } else if (code == 1) {
        [[unroll]] for (int i = 0; i < 4; ++i) y[i] = activation_relu(x[i]);
    } else if (code == 2 || code == 5) {
        [[unroll]] for (int i = 0; i < 4; ++i) y[i] = CAMBRIAN_CALL(sigmoid)(x[i]);
        if (code == 2) y = x * y;
    } else if (code == 3 || code == 4) {
        if (code == 3) {
            [[unroll]] for (int i = 0; i < 4; ++i) y[i] = gelu_inside(x[i]);
        }
        [[unroll]] for (int i = 0; i < 4; ++i) y[i] = CAMBRIAN_CALL(tanh)(y[i]);
        if (code == 3) {
            [[unroll]] for (int i = 0; i < 4; ++i) y[i] = gelu_by(x[i], y[i]);
        }
    }
    return y;
}

// Eight outputs at once: one invocation has nothing else to do while an operation is under way.
void interpret_activate_two(inout vec4 a, inout vec4 b, int code) {
    if (code == 4) {
        [[unroll]] for (int i = 0; i < 4; ++i) {
            a[i] = CAMBRIAN_CALL(tanh)(a[i]);
            b[i] = CAMBRIAN_CALL(tanh)(b[i]);
        }
    } else if (code != 0) {
        a = interpret_activate(a, code);
        b = interpret_activate(b, code);
    }
}
#endif

#if defined(INTERPRET_ANY_ACTIVATION) && !defined(CAMBRIAN_INTERPRET_ANY_ACTIVATION)
#define CAMBRIAN_INTERPRET_ANY_ACTIVATION
// Of any code: one function after another where it is not a common one, for there are many.
vec4 interpret_activate_any(vec4 x, int code) {
    if (code <= 5) return interpret_activate(x, code);
    precise vec4 y = x;
    [[dont_unroll]] for (int i = 0; i < 4; ++i) y[i] = op_activate_any(x[i], code);
    return y;
}
void interpret_activate_any_two(inout vec4 a, inout vec4 b, int code) {
    if (code <= 5) {
        interpret_activate_two(a, b, code);
    } else {
        a = interpret_activate_any(a, code);
        b = interpret_activate_any(b, code);
    }
}
#endif
#ifdef INTERPRET_ANY_ACTIVATION
#define INTERPRET_ACTIVATE interpret_activate_any
#define INTERPRET_ACTIVATE_TWO interpret_activate_any_two
#else
#define INTERPRET_ACTIVATE interpret_activate
#define INTERPRET_ACTIVATE_TWO interpret_activate_two
#endif
