// Arithmetic on slots, one item each. `slots` holds every scalar of a queue; `out` is the slot that is
// written.

// A number of the host as a scalar.                                     Twin: Vector::scalar
__kernel void coarsen_set(__global REAL *slots, const uint out, const REAL v) {
    slots[out] = v;
}

// -a                                                                    Twin: Neg for f64
__kernel void coarsen_neg(__global REAL *slots, const uint out, const uint a) {
    slots[out] = -slots[a];
}

// a + b                                                                 Twin: Add for f64
__kernel void coarsen_add(__global REAL *slots, const uint out, const uint a, const uint b) {
    slots[out] = slots[a] + slots[b];
}

// a b                                                                   Twin: Mul for f64
__kernel void coarsen_mul(__global REAL *slots, const uint out, const uint a, const uint b) {
    slots[out] = slots[a] * slots[b];
}

// a / b                                                                 Twin: Div for f64
__kernel void coarsen_div(__global REAL *slots, const uint out, const uint a, const uint b) {
    slots[out] = slots[a] / slots[b];
}

// num / den if den > floor, otherwise 0; also 0 if any of them is NaN   Twin: Scalar::over for f64
__kernel void coarsen_over(__global REAL *slots, const uint out, const uint num, const uint den, const uint floor) {
    slots[out] = slots[den] > slots[floor] && !isnan(slots[num]) ? slots[num] / slots[den] : 0;
}
