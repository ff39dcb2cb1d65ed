//! Schwarz methods: small domains cover the unknowns, and the system of each domain is solved.
//!
//! [`Schwarz::multilevel`] follows Wu, Wang, Wang 2022, "A GPU-based multilevel additive Schwarz
//! preconditioner for cloth and deformable body simulation"; each step of the paper is a file.
//!
//! | file | step |
//! |---|---|
//! | [`schwarz`](Schwarz), [`options`](Coarse) | the parameters |
//! | [`order`](Order) | the order of nodes (§5.1) |
//! | [`links`](Coupling) | the couplings between nodes on each level (§5.2) |
//! | `domains` | domains of a few connected nodes (§5.1, §5.2) |
//! | [`plan`](Plan) | the coarse space: levels and maps between them (§5.2); [`numbering`](Numbering) has its lists for devices |
//! | `source`, `domain_contacts` | rows of A + C; contact on coarse levels (§4.2, §6.3) |
//! | `precompute` | the domain matrices of one level and their inverses (Algorithm 1); `tasks` divides them among threads, `numbers` runs it level by level |
//! | `dense` | conversion of a domain matrix between blocks and tiles |
//! | `eliminate` | one-way Gauss-Jordan elimination (§6.2) |
//! | `packed` | packed symmetric matrices and their product (§7.1) |
//! | [`backend`](SchwarzBackend) | the operations that a backend implements; `cpu` and `reference` implement them on the host |
//! | `exact` | the coarsest level as one system |
//! | [`step`](DampedDomains) | one level of domains as the smoother of a hierarchy |
//! | `structure` | the plan and the checks, without inverses |
//! | [`subdomains`](Subdomains) | the built preconditioner and its application (§7); `update` computes new values (§6.3) after `check` has refused invalid ones |
//! | [`additive`](AdditiveSchwarz), `cover` | one level with overlap, plain or restricted; its domains |
//! | [`inner`](Inner), `sweep` | the solvers of these domains: inverses, factors or sweeps |
//! | [`level`](Level) | levels of a hierarchy that the caller builds, such as one over ranks |
//! | `weights`, `least_energy` | the weights of the levels |
//! | `table` | the table of levels that `Display` prints |

mod additive;
mod backend;
mod check;
mod cover;
mod cpu;
mod dense;
mod domain_contacts;
mod domains;
mod eliminate;
mod exact;
mod inner;
mod least_energy;
mod level;
mod links;
mod numbers;
mod options;
mod order;
mod packed;
mod plan;
mod precompute;
mod reference;
mod schwarz;
mod source;
mod step;
mod structure;
mod subdomains;
mod sweep;
mod table;
mod tasks;
mod update;
mod weights;

pub use additive::{AdditiveSchwarz, OverlappingDomains};
pub use backend::{Changed, Inverses, Packed, SchwarzBackend, Top};
pub use cpu::CpuDomains;
pub use inner::Inner;
pub use level::{Level, LevelSolver};
pub use links::Coupling;
pub use options::{Arithmetic, Coarse, Repair, Storage, Weights};
pub use order::Order;
pub use plan::{Couplings, Numbering, Plan};
pub use schwarz::Schwarz;
pub use step::{DampedDomains, DomainStep};
pub use subdomains::Subdomains;
