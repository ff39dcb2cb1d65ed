//! Plain loops with which every other backend is compared.
//!
//! The code is serial and not optimised, so that it is easy to check.

use std::sync::Arc;

use coarsen_core::{Error, LinearOperator, Real};
use coarsen_sparse::{Bsr, Pattern};

use crate::range::same_length;
use crate::{Backend, DenseBlocks, Matrix, RowSets, SweepDirection};

/// The reference backend: `Vec<f64>`, matrices as lists of scalar entries, serial loops.
///
/// *Use* in tests only.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reference;

/// A matrix as scalar entries in row order.
#[derive(Clone, Debug)]
pub struct ReferenceMatrix {
    pattern: Arc<Pattern>,
    shape: (usize, usize),
    block: usize,
    entries: Vec<(usize, usize, f64)>,
}

/// Dense blocks, stored as on the host.
#[derive(Clone, Debug)]
pub struct ReferenceBlocks(DenseBlocks<f64>);

impl Backend for Reference {
    type Real = f64;
    type Stored = f64;
    type Vector = Vec<f64>;
    type Matrix = ReferenceMatrix;
    type Blocks = ReferenceBlocks;
    type Rows = RowSets;

    fn name(&self) -> &'static str {
        "reference"
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
    fn blocks<T: Real>(&self, host: &DenseBlocks<T>) -> Result<ReferenceBlocks, Error> {
        Ok(ReferenceBlocks(host.to()))
    }
    fn apply_blocks(d: &ReferenceBlocks, a: f64, r: &Vec<f64>, b: f64, z: &mut Vec<f64>) {
        let size = d.0.size();
        for node in 0..d.0.count() {
            for i in 0..size {
                let row = node * size + i;
                let sum: f64 = (0..size).map(|j| d.0.block(node)[i * size + j] * r[node * size + j]).sum();
                z[row] = if b == 0.0 { a * sum } else { a * sum + b * z[row] };
            }
        }
    }
    fn set_blocks<T: Real>(d: &mut ReferenceBlocks, host: &DenseBlocks<T>) -> Result<(), Error> {
        same_length("block size", d.0.size(), host.size())?;
        same_length("dense blocks", d.0.count(), host.count())?;
        d.0 = host.to();
        Ok(())
    }
    fn rows(&self, sets: &RowSets) -> Result<RowSets, Error> {
        Ok(sets.clone())
    }
    fn relaxation_order(&self, pattern: &Arc<Pattern>) -> RowSets {
        RowSets::natural(pattern)
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
        d: &ReferenceBlocks,
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
                    x[node * size + i] += omega * d.0.block(node)[i * size + j] * r[j];
                }
            }
        }
    }

    fn set_values<T: Real>(&mut self, host: &Bsr<T>) -> Result<(), Error> {
        if !Pattern::same(&self.pattern, host.pattern()) {
            return Err(Error::Pattern { what: "the matrix given to set_values" });
        }
        same_length("matrix values", self.entries.len(), host.nnz())?;
        self.entries = entries(host);
        Ok(())
    }
}
