//! OpenCL C sources as constants.
