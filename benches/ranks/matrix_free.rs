//! Products and solves of cloth without assembly beside assembled ones: Fig. 18 of Li et al. 2020, "P-Cloth".
//!
//! The matrices of triangles are stored, or evaluated in each product as in the paper; those of hinges are constant.

use std::sync::Arc;
use std::time::Duration;

use coarsen_core::{LinearOperator, Preconditioner, SplitMix64, Stop, Vector, parallel};
use coarsen_distributed::{
    Communicator, DistJacobi, DistMatrix, DistVector, GlobalRows, Layout, Partition, Spmv, ThreadComm,
};
use coarsen_distributed_solvers::own_triangles;
use coarsen_elastic::{Bending, Curvature, Fabric, Membrane, Plus, Potential};
use coarsen_krylov::Cg;
use coarsen_sparse::Bsr;

use crate::Outcome;
use crate::clock::processor;
use crate::elements::{Diagonal, Elements};

/// Repetitions; the least time counts.
const ROUNDS: usize = 3;

/// Products that are timed together, since the processor time of a thread is counted in steps of milliseconds.
const PRODUCTS: usize = 100;

pub(crate) const FABRIC: Fabric = Fabric { stretch: 5e3, coupling: 0.0, shear: 1e3 };
pub(crate) const BENDING: f64 = 3.0 * 5e-5;
pub(crate) const DENSITY: f64 = 0.2;

/// Δt, and the tolerance and the limit of the paper.
pub(crate) const DT: f64 = 1.0 / 250.0;
const TOLERANCE: f64 = 1e-2;
const MOST: usize = 500;

/// A waved sheet of n x n vertices, without held ones.
pub(crate) struct Sheet {
    pub(crate) triangles: Vec<[u32; 3]>,
    pub(crate) rest: Vec<[f64; 3]>,
    pub(crate) x: Vec<[f64; 3]>,
}

fn sheet(n: u32) -> Sheet {
    let h = 1.0 / f64::from(n - 1);
    let cell = |c: u32| {
        let a = c / (n - 1) * n + c % (n - 1);
        [[a, a + 1, a + n], [a + 1, a + n + 1, a + n]]
    };
    let rest: Vec<[f64; 3]> = (0..n * n).map(|v| [f64::from(v / n) * h, f64::from(v % n) * h, 0.0]).collect();
    let noise = SplitMix64::new(3).numbers(3 * rest.len());
    let place = |(v, &[u, w, _]): (usize, &[f64; 3])| {
        let z = 0.003 * (12.0 * std::f64::consts::PI * w + 3.0 * u).sin();
        let shake = |k: usize| 0.02 * h * noise[3 * v + k];
        [u + shake(0), w + shake(1), z + shake(2)]
    };
    let x = rest.iter().enumerate().map(place).collect();
    Sheet { triangles: (0..(n - 1) * (n - 1)).flat_map(cell).collect(), rest, x }
}

/// The assembled A, with its pattern known.
struct Assembled<'a, C: Communicator, F> {
    free: &'a Elements<C>,
    x: &'a [f64],
    cloth: F,
    h: Bsr<f64>,
    a: DistMatrix<C>,
}

/// M / Δt² + K of the rows of this rank.
fn rows<C: Communicator>(
    free: &Elements<C>,
    x: &[f64],
    cloth: &mut impl Potential,
    h: &mut Bsr<f64>,
) -> Outcome<GlobalRows<f64>> {
    let own = free.partition.layout().range(free.partition.rank());
    h.values_mut().fill(0.0);
    cloth.add_hessian(x, Curvature::Projected, h.values_mut());
    for (mass, v) in free.inertia.iter().zip(own.clone()) {
        if let Some(at) = h.pattern().find(v as usize, v as usize) {
            (0..3).for_each(|p| h.values_mut()[9 * at + 4 * p] += mass);
        }
    }
    Ok(GlobalRows::of(h, own)?)
}

impl<C: Communicator, F> LinearOperator<DistVector<C>> for Assembled<'_, C, F> {
    fn shape(&self) -> (usize, usize) {
        self.a.shape()
    }

    fn apply(&self, x: &DistVector<C>, y: &mut DistVector<C>) {
        self.a.apply(x, y);
    }
}

/// A matrix that is computed anew in each time step.
trait Step<C: Communicator>: LinearOperator<DistVector<C>> {
    /// Computes A. Returns the inverse of its diagonal.
    fn update(&mut self) -> Outcome<Box<dyn Preconditioner<DistVector<C>>>>;
}

impl<C: Communicator> Step<C> for Elements<C> {
    fn update(&mut self) -> Outcome<Box<dyn Preconditioner<DistVector<C>>>> {
        self.evaluate();
        Ok(Box::new(Diagonal(self.jacobi()?)))
    }
}

