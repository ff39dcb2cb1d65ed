//! Plain loops with which every other backend is compared.
//!
//! The code is serial and not optimised, so that it is easy to check.

use std::sync::Arc;

use coarsen_core::{Error, LinearOperator, Real};
use coarsen_sparse::{Bsr, Pattern};

use crate::range::same_length;
use crate::{Backend, DenseBlocks, Matrix, NumericBackend, RowSets, SetupError, SweepDirection};

/// The reference backend: `Vec<f64>`, matrices as lists of scalar entries, serial loops.
///
/// *Use* in tests only.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reference {
    /// The number of block rows of a chunk of [`relaxation_order`](Backend::relaxation_order); `None` is the natural order.
    pub chunk: Option<usize>,
    /// What [`is_remote`](Backend::is_remote) returns.
    pub remote: bool,
}

/// A matrix as scalar entries in row order.
#[derive(Clone, Debug)]
pub struct ReferenceMatrix {
    pattern: Arc<Pattern>,
    shape: (usize, usize),
    block: usize,
    entries: Vec<(usize, usize, f64)>,
}

impl Backend for Reference {
    type Real = f64;
    type Stored = f64;
    type Vector = Vec<f64>;
    type Matrix = ReferenceMatrix;
    type Blocks = DenseBlocks<f64>;
    type Rows = RowSets;

    fn name(&self) -> &'static str {
        "reference"
    }
    fn is_remote(&self) -> bool {
        self.remote
    }
    fn vector(&self, host: &[f64]) -> Result<Vec<f64>, Error> {
        Ok(host.to_vec())
    }
    fn matrix<T: Real>(&self, host: &Bsr<T>) -> Result<ReferenceMatrix, Error> {
        Ok(ReferenceMatrix {
            pattern: host.pattern().clone(),
            shape: host.shape(),
            block: host.block().0,
            entries: entries(host),
        })
    }
    fn blocks<T: Real>(&self, host: &DenseBlocks<T>) -> Result<DenseBlocks<f64>, Error> {
        Ok(host.to())
    }
    fn apply_blocks(d: &DenseBlocks<f64>, a: f64, r: &Vec<f64>, b: f64, z: &mut Vec<f64>) {
        let size = d.size();
        for node in 0..d.count() {
            for i in 0..size {
                let row = node * size + i;
                let sum: f64 = (0..size).map(|j| d.block(node)[i * size + j] * r[node * size + j]).sum();
                z[row] = if b == 0.0 { a * sum } else { a * sum + b * z[row] };
            }
        }
    }
    fn set_blocks<T: Real>(d: &mut DenseBlocks<f64>, host: &DenseBlocks<T>) -> Result<(), Error> {
        same_length("block size", d.size(), host.size())?;
        same_length("dense blocks", d.count(), host.count())?;
        *d = host.to();
        Ok(())
    }
    fn rows(&self, sets: &RowSets) -> Result<RowSets, Error> {
        Ok(sets.clone())
    }
    fn relaxation_order(&self, pattern: &Arc<Pattern>) -> RowSets {
        RowSets::chunked(pattern, self.chunk.unwrap_or(pattern.rows()))
    }
    fn read(&self, v: &Vec<f64>, host: &mut [f64]) -> Result<(), Error> {
        same_length("host slice", v.len(), host.len())?;
        host.copy_from_slice(v);
        Ok(())
    }
    fn write(&self, host: &[f64], v: &mut Vec<f64>) -> Result<(), Error> {
        same_length("host slice", v.len(), host.len())?;
        v.copy_from_slice(host);
        Ok(())
    }
}

impl NumericBackend for Reference {
    /// The unknowns without a basis function.
    type Galerkin = Vec<u32>;

