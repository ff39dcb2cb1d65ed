//! Multilevel additive Schwarz on a device (Wu, Wang, Wang 2022, §5 to §7).
//!
//! | file | step |
//! |---|---|
//! | `lists` | the plan in device memory |
//! | `kernels` | the kernels, in two equivalent forms |
//! | `apply` | application (§7) |
//! | `domains` | domains with inverses from the host |
//! | `structure` | order, domains and levels on the device (§5) |
//! | `couplings`, `numbers` | inverses from a matrix in device memory (§6) |
//! | `meeting`, [`touched`](DeviceTouched) | contact blocks beside the matrix, and the rows that they touch (§4.2) |
//! | [`system`](DeviceSystem) | a matrix with or without a contact part |
//! | [`parameters`](DeviceSchwarz), [`subdomains`](DeviceSubdomains) | the parameters for a matrix in device memory, and the preconditioner that it builds |
//! | `memory_estimate` | estimates of memory before a setup |

mod apply;
mod couplings;
mod domains;
mod kernels;
mod lists;
mod meeting;
mod memory_estimate;
mod numbers;
mod parameters;
mod structure;
mod subdomains;
mod system;
mod touched;

pub use domains::DeviceDomains;
pub use parameters::{DeviceSchwarz, StructureSource};
pub use subdomains::{DeviceSubdomains, Renewed};
pub use system::DeviceSystem;
pub use touched::{DeviceTouched, Touched};
