//! Which nodes each rank takes, and their new order.

use std::path::Path;

use coarsen_distributed::Layout;
use coarsen_sparse::{Bsr, Classes, morton, partition};

use crate::arguments::{Division, Product, Solve, name};
use crate::failure::{Failure, check_rows};

/// The order of the nodes: `old[k]` is the given number of node k, and `new` its inverse. Empty in the given order.
pub(crate) struct Order {
    old: Vec<u32>,
    new: Vec<u32>,
}

/// The order and the layout of the command line. Every rank computes it for itself, in 12 bytes per node and the
/// coordinates or the text of the file of `--parts`; no rank needs the matrix for it.
pub(crate) fn divide(
    options: &Solve,
    rows: u64,
    block: usize,
    ranks: usize,
    positions: Option<&[[f64; 3]]>,
) -> Result<(Order, Layout), Failure> {
    let reproducible = options.product == Product::Reproducible;
    let even = || match reproducible {
        true => Layout::reproducible(rows, block, ranks, options.leaf as usize),
        false => Layout::even(rows, block, ranks),
    };
    if let Some(file) = &options.parts {
        return if reproducible { Err(unaligned()) } else { by_parts(&read(file, rows, ranks)?, block) };
    }
    let positions = match (options.partition, positions) {
        (Division::Even, _) => return Ok((Order::new(Vec::new()), even()?)),
        (other, None) => {
            let what = "needs the coordinates of the nodes; give --coordinates FILE";
            return Err(Failure::Usage(format!("--partition {} {what}", name(other))));
        }
        (Division::Bisection, _) if reproducible => return Err(unaligned()),
        (_, Some(positions)) => positions,
    };
    if options.partition == Division::Morton {
        return Ok((Order::new(morton::order(positions).map_err(Failure::Core)?), even()?));
    }
    by_parts(&partition::coordinate_bisection(positions, ranks).map_err(Failure::Core)?, block)
}

fn unaligned() -> Failure {
    let divides = "--product reproducible divides rows at multiples of --leaf";
    Failure::Usage(format!("{divides}; use --partition even or morton, and no --parts"))
}

/// Each rank takes the nodes of its part, in the given order.
fn by_parts(parts: &Classes, block: usize) -> Result<(Order, Layout), Failure> {
    let (offsets, nodes) = parts.members();
    let starts = offsets.into_iter().map(|offset| offset as u64).collect();
    Ok((Order::new(nodes), Layout::new(starts, block)?))
}

/// The rank of each node: one number per line, as METIS writes it. Empty lines count for nothing.
fn read(file: &Path, rows: u64, ranks: usize) -> Result<Classes, Failure> {
    let failed = |error: std::io::Error| {
        let kind = error.kind();
        Failure::input(
            file,
            format!("cannot be read ({kind}); check the name and the permissions of the file of --parts"),
        )
    };
    let text = std::fs::read_to_string(file).map_err(failed)?;
    let mut of = Vec::with_capacity(rows as usize);
    for (line, word) in (1..).zip(text.lines().map(str::trim)).filter(|(_, word)| !word.is_empty()) {
        match word.parse::<u32>() {
            Ok(rank) if (rank as usize) < ranks => of.push(rank),
            _ => {
                let expected = format!("expected a rank below {ranks}, the number of ranks");
                let cure = "divide the nodes into as many parts as there are ranks";
                return Err(Failure::input(file, format!("line {line}: {expected}, found `{word}`; {cure}")));
            }
        }
    }
    check_rows(file, "one per node", rows as usize, of.len())?;
    Classes::new(ranks, of).map_err(Failure::Core)
}

impl Order {
    fn new(old: Vec<u32>) -> Self {
        let mut new = vec![0; old.len()];
        old.iter().enumerate().for_each(|(k, &node)| new[node as usize] = k as u32);
        Self { old, new }
    }

    /// The new number of a node.
    pub(crate) fn of(&self, node: u64) -> u64 {
        self.new.get(node as usize).map_or(node, |&k| u64::from(k))
    }

    /// The given number of node k.
    pub(crate) fn old(&self, k: u64) -> usize {
        self.old.get(k as usize).map_or(k as usize, |&node| node as usize)
    }

    /// The given numbers of some nodes.
    pub(crate) fn old_numbers(&self, nodes: std::ops::Range<u64>) -> Vec<u32> {
        nodes.map(|k| self.old(k) as u32).collect()
    }

    /// The rows of nodes in a list with `size` numbers for each node.
    pub(crate) fn part(&self, all: &[f64], size: usize, nodes: std::ops::Range<u64>) -> Vec<f64> {
        nodes.flat_map(|k| all[self.old(k) * size..(self.old(k) + 1) * size].iter().copied()).collect()
    }

    /// A vector in the given order.
    pub(crate) fn given(&self, x: &[f64], size: usize) -> Vec<f64> {
        let nodes = 0..(x.len() / size) as u64;
        nodes.flat_map(|node| x[self.of(node) as usize * size..][..size].iter().copied()).collect()
    }

    /// Row k of some rows of a matrix, with new columns.
    pub(crate) fn row<'a>(&self, a: &'a Bsr<f64>, k: usize) -> Vec<(u64, &'a [f64])> {
        let mut row: Vec<_> = a.row(k).map(|(j, block)| (self.of(j as u64), block)).collect();
        row.sort_unstable_by_key(|(j, _)| *j);
        row
    }
}