    fn galerkin(&self, _: [&ReferenceMatrix; 3], without_basis: &[u32]) -> Result<Vec<u32>, Error> {
        Ok(without_basis.to_vec())
    }
    fn product(
        &self,
        without_basis: &Vec<u32>,
        a: &ReferenceMatrix,
        p: &ReferenceMatrix,
        coarse: &mut ReferenceMatrix,
    ) -> Result<(), Error> {
        coarse.entries.iter_mut().for_each(|entry| entry.2 = 0.0);
        for &(i, j, v) in &a.entries {
            for &(_, row, left) in p.row(i) {
                p.row(j).for_each(|&(_, column, right)| *coarse.entry(row, column) += left * v * right);
            }
        }
        let k = coarse.block;
        for at in without_basis.iter().map(|&unknown| unknown as usize) {
            let first = at / k * k;
            let largest = (first..first + k).map(|i| *coarse.entry(i, i)).fold(0.0, f64::max);
            *coarse.entry(at, at) = if largest > 0.0 { largest } else { 1.0 };
        }
        Ok(())
    }
    fn add(&self, _: &Vec<u32>, d: &ReferenceMatrix, coarse: &mut ReferenceMatrix) -> Result<(), Error> {
        d.check("the matrix of a sum", &coarse.pattern)?;
        coarse.entries.iter_mut().zip(&d.entries).for_each(|(c, d)| c.2 += d.2);
        Ok(())
    }
    fn copy_values(&self, from: &ReferenceMatrix, to: &mut ReferenceMatrix) -> Result<(), Error> {
        from.check("the matrix to copy", &to.pattern)?;
        to.entries.clone_from(&from.entries);
        Ok(())
    }
    fn read_values<T: Real>(&self, from: &ReferenceMatrix, to: &mut Bsr<T>) -> Result<(), Error> {
        from.check("the matrix to read", to.pattern())?;
        let (r, c) = to.block();
        for &(i, j, v) in &from.entries {
            let block = from.pattern.find(i / r, j / c).expect("entries are of the pattern");
            to.values_mut()[block * r * c + i % r * c + j % c] = T::from_f64(v);
        }
        Ok(())
    }
    fn invert_diagonal(
        &self,
        a: &ReferenceMatrix,
        d: &mut DenseBlocks<f64>,
        method: &'static str,
    ) -> Result<Option<f64>, SetupError> {
        let mut host = Bsr::<f64>::zeros(a.pattern.clone(), (a.block, a.block))?;
        self.read_values(a, &mut host)?;
        d.invert_diagonal(&host, method)?;
        d.check_positive(&host, method)?;
        let sum = |i: usize| a.row(i).map(|entry| entry.2.abs()).sum::<f64>() / host.get(i, i).abs();
        Ok((a.block == 1).then(|| (0..a.shape.0).map(sum).fold(0.0, f64::max)))
    }
}

impl ReferenceMatrix {
    fn row(&self, i: usize) -> impl Iterator<Item = &(usize, usize, f64)> {
        let first = self.entries.partition_point(|entry| entry.0 < i);
        self.entries[first..].iter().take_while(move |entry| entry.0 == i)
    }

    fn entry(&mut self, i: usize, j: usize) -> &mut f64 {
        let at = self.entries.binary_search_by_key(&(i, j), |entry| (entry.0, entry.1));
        &mut self.entries[at.expect("an entry of the pattern")].2
    }

    fn check(&self, what: &'static str, pattern: &Arc<Pattern>) -> Result<(), Error> {
        if Pattern::same(&self.pattern, pattern) { Ok(()) } else { Err(Error::Pattern { what }) }
    }
}

fn entries<T: Real>(a: &Bsr<T>) -> Vec<(usize, usize, f64)> {
    let (r, c) = a.block();
    let mut entries = Vec::with_capacity(a.nnz());
    for i in 0..a.pattern().rows() {
        for within in 0..r {
            for (j, block) in a.row(i) {
                for column in 0..c {
                    entries.push((i * r + within, j * c + column, block[within * c + column].as_f64()));
                }
            }
        }
    }
    entries
}

impl LinearOperator<Vec<f64>> for ReferenceMatrix {
    fn shape(&self) -> (usize, usize) {
        self.shape
    }
    fn apply(&self, x: &Vec<f64>, y: &mut Vec<f64>) {
        assert_eq!((y.len(), x.len()), self.shape);
        y.fill(0.0);
        for &(i, j, v) in &self.entries {
            y[i] += v * x[j];
        }
    }
}

impl Matrix<Reference> for ReferenceMatrix {
    fn apply_add(&self, a: f64, x: &Vec<f64>, b: f64, y: &mut Vec<f64>) {
        let mut ax = vec![0.0; y.len()];
        self.apply(x, &mut ax);
        for i in 0..y.len() {
            y[i] = if b == 0.0 { a * ax[i] } else { a * ax[i] + b * y[i] };
        }
    }

    fn relax(
        &self,
        rows: &RowSets,
        sweep: SweepDirection,
        d: &DenseBlocks<f64>,
        omega: f64,
        b: &Vec<f64>,
        x: &mut Vec<f64>,
    ) {
        let size = self.block;
        let mut order: Vec<usize> = rows.order().collect();
        if sweep == SweepDirection::Backward {
            order.reverse();
        }
        for node in order {
            let mut r: Vec<f64> = b[node * size..(node + 1) * size].to_vec();
            let first = self.entries.partition_point(|e| e.0 < node * size);
            for &(i, j, v) in self.entries[first..].iter().take_while(|e| e.0 / size == node) {
                r[i - node * size] -= v * x[j];
            }
            for i in 0..size {
                for j in 0..size {
                    x[node * size + i] += omega * d.block(node)[i * size + j] * r[j];
                }
            }
        }
    }

    fn set_values<T: Real>(&mut self, host: &Bsr<T>) -> Result<(), Error> {
        self.check("the matrix given to set_values", host.pattern())?;
        same_length("matrix values", self.entries.len(), host.nnz())?;
        self.entries = entries(host);
        Ok(())
    }
}
