// What every source begins with. Build options define
//   REAL   float or double: entries of vectors
//   SUM    the type sums are accumulated in: double where the device has it
//   WIDTH  items of a work group in a reduction, a power of two
//   LANES  entries that an item of a reduction takes at once: 1 where items run in step, 8 where one core runs them all
// The words are OpenCL C 1.2, so that every driver compiles them. Contraction to fused multiply-adds is off: the
// entry-wise kernels give the bits of their Rust twins.

#ifdef DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#pragma OPENCL FP_CONTRACT OFF

#define JOINED(a, b) a##b
#define JOIN(a, b) JOINED(a, b)
