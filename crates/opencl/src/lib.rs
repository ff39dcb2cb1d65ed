//! OpenCL vectors and matrices.
