//! The couplings between the nodes of a level and their strengths, along which domains grow.

use std::ops::Range;

use coarsen_core::parallel::{self, tree};
use coarsen_core::{Error, Real};

use crate::domains::{Domains, NONE};
use crate::source::Source;

/// The definition of a coupling for the growth of domains.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Coupling {
    /// Every stored block that is not zero, all with the same weight (§5.2: topological proximity or
    /// contact).
    Adjacency,
    /// ‖A_ij‖ / (‖A_ii‖ ‖A_jj‖)^½ in the Frobenius norm. A coupling is ignored if it is below `theta` times
    /// the strongest coupling of at least one of its two nodes.
    ///
    /// If a diagonal block is zero, as for a Lagrange multiplier, the coupling has strength 1. Domains follow
    /// stiff directions and do not extend from a stiff region into a soft region. (§8.6 leaves this to future
    /// work.)
    Strength {
        /// The threshold, in 0..1; with 0, couplings have weights and no coupling is ignored.
        theta: f64,
    },
}

impl Coupling {
    pub(crate) fn validate(self) -> Result<(), Error> {
        match self {
            Self::Strength { theta } if !(0.0..1.0).contains(&theta) => {
                Err(Error::Parameter { name: "Coupling::Strength::theta", value: theta, range: "in 0..1" })
            }
            _ => Ok(()),
        }
    }
}

/// The neighbours of each node, row by row, with weights; a coupling of weight 0 is ignored.
#[derive(Clone, Debug, Default)]
pub(crate) struct Links {
    starts: Vec<usize>,
    to: Vec<u32>,
    weight: Vec<f32>,
}

/// The number of rows per task.
const CHUNK: usize = 2048;

/// The largest number of tasks that sum the links between domains.
const TASKS: usize = 64;

impl Links {
    /// Returns the links of a matrix, and whether each node has a link. Nodes without links are constrained
    /// and need no domain.
    pub(crate) fn of<T: Real>(source: Source<'_, T>, coupling: Coupling) -> (Self, Vec<bool>) {
        let n = source.nodes();
        let worth = parallel::worth(source.matrix.nnz());
        let sizes: Vec<f64> = match coupling {
            Coupling::Adjacency => Vec::new(),
            Coupling::Strength { .. } => {
                tree(0..n, CHUNK, worth, &|rows| diagonal_sizes(source, rows), &join)
            }
        };
        let leaf = |rows: Range<usize>| {
            let mut links = Self { starts: vec![0], ..Self::default() };
            for i in rows {
                let weight = |(j, block): (usize, &[T])| match coupling {
                    Coupling::Adjacency => f32::from(u8::from(block.iter().any(|v| !v.is_zero()))),
                    Coupling::Strength { .. } => match (sizes[i] * sizes[j]).sqrt() {
                        0.0 => f32::from(u8::from(block.iter().any(|v| !v.is_zero()))),
                        scale => (norm(block) / scale) as f32,
                    },
                };
                for link in source.elastic(i).filter(|(j, _)| *j != i) {
                    links.push(link.0 as u32, weight(link));
                }
                let elastic = links.to.len();
                for link in source.contact(i).filter(|(j, _)| *j != i) {
                    links.add(elastic, link.0 as u32, weight(link));
                }
                links.starts.push(links.to.len());
            }
            links
        };
        let mut links = tree(0..n, CHUNK, worth, &leaf, &Self::append);
        let coupled = (0..n).map(|i| links.row(i).any(|(_, w)| w > 0.0)).collect();
        if let Coupling::Strength { theta } = coupling {
            links.drop_weak(theta as f32);
        }
        (links, coupled)
    }

    pub(crate) fn none(nodes: usize) -> Self {
        Self { starts: vec![0; nodes + 1], ..Self::default() }
    }

    fn push(&mut self, j: u32, weight: f32) {
        self.to.push(j);
        self.weight.push(weight);
    }

