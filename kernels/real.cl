// The beginning of every source. Build options define
//   REAL   float or double: entries of vectors
//   SUM    the type of sums: double if the device has it
//   WIDTH  the number of items in a work group of a reduction, a power of two
//   LANES  the number of entries per item and step: 1 if items run in step, 8 if one core runs all items
// The language is OpenCL C 1.2, for every driver. Contraction to fused multiply-adds is off: entry-wise
// kernels are bitwise equal to the functions of the host.

#ifdef DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#pragma OPENCL FP_CONTRACT OFF

#define JOINED(a, b) a##b
#define JOIN(a, b) JOINED(a, b)
