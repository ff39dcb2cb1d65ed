//! A backend with several ranks. Each rank is a thread that has a share of every vector and some rows of
//! every matrix. Every method runs on it unchanged.
//!
//! | file | what |
//! |---|---|
//! | `world` | communication between ranks |
//! | `vector` | shares of vectors, and sums over them |
//! | `matrix` | rows, halo exchange, relaxation by one rank at a time |
//! | `mod` | the backend |
//! | `invariants` | the tests |

mod invariants;
mod matrix;
mod vector;
mod world;

use std::sync::Arc;

use coarsen::Error;
use coarsen::backend::{Backend, DenseBlocks, RowSets};
use coarsen::prelude::*;
use coarsen::sparse::Pattern;

use matrix::{Diagonal, Rows};
use vector::{Ranks, Share};
use world::World;

/// Weights that divide vectors among the ranks: even, uneven, with an empty rank at either end or in between,
/// and a single rank.
const SHARES: [&[usize]; 6] = [&[1, 1], &[3, 1], &[1, 0], &[0, 1], &[2, 0, 1], &[1]];

/// Runs `f` on every rank and returns the results.
fn on_ranks<R: Send>(weights: &[usize], f: impl Fn(&Ranks) -> R + Sync) -> Vec<R> {
    World::run(weights.len(), |world, rank| f(&Ranks { world: world.clone(), rank, weights: weights.into() }))
}

impl Backend for Ranks {
    type Real = f64;
    type Stored = f64;
    type Vector = Share;
    type Matrix = Rows;
    type Blocks = Diagonal;
    type Rows = RowSets;

    fn name(&self) -> &'static str {
        "ranks"
    }
    fn vector(&self, host: &[f64]) -> Result<Share, Error> {
        Ok(Share { backend: self.clone(), n: host.len(), own: host[self.range(host.len())].to_vec() })
    }
    fn matrix<T: Real>(&self, host: &Bsr<T>) -> Result<Rows, Error> {
        Rows::cut(self, host)
    }
    fn blocks<T: Real>(&self, host: &DenseBlocks<T>) -> Result<Diagonal, Error> {
        Diagonal::cut(self, host)
    }
    fn apply_blocks(d: &Diagonal, a: f64, r: &Share, b: f64, z: &mut Share) {
        d.apply(a, r, b, z);
    }
    fn set_blocks<T: Real>(d: &mut Diagonal, host: &DenseBlocks<T>) -> Result<(), Error> {
        d.set_values(host)
    }
    fn rows(&self, sets: &RowSets) -> Result<RowSets, Error> {
        Ok(sets.clone())
    }
    fn relaxation_order(&self, pattern: &Arc<Pattern>) -> RowSets {
        RowSets::chunked(pattern, 16)
    }
    fn read(&self, v: &Share, host: &mut [f64]) -> Result<(), Error> {
        if host.len() != v.n {
            return Err(Error::Shape { what: "host slice", expected: v.n, found: host.len() });
        }
        let all = self.world.gather(self.rank, "a read", v.own.clone());
        host.copy_from_slice(&all.concat());
        Ok(())
    }
    fn write(&self, host: &[f64], v: &mut Share) -> Result<(), Error> {
        if host.len() != v.n {
            return Err(Error::Shape { what: "host slice", expected: v.n, found: host.len() });
        }
        v.own.copy_from_slice(&host[self.range(v.n)]);
        Ok(())
    }
}
