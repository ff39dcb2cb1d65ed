//! Assembly of the rows of each rank. No rank ever holds the whole matrix.
//!
//! | file | who computes an entry | messages |
//! |---|---|---|
//! | [`entries`](Entries) | any rank | entries of other ranks are sent to the owner of their row |
//! | [`owners`](OwnerFill) | every rank that owns a row of it, redundantly | none |
//!
//! Both sum duplicates in a fixed order. If the ranks take consecutive elements in increasing order
//! (`entries`), or list all elements in the same order (`owners`), a matrix has the same bits at any number
//! of ranks.

mod entries;
mod owners;

pub use entries::Entries;
pub use owners::OwnerFill;
