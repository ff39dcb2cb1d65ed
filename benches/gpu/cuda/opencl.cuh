// OpenCL C in CUDA: what the kernels of coarsen use of it, and nothing else. The library beside this file puts it before every program and
// spells `__local T *` as `T *`, since CUDA has no such pointers; what remains of `__local` are arrays of a group.
//
// Meant for GPUs, whose items run in step: packs of one entry (LANES = 1), a group a domain (WIDE = 0). There are no vectors of eight.

typedef unsigned int uint;
typedef unsigned long ulong;

#define __kernel extern "C" __global__
#define __global
#define __local __shared__
#define restrict __restrict__
// An attribute of OpenCL; the launch says the same.
#define reqd_work_group_size(x, y, z)

#define get_global_id(k) ((size_t)blockIdx.x * blockDim.x + threadIdx.x)
#define get_local_id(k) ((size_t)threadIdx.x)
#define get_group_id(k) ((size_t)blockIdx.x)
#define get_num_groups(k) ((size_t)gridDim.x)
#define get_global_size(k) ((size_t)gridDim.x * blockDim.x)

#define CLK_LOCAL_MEM_FENCE 0
#define CLK_GLOBAL_MEM_FENCE 0
#define barrier(fence) __syncthreads()

#define convert_float(v) ((float)(v))
#define convert_double(v) ((double)(v))
#define clz(v) __clz((int)(v))
#define add_sat(a, b) ((a) + min(~(a), (b))) /* of uint */
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fffffff)
#define UINT_MAX 0xffffffffu
