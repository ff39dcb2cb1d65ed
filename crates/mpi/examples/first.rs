//! The program of the tutorial "More than one machine": that of the first tutorial, over ranks.
//!
//! `coarsen generate elasticity3d:12 --out cube`, then
//! `mpirun -n 2 cargo run --release -p coarsen-mpi --example first -- cube`.

// ANCHOR: head
use std::error::Error;
use std::path::Path;
use std::time::Duration;

use coarsen_core::{Stop, Vector};
use coarsen_distributed::{Communicator, Layout, Partition};
use coarsen_distributed::{DistMatrix, Entries, Spmv};
use coarsen_distributed_solvers::DistMultigrid;
use coarsen_krylov::Cg;
use coarsen_matrix_market as matrix_market;
use coarsen_mpi::MpiComm;
use coarsen_sparse::NearKernel;

fn main() -> Result<(), Box<dyn Error>> {
    let none = "expected the folder of A.mtx, b.mtx and coordinates.mtx";
    let folder = std::env::args().nth(1).ok_or(none)?;
    run(Path::new(&folder))
}

/// Reads, builds and solves.
pub(crate) fn run(folder: &Path) -> Result<(), Box<dyn Error>> {
    // ANCHOR_END: head
    // ANCHOR: start
    let comm = MpiComm::world(Duration::from_secs(60))?; // the longest wait
    let (rank, ranks) = (comm.rank(), comm.size());
    // ANCHOR_END: start

    // ANCHOR: read
    let piece = matrix_market::read_piece(folder.join("A.mtx"), rank, ranks)?;
    let nodes = piece.size / 3;
    let partition = Partition::new(comm, Layout::even(nodes as u64, 3, ranks)?)?;
    let mut entries = Entries::new(&partition, nodes as u64, 3);
    for (i, j, v) in piece.entries {
        let mut block = [0.0; 9];
        block[i as usize % 3 * 3 + j as usize % 3] = v;
        entries.add(u64::from(i / 3), u64::from(j / 3), &block)?;
    }
    let rows = entries.finish()?; // entries of other ranks are sent to their owners
    let b = partition.part_of(&matrix_market::read_vector(folder.join("b.mtx"))?)?;
    // ANCHOR_END: read

    // ANCHOR: modes
    let points = matrix_market::read_dense(folder.join("coordinates.mtx"))?;
    let point = |i| [0, 1, 2].map(|d| points.get(i, d));
    let positions: Vec<[f64; 3]> = (0..nodes).map(point).collect();
    let modes = NearKernel::rigid_body_modes(&positions, 3)?;
    let own = partition.layout().range(rank);
    let own = 18 * own.start as usize..18 * own.end as usize;
    let modes = NearKernel::from_rows(6, modes.values()[own].to_vec())?;
    // ANCHOR_END: modes

    // ANCHOR: build
    let a = DistMatrix::new(&partition, &partition, &rows, Spmv::Halo)?;
    let mut m = DistMultigrid::default().build(&partition, &rows, Some(&modes))?;
    // ANCHOR_END: build

    // ANCHOR: solve
    let mut x = b.like()?;
    let mut cg = Cg::new(Stop::relative(1e-8));
    let report = cg.solve(&a, &mut m, &b, &mut x)?.converged()?;
    let whole = x.gathered()?;
    if rank == 0 {
        println!("{m}{report}");
        matrix_market::write_vector(folder.join("x.mtx"), &whole)?;
    }
    Ok(())
}
// ANCHOR_END: solve
