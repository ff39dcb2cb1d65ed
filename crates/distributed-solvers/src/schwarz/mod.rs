//! Multilevel additive Schwarz on matrices whose rows are divided among ranks.
//!
//! Domains grow inside chunks of consecutive nodes of the global order. Chunks depend on the number of nodes only,
//! and one rank solves all domains of a chunk, whatever the layout is. So domains, coarse matrices and results have the
//! same bits at any number of ranks. Coarse levels are divided in the same way until a level is small; that level is
//! gathered on rank 0.
//!
//! | symbol | here | file |
//! |---|---|---|
//! | M⁻¹ = Σ_l C_lᵀ (Σ_d S_dᵀ (S_d A_l S_dᵀ)⁻¹ S_d) C_l | the preconditioner | [`subdomains`](DistSubdomains) |
//! | S_d, C | domains of a level, and the sums over them | `level` |
//! | A_(l+1) = C A_l Cᵀ | own rows, without messages between ranks except maps of ghosts | `coarse` |
//! | | the coarsest level on rank 0 | `gathered` |
//!
//! *Reference* Wu, Wang, Wang 2022, "A GPU-Based Multilevel Additive Schwarz Preconditioner for Cloth and Deformable
//! Body Simulation", §5 and §6.

mod coarse;
mod gathered;
mod level;
mod subdomains;

pub use subdomains::{DistSchwarz, DistSubdomains};