    /// Adds a neighbour by contact, unless the current row already contains this neighbour before `elastic`, where
    /// columns are sorted. A node touches each neighbour once.
    fn add(&mut self, elastic: usize, j: u32, weight: f32) {
        let row = self.starts[self.starts.len() - 1];
        match self.to[row..elastic].binary_search(&j) {
            Ok(k) => self.weight[row + k] = self.weight[row + k].max(weight),
            Err(_) => self.push(j, weight),
        }
    }

    fn append(mut self, mut other: Self) -> Self {
        let first = self.to.len();
        self.starts.extend(other.starts[1..].iter().map(|s| s + first));
        self.to.append(&mut other.to);
        self.weight.append(&mut other.weight);
        self
    }

    /// Sets a weight to 0 if it is below theta times the largest weight of its two rows.
    fn drop_weak(&mut self, theta: f32) {
        let n = self.starts.len() - 1;
        let largest: Vec<f32> = (0..n).map(|i| self.row(i).map(|l| l.1).fold(0.0, f32::max)).collect();
        for i in 0..n {
            for k in self.starts[i]..self.starts[i + 1] {
                if self.weight[k] < theta * largest[i].max(largest[self.to[k] as usize]) {
                    self.weight[k] = 0.0;
                }
            }
        }
    }

    pub(crate) fn nodes(&self) -> usize {
        self.starts.len() - 1
    }

    /// Returns the neighbours of node i with their weights, without i.
    #[inline]
    pub(crate) fn row(&self, i: usize) -> impl Iterator<Item = (u32, f32)> {
        let range = self.starts[i]..self.starts[i + 1];
        self.to[range.clone()].iter().copied().zip(self.weight[range].iter().copied())
    }

    /// Returns the columns of row i, in increasing order on coarse levels.
    pub(crate) fn columns(&self, i: usize) -> &[u32] {
        &self.to[self.starts[i]..self.starts[i + 1]]
    }

    /// Returns the links between domains, with summed weights, as in C A Cᵀ.
    pub(crate) fn coarsen(&self, domains: &Domains) -> Self {
        let leaf = |rows: Range<usize>| {
            let mut links = Self { starts: vec![0], ..Self::default() };
            let mut seen = vec![NONE; domains.count()];
            let mut row: Vec<(u32, f32)> = Vec::new();
            for d in rows {
                row.clear();
                for &i in domains.nodes(d) {
                    for (j, w) in self.row(i as usize) {
                        let e = domains.of(j as usize);
                        if e == NONE || e as usize == d {
                            continue;
                        }
                        match row.get_mut(seen[e as usize] as usize).filter(|link| link.0 == e) {
                            Some(link) => link.1 += w,
                            None => {
                                seen[e as usize] = row.len() as u32;
                                row.push((e, w));
                            }
                        }
                    }
                }
                row.sort_unstable_by_key(|link| link.0);
                links.to.extend(row.iter().map(|link| link.0));
                links.weight.extend(row.iter().map(|link| link.1));
                links.starts.push(links.to.len());
            }
            links
        };
        // Each task has a number for every domain, so there are few tasks.
        let least = domains.count().div_ceil(TASKS).max(512);
        tree(0..domains.count(), least, parallel::worth(8 * self.to.len()), &leaf, &Self::append)
    }
}

fn diagonal_sizes<T: Real>(source: Source<'_, T>, rows: Range<usize>) -> Vec<f64> {
    let mut block = vec![T::zero(); source.block().pow(2)];
    rows.map(|i| {
        block.fill(T::zero());
        source.diagonal(i, &mut block);
        norm(&block)
    })
    .collect()
}

fn join(mut a: Vec<f64>, mut b: Vec<f64>) -> Vec<f64> {
    a.append(&mut b);
    a
}

/// Returns the Frobenius norm.
fn norm<T: Real>(block: &[T]) -> f64 {
    block.iter().map(|v| v.as_f64() * v.as_f64()).sum::<f64>().sqrt()
}
