//! The coarsest level of the ranks, gathered on rank 0 and solved there by multigrid of a single rank.

use std::sync::Arc;

use coarsen_backend::{Cpu, Setup};
use coarsen_core::{Class, Preconditioner};
use coarsen_distributed::{Communicator, DistError, DistVector, agree, pack, unpack};
use coarsen_multigrid::{Hierarchy, Multigrid, SmoothedAggregation};
use coarsen_sparse::{Bsr, NearKernel, Pattern, System};

use crate::extended::{pack_row, unpack_row};
use crate::step::LevelRows;

/// The rank that solves.
const ROOT: usize = 0;

/// The solver on rank 0; the other ranks only send and receive.
pub(crate) struct Gathered {
    solver: Option<Hierarchy>,
    b: Vec<f64>,
    x: Vec<f64>,
    pub(crate) levels: usize,
    /// The class of the solver.
    pub(crate) class: Class,
    pub(crate) entries: u64,
}

impl Gathered {
    /// All ranks call it.
    pub(crate) fn new<C: Communicator>(
        recipe: &Multigrid<SmoothedAggregation>,
        level: &LevelRows<C>,
    ) -> Result<Self, DistError> {
        let comm = level.on.comm();
        let (mut rows, mut kernel) = (Vec::new(), Vec::new());
        for k in 0..level.rows.count() {
            let mut row = Vec::new();
            pack_row(level.rows.row(k), &mut row);
            pack([row.len() as u64], &mut rows);
            rows.extend(row);
        }
        pack(level.near_kernel.values().iter().copied(), &mut kernel);
        let (rows, kernel) = (comm.gather(ROOT, &rows)?, comm.gather(ROOT, &kernel)?);
        let built = rows.zip(kernel).map(|(rows, kernel)| build(recipe, level, &rows, &kernel)).transpose();
        let solver = agree(comm, built)?;
        let mut about = Vec::new();
        if let Some(solver) = &solver {
            pack([solver.levels() as u64, Preconditioner::<Vec<f64>>::class(solver) as u64], &mut about);
        }
        comm.broadcast(ROOT, &mut about)?;
        let n = level.on.layout().unknowns();
        let mut entries = [(level.rows.columns().len() * level.rows.block().0 * level.rows.block().1) as f64];
        comm.all_reduce(&mut entries)?;
        let levels = unpack::<u64>(&about).next().unwrap_or(1) as usize;
        let known = [Class::Symmetric, Class::Linear].into_iter();
        let class =
            unpack::<u64>(&about).nth(1).and_then(|told| known.clone().find(|class| *class as u64 == told));
        let class = class.unwrap_or(Class::Variable);
        Ok(Self { solver, b: Vec::new(), x: vec![0.0; n], levels, class, entries: entries[0] as u64 })
    }

    /// x ≈ A⁻¹ b; x is NaN if the ranks cannot communicate.
    pub(crate) fn solve<C: Communicator>(&mut self, b: &DistVector<C>, x: &mut DistVector<C>) {
        if self.exchange(b, x).is_err() {
            x.own_mut().fill(f64::NAN); // `sync` of the vector returns the error
        }
    }

    fn exchange<C: Communicator>(
        &mut self,
        b: &DistVector<C>,
        x: &mut DistVector<C>,
    ) -> Result<(), DistError> {
        let (on, comm) = (b.partition(), b.partition().comm());
        let mut own = Vec::new();
        pack(b.own().iter().copied(), &mut own);
        let mut all = Vec::new();
        if let (Some(parts), Some(solver)) = (comm.gather(ROOT, &own)?, &mut self.solver) {
            self.b.clear();
            parts.iter().for_each(|part| self.b.extend(unpack::<f64>(part)));
            solver.apply(&self.b, &mut self.x);
            pack(self.x.iter().copied(), &mut all);
        }
        comm.broadcast(ROOT, &mut all)?;
        let first = on.first() as usize * on.layout().block();
        let part = &all[8 * first..8 * (first + x.own().len())];
        x.own_mut().iter_mut().zip(unpack::<f64>(part)).for_each(|(x, v)| *x = v);
        Ok(())
    }
}

/// The hierarchy of the whole level, on rank 0.
fn build<C: Communicator>(
    recipe: &Multigrid<SmoothedAggregation>,
    level: &LevelRows<C>,
    rows: &[Vec<u8>],
    kernel: &[Vec<u8>],
) -> Result<Hierarchy, DistError> {
    let (mut offsets, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for part in rows {
        let mut rest = &part[..];
        while let Some((head, after)) = rest.split_at_checked(8) {
            let (row, after) = after.split_at(unpack::<u64>(head).next().unwrap_or_default() as usize);
            let (columns, blocks) = unpack_row(row);
            indices.extend(columns.iter().map(|&column| column as u32));
            values.extend(blocks);
            offsets.push(indices.len());
            rest = after;
        }
    }
    let pattern = Pattern::new(level.on.layout().rows() as usize, offsets, indices)?;
    let a = Bsr::new(Arc::new(pattern), level.rows.block(), values)?;
    let kernel: Vec<f64> = kernel.iter().flat_map(|part| unpack::<f64>(part)).collect();
    let kernel = NearKernel::from_rows(level.near_kernel.vectors(), kernel);
    let kernel = kernel.map_err(|error| DistError::Setup(error.into()))?;
    let system = System { near_kernel: Some(&kernel), ..System::from(&a) };
    Ok(recipe.build_from(system, &Cpu::new())?)
}
