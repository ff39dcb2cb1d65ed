//! Sheets in Morton order, and the preconditioners of a rank.

use std::sync::Arc;

use coarsen_core::Preconditioner;
use coarsen_distributed::{
    Communicator, DistError, DistJacobi, DistMatrix, DistVector, GlobalRows, Layout, Partition, Spmv,
};
use coarsen_distributed_solvers::{DistMultigrid, DistSchwarz};
use coarsen_problems::cloth;
use coarsen_sparse::{Bsr, NearKernel, Permutation, morton};

use crate::Outcome;

/// A sheet whose nodes are in Morton order.
pub(crate) struct Sheet {
    pub(crate) a: Bsr<f64>,
    pub(crate) kernel: NearKernel,
}

pub(crate) fn sheet(side: usize) -> Outcome<Sheet> {
    let problem = cloth(side, 0.01)?;
    let order = morton::order(&problem.positions)?;
    let (k, all) = (problem.near_kernel.vectors(), problem.near_kernel.values());
    let rows = order.iter().flat_map(|&node| all[node as usize * 3 * k..(node as usize + 1) * 3 * k].iter());
    let kernel = NearKernel::from_rows(k, rows.copied().collect())?;
    Ok(Sheet { a: problem.matrix.permute(&Permutation::new(order)?)?, kernel })
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Method {
    Jacobi,
    Mas,
    Tamstorf,
}

impl Method {
    pub(crate) const ALL: [Self; 3] = [Self::Jacobi, Self::Mas, Self::Tamstorf];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Jacobi => "block Jacobi",
            Self::Mas => "MAS",
            Self::Tamstorf => "tamstorf",
        }
    }
}

type Built<C> = Box<dyn Preconditioner<DistVector<C>>>;

/// The rows whose work equals that of one row of the gathered level of MAS; its factor fills in.
const GATHERED: f64 = 1.2;

/// Rank 0 has fewer rows in MAS, since it solves the gathered level too.
fn layout(rows: u64, ranks: usize, method: Method, domains: &DistSchwarz) -> Result<Layout, DistError> {
    let (mut gathered, n) = (rows as f64, ranks as f64);
    while 3.0 * gathered > domains.gather_below as f64 {
        gathered /= domains.schwarz.domain as f64;
    }
    if method != Method::Mas || gathered == rows as f64 {
        return Layout::even(rows, 3, ranks);
    }
    let fewer = (GATHERED * gathered).min(0.8 * rows as f64 / n);
    let of_others = (rows as f64 + fewer) / n;
    let start = |rank: usize| (rank as f64 * of_others - fewer).max(0.0) as u64;
    Layout::new((0..ranks).map(start).chain([rows]).collect(), 3)
}

/// The matrix and the preconditioner of a rank.
pub(crate) fn build<C: Communicator>(
    sheet: &Sheet,
    comm: C,
    method: Method,
    domains: &DistSchwarz,
) -> Result<(DistMatrix<C>, Built<C>), DistError> {
    let layout = layout(sheet.a.pattern().rows() as u64, comm.size(), method, domains)?;
    let partition: Arc<Partition<C>> = Partition::new(comm, layout)?;
    let own = partition.layout().range(partition.rank());
    let rows = GlobalRows::of(&sheet.a, own.clone())?;
    let a = DistMatrix::new(&partition, &partition, &rows, Spmv::Halo)?;
    let m: Built<C> = match method {
        Method::Jacobi => Box::new(DistJacobi::blocks(&a, 1.0)?),
        Method::Mas => Box::new(domains.build(&partition, &rows)?),
        Method::Tamstorf => {
            let width = 3 * sheet.kernel.vectors();
            let values = &sheet.kernel.values()[own.start as usize * width..own.end as usize * width];
            let kernel = NearKernel::from_rows(sheet.kernel.vectors(), values.to_vec());
            let kernel = kernel.map_err(|error| DistError::Setup(error.into()))?;
            Box::new(DistMultigrid::default().build(&partition, &rows, Some(&kernel))?)
        }
    };
    Ok((a, m))
}
