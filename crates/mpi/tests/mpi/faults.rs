//! What a rank does in a job that must fail, and in one that starts MPI itself.

use std::process::{Command, ExitCode};
use std::time::Duration;

use coarsen_core::{LinearOperator, Vector};
use coarsen_distributed::{CommError, Communicator, Layout, Partition, Spmv, Stage};
use coarsen_mpi::{MpiComm, MpiError};
use coarsen_problems::poisson2d;
use mpi::traits::{Communicator as _, Destination, Source};

use crate::common::cut;

const DEADLINE: Duration = Duration::from_secs(1);

pub(crate) fn run(role: &str) -> Option<ExitCode> {
    match role {
        "own" => own(),
        "late" => late(),
        "hang" | "kill" | "leave" | "panic" | "cut" => fault(role),
        _ => return None,
    }
    Some(ExitCode::SUCCESS)
}

fn fault(role: &str) {
    if role == "leave" {
        return leave();
    }
    // A start on a machine that is busy has its time; so have ranks of different sizes, which do not wait for a deadline.
    let start = MpiComm::world(20 * DEADLINE).unwrap();
    start.barrier().unwrap();
    let waits = matches!(role, "hang" | "kill" | "panic");
    let comm = if waits { MpiComm::world(DEADLINE).unwrap() } else { start };
    let rank = comm.rank();
    match (role, rank) {
        ("hang", 1) => std::thread::sleep(Duration::from_secs(3600)),
        ("hang", _) => wait_for(&comm, 1, DEADLINE),
        ("kill", _) => products_until_killed(&comm),
        ("panic", 2) => panic!("a panic for this test"),
        ("panic", _) => assert!(comm.all_reduce(&mut [1.0]).is_err()),
        (_, _) => {
            let other = (rank + 1) % comm.size();
            let mut request = comm.receive(other, Stage::new(1, "a stage of this test"), 8).unwrap();
            assert_eq!(comm.test(&mut request), Ok(false));
            comm.barrier().unwrap(); // no rank knows the fault before it waits
            let error = comm.all_reduce(&mut vec![1.0; if rank == 1 { 2 } else { 3 }]).unwrap_err();
            let stage = "a sum over all ranks";
            assert_eq!(error, CommError::Length { rank: 0, from: 1, stage, expected: 24, found: 16 });
            assert_eq!(comm.failure(), Some(error.clone()));
            assert_eq!([comm.test(&mut request), comm.test(&mut request)], [Err(error.clone()), Err(error)]);
            println!("rank {rank} knows it");
            std::thread::sleep(DEADLINE / 2); // the first rank to end aborts the others
        }
    }
}

/// Rank 1 creates a communicator when the others no longer wait for it. MPI then writes their handles during the barrier.
fn late() {
    let (world, deadline) = (MpiComm::world(20 * DEADLINE).unwrap(), DEADLINE);
    world.barrier().unwrap();
    let late = world.rank() == 1;
    if late {
        std::thread::sleep(2 * DEADLINE);
    }
    let created = MpiComm::over(&mpi::topology::SimpleCommunicator::world(), deadline).map(drop);
    let expected = Err(MpiError::Late { rank: world.rank(), deadline });
    assert!(late || created == expected, "{created:?}");
    world.barrier().unwrap();
}

/// Rank 2 ends early. The others begin to wait for it later, with the longest deadline of all communicators, and still say
/// it first.
fn leave() {
    let (world, deadline) = (MpiComm::world(2 * DEADLINE).unwrap(), 5 * DEADLINE);
    let comm = MpiComm::over(&mpi::topology::SimpleCommunicator::world(), deadline).unwrap();
    comm.barrier().unwrap();
    drop(world);
    if comm.rank() < 2 {
        std::thread::sleep(DEADLINE / 2);
        wait_for(&comm, 2, deadline);
    }
}

/// Waits for a message that never comes.
fn wait_for(comm: &MpiComm, from: usize, limit: Duration) {
    let request = comm.receive(from, Stage::new(1, "a stage of this test"), 8).unwrap();
    assert!(matches!(comm.wait(request), Err(CommError::Late { deadline, .. }) if deadline == limit));
}

/// Rank 1 dies in a loop of products. The others find NaN and the error in their vectors, and end the loop.
fn products_until_killed(comm: &MpiComm) {
    let a = poisson2d(12).unwrap().matrix;
    let partition = Partition::new(comm.clone(), Layout::even(144, 1, comm.size()).unwrap()).unwrap();
    let a = cut(&a, &partition, Spmv::Halo);
    let (x, mut y) = (partition.part_of(&[1.0; 144]).unwrap(), partition.part_of(&[0.0; 144]).unwrap());
    for k in 0.. {
        if comm.rank() == 1 && k == 5 {
            let id = std::process::id().to_string();
            Command::new("kill").args(["-9", &id]).status().unwrap();
        }
        a.apply(&x, &mut y);
        if let Err(error) = y.sync() {
            assert!(y.own().iter().all(|v| v.is_nan()), "{error}");
            return;
        }
    }
}

/// MPI is started by the program, ranks of equal parity are a group of their own, and a message of the program with
/// a tag of the library stays a message of the program.
fn own() {
    let universe = mpi::initialize().unwrap();
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    let half = world.split_by_color(mpi::topology::Color::with_value(rank % 2)).unwrap();
    let (next, before) = ((rank + 1) % size, (rank + size - 1) % size);
    let (tag, text) = (i32::from(Stage::RESERVED), [rank as u8; 3]);
    mpi::request::scope(|scope| {
        let sent = world.process_at_rank(next).immediate_send_with_tag(scope, &text[..], tag);
        for _ in 0..2 {
            let comm = MpiComm::over(&half, 30 * DEADLINE).unwrap();
            assert_eq!((comm.rank(), comm.size()), (half.rank() as usize, half.size() as usize));
            let mut sum = [f64::from(rank)];
            comm.all_reduce(&mut sum).unwrap();
            let expected: i32 = (0..size).filter(|other| other % 2 == rank % 2).sum();
            assert_eq!(sum, [f64::from(expected)]);
            let all = MpiComm::world(30 * DEADLINE).unwrap();
            all.barrier().unwrap();
        }
        let (received, _) = world.process_at_rank(before).receive_vec_with_tag::<u8>(tag);
        assert_eq!(received, [before as u8; 3]);
        sent.wait();
    });
    assert!(!mpi::environment::is_finalized(), "the program ends the MPI that it has started");
}