impl<C: Communicator, F: Potential> Step<C> for Assembled<'_, C, F> {
    fn update(&mut self) -> Outcome<Box<dyn Preconditioner<DistVector<C>>>> {
        let Self { free, x, cloth, h, a } = self;
        a.set_values(&rows(free, x, cloth, h)?)?;
        Ok(Box::new(DistJacobi::new(&self.a, 1.0)?))
    }
}

/// Processor seconds of an update, of a product, and of update and solve; iterations; and the norm of a product.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    seconds: [f64; 3],
    iterations: usize,
    norm: f64,
}

/// Times updates, products, and updates with solves.
fn timed<C: Communicator>(partition: &Arc<Partition<C>>, a: &mut impl Step<C>) -> Outcome<Row> {
    let b = partition.part_of(&SplitMix64::new(7).numbers(partition.layout().unknowns()))?;
    let (mut best, mut row) = ([f64::INFINITY; 3], Row::default());
    for _ in 0..ROUNDS {
        let (mut x, mut y) = (b.like()?, b.like()?);
        partition.comm().barrier()?;
        let begun = processor()?;
        let mut m = a.update()?;
        best[0] = best[0].min(processor()? - begun);
        let mut cg = Cg::new(Stop { max_iterations: MOST, ..Stop::relative(TOLERANCE) });
        row.iterations = cg.solve(a, &mut *m, &b, &mut x)?.iterations;
        best[2] = best[2].min(processor()? - begun);
        partition.comm().barrier()?;
        let begun = processor()?;
        (0..PRODUCTS).for_each(|_| a.apply(&b, &mut y));
        best[1] = best[1].min((processor()? - begun) / PRODUCTS as f64);
        row.norm = y.norm();
    }
    Ok(Row { seconds: best, ..row })
}

/// The assembled matrix, and elements that are stored and evaluated.
fn rank<C: Communicator>(sheet: &Sheet, comm: C) -> Outcome<[Row; 3]> {
    let n = sheet.rest.len();
    let partition = Partition::new(comm.clone(), Layout::even(n as u64, 3, comm.size())?)?;
    let parts = own_triangles(&partition, &sheet.triangles, |v| Some(u64::from(v)));
    let of = |list: &[usize]| list.iter().map(|&t| sheet.triangles[t]).collect::<Vec<_>>();
    let (held, plane) = (vec![false; n], sheet.rest.iter().map(|&[u, w, _]| [u, w]).collect::<Vec<_>>());
    let mut cloth = Plus::new(
        Bending::new(BENDING, &of(&parts.around), &sheet.rest, &held, &sheet.rest)?,
        Membrane::new(FABRIC, &of(&parts.touching), &plane, &held, &sheet.rest)?,
    )?;
    let mut h = Bsr::zeros(cloth.pattern().clone(), (3, 3))?;
    let free = Elements::new(sheet, &partition, false);
    let x = sheet.x.as_flattened();
    let a = DistMatrix::new(&partition, &partition, &rows(&free, x, &mut cloth, &mut h)?, Spmv::Halo)?;
    let assembled = timed(&partition, &mut Assembled { free: &free, x, cloth, h, a })?;
    Ok([
        assembled,
        timed(&partition, &mut Elements::new(sheet, &partition, true))?,
        timed(&partition, &mut Elements::new(sheet, &partition, false))?,
    ])
}

pub(crate) fn run(asked: &[String]) -> Outcome<()> {
    let side = asked.first().map_or(Ok(201), |side| side.parse())?;
    if !(2..=4096).contains(&side) {
        return Err(format!("the side of a sheet is 2 to 4096 nodes, not {side}").into());
    }
    let sheet = sheet(side);
    println!(
        "a sheet of {} vertices, {} triangles; CG to {TOLERANCE:e}",
        sheet.rest.len(),
        sheet.triangles.len()
    );
    println!(
        "{:<22} {:>5} {:>10} {:>11} {:>11} {:>10}",
        "", "ranks", "setup ms", "product ms", "iterations", "solve ms"
    );
    for ranks in [1, 2] {
        let all = ThreadComm::run(ranks, Duration::from_secs(300), |comm| -> Outcome<[Row; 3]> {
            parallel::threads(1, || rank(&sheet, comm))?
        });
        let mut rows = [Row::default(); 3];
        for rank in all {
            for (row, of_rank) in rows.iter_mut().zip(rank??) {
                let seconds = std::array::from_fn(|k| row.seconds[k].max(of_rank.seconds[k]));
                *row = Row { seconds, ..of_rank };
            }
        }
        for (row, name) in rows.iter().zip(["assembled", "elements, stored", "elements, evaluated"]) {
            let drift = (row.norm / rows[0].norm - 1.0).abs();
            if drift.is_nan() || drift > 1e-9 {
                return Err(format!("{name}: another product, {} for {}", row.norm, rows[0].norm).into());
            }
            let [setup, product, solve] = row.seconds.map(|seconds| 1e3 * seconds);
            println!(
                "{name:<22} {ranks:>5} {setup:>10.1} {product:>11.2} {:>11} {solve:>10.1}",
                row.iterations
            );
        }
    }
    Ok(())
}
