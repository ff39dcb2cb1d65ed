//! The rows of a matrix on one rank: the columns of its own unknowns, the columns of other ranks, and the
//! received entries of x.

use std::cell::RefCell;
use std::sync::Arc;

use coarsen::Error;
use coarsen::backend::{DenseBlocks, Matrix, RowSets, SweepDirection};
use coarsen::prelude::*;
use coarsen::sparse::Pattern;

use super::vector::{Ranks, Share};

/// Block rows of a matrix; the matrix is the same on all ranks before it is divided.
pub(super) struct Rows {
    backend: Ranks,
    shape: (usize, usize),
    pattern: Arc<Pattern>,
    own: Bsr<f64>,
    others: Bsr<f64>,
    /// The global block columns of `others`.
    ghosts: Vec<usize>,
    /// The entries of x in these columns; scratch of a product.
    received: RefCell<Vec<f64>>,
}

impl Rows {
    pub(super) fn cut<T: Real>(backend: &Ranks, a: &Bsr<T>) -> Result<Self, Error> {
        let ((n, m), (r, c)) = (a.shape(), a.block());
        let (rows, columns) = (backend.range(n), backend.range(m));
        let (rows, columns) = (rows.start / r..rows.end / r, columns.start / c..columns.end / c);
        let mut ghosts: Vec<usize> =
            rows.clone().flat_map(|i| a.row(i).map(|(j, _)| j)).filter(|j| !columns.contains(j)).collect();
        ghosts.sort_unstable();
        ghosts.dedup();
        let part = |width: usize, place: &dyn Fn(usize) -> Option<usize>| {
            let (mut offsets, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
            for i in rows.clone() {
                for (j, block) in a.row(i) {
                    if let Some(at) = place(j) {
                        indices.push(at as u32);
                        values.extend(block.iter().map(|v| v.as_f64()));
                    }
                }
                offsets.push(indices.len());
            }
            let pattern = Pattern::new(width, offsets, indices).expect("a part of a pattern");
            Bsr::new(Arc::new(pattern), (r, c), values).expect("a block for each place")
        };
        let own = part(columns.len(), &|j| columns.contains(&j).then(|| j - columns.start));
        let others = part(ghosts.len(), &|j| ghosts.binary_search(&j).ok());
        let received = RefCell::new(vec![0.0; ghosts.len() * c]);
        let (backend, pattern) = (backend.clone(), a.pattern().clone());
        Ok(Self { backend, shape: (n, m), pattern, own, others, ghosts, received })
    }

    /// The halo exchange: each rank posts its own entries of x and receives the missing entries.
    fn receive(&self, x: &Share) {
        assert!(x.backend.is_same(&self.backend) && x.n == self.shape.1, "a vector of another layout");
        let (all, c) =
            (self.backend.world.gather(self.backend.rank, "a halo", x.own.clone()), self.own.block().1);
        let mut received = self.received.borrow_mut();
        for (column, to) in self.ghosts.iter().zip(received.chunks_exact_mut(c)) {
            let first = column * c;
            let owner = (0..self.backend.world.ranks())
                .find(|&rank| self.backend.range_of(rank, self.shape.1).contains(&first))
                .expect("somebody owns it");
            let at = first - self.backend.range_of(owner, self.shape.1).start;
            to.copy_from_slice(&all[owner][at..at + c]);
        }
    }
}

impl LinearOperator<Share> for Rows {
    fn shape(&self) -> (usize, usize) {
        self.shape
    }

    fn apply(&self, x: &Share, y: &mut Share) {
        self.apply_add(1.0, x, 0.0, y);
    }
}

impl Matrix<Ranks> for Rows {
    fn apply_add(&self, a: f64, x: &Share, b: f64, y: &mut Share) {
        assert!(y.backend.is_same(&self.backend) && y.n == self.shape.0, "a vector of another layout");
        self.receive(x);
        self.own.apply_add(a, &x.own, b, &mut y.own);
        self.others.apply_add(a, &self.received.borrow(), 1.0, &mut y.own);
    }

