//! Contact of cloth whose work is shared by ranks: P-Cloth (Li et al. 2020, ACM TOG 39(6)), §3.2.1, §4.2 and §4.4.
//!
//! Every rank has the positions of all nodes. The searches of a [`ClothContact`](coarsen_contact::ClothContact) are
//! shared by [`RankSearch`]. Every rank receives all results, or with [`RankSearch::at_nodes_of`] those at the nodes of its
//! rows, in the same order and with the same bits at any number of ranks. Forces belong to the owners of rows: each rank computes the elements at its nodes, those at the
//! border of two ranks on both, and no matrix entry is sent.
//!
//! | symbol | here | file |
//! |---|---|---|
//! | Workload Table, load distribution | pairs, touches and impacts in equal shares | [`search`](RankSearch) |
//! | | hashes of what is near the queries of a rank | `local_broad_phase` |
//! | | pairs, touches and impacts as messages | `messages` |
//! | | errors that one rank finds and all ranks return | `shared` |
//! | assembly elements of a rank | the triangles and pairs at its nodes | [`elements`](own_triangles) |
//! | | positions of nodes that moved, for all ranks | [`moved`](share_moved) |
//! | impact zones, master | pairs that would meet in a step; rank 0 keeps them apart | [`zones`](resolve_impacts) |
//! | f, J of contact, own rows | derivatives of contact; the Hessian of friction | [`rows`](contact_rows) |

mod elements;
mod local_broad_phase;
mod messages;
mod moved;
mod rows;
mod search;
mod shared;
mod zones;

pub use elements::{Own, own_triangles};
pub use moved::share_moved;
pub use rows::{add_contact_gradient, contact_hessian_rows, contact_rows};
pub use search::RankSearch;
pub use zones::{ROUNDS, Resolved, resolve_impacts};