    /// The ranks relax their parts of each set one after the other, so that a chunk that spans several ranks
    /// is relaxed in order.
    fn relax(
        &self,
        rows: &RowSets,
        sweep: SweepDirection,
        d: &Diagonal,
        omega: f64,
        b: &Share,
        x: &mut Share,
    ) {
        let (size, range) = (self.own.block().0, self.backend.range(self.shape.0));
        let (first, ranks) = (range.start / size, self.backend.world.ranks());
        let mut turns: Vec<(usize, usize)> =
            (0..rows.sets().len()).flat_map(|set| (0..ranks).map(move |rank| (set, rank))).collect();
        if sweep == SweepDirection::Backward {
            turns.reverse();
        }
        for (set, rank) in turns {
            self.receive(x);
            if rank != self.backend.rank {
                continue;
            }
            let mut nodes: Vec<usize> = rows.sets()[set].iter().cloned().flatten().collect();
            nodes.retain(|node| range.contains(&(node * size)));
            if sweep == SweepDirection::Backward {
                nodes.reverse();
            }
            for node in nodes.into_iter().map(|node| node - first) {
                let mut r = b.own[node * size..(node + 1) * size].to_vec();
                let received = self.received.borrow();
                for (part, x) in [(&self.own, &x.own), (&self.others, &*received)] {
                    for (j, block) in part.row(node) {
                        for (r, row) in r.iter_mut().zip(block.chunks_exact(size)) {
                            *r -= row.iter().zip(&x[j * size..]).map(|(a, x)| a * x).sum::<f64>();
                        }
                    }
                }
                for (x, row) in x.own[node * size..].iter_mut().zip(d.own.block(node).chunks_exact(size)) {
                    *x += omega * row.iter().zip(&r).map(|(d, r)| d * r).sum::<f64>();
                }
            }
        }
    }

    fn set_values<T: Real>(&mut self, host: &Bsr<T>) -> Result<(), Error> {
        if !Pattern::same(&self.pattern, host.pattern()) {
            return Err(Error::Pattern { what: "the matrix given to set_values" });
        }
        *self = Self::cut(&self.backend, host)?;
        Ok(())
    }
}

/// The diagonal blocks of a rank.
pub(super) struct Diagonal {
    backend: Ranks,
    count: usize,
    own: DenseBlocks<f64>,
}

impl Diagonal {
    pub(super) fn cut<T: Real>(backend: &Ranks, d: &DenseBlocks<T>) -> Result<Self, Error> {
        let size = d.size();
        let (range, area) = (backend.range(d.count() * size), size * size);
        let values = d.values()[range.start / size * area..range.end / size * area].iter();
        let own = DenseBlocks::new(size, values.map(|v| v.as_f64()).collect()).expect("whole blocks");
        Ok(Self { backend: backend.clone(), count: d.count(), own })
    }

    pub(super) fn apply(&self, a: f64, r: &Share, b: f64, z: &mut Share) {
        let size = self.own.size();
        assert!(r.n == self.count * size && z.same_layout(r), "blocks and vectors of other layouts");
        for (k, (r, z)) in r.own.chunks_exact(size).zip(z.own.chunks_exact_mut(size)).enumerate() {
            for (z, row) in z.iter_mut().zip(self.own.block(k).chunks_exact(size)) {
                let sum: f64 = row.iter().zip(r).map(|(d, r)| d * r).sum();
                *z = if b == 0.0 { a * sum } else { a * sum + b * *z };
            }
        }
    }

    pub(super) fn set_values<T: Real>(&mut self, host: &DenseBlocks<T>) -> Result<(), Error> {
        for (what, expected, found) in
            [("block size", self.own.size(), host.size()), ("dense blocks", self.count, host.count())]
        {
            if expected != found {
                return Err(Error::Shape { what, expected, found });
            }
        }
        *self = Self::cut(&self.backend, host)?;
        Ok(())
    }
}
