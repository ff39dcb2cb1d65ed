//! Messages arrive in order and unmixed; collective operations compute what they state; faults are typed
//! errors on every rank.

use std::time::{Duration, Instant};

use coarsen_core::parallel;
use coarsen_distributed::{
    Buffers, CommError, Communicator, Counted, SelfComm, Stage, ThreadComm, check_equal, pack, unpack,
};

use crate::common::on_ranks;

const FIRST: Stage = Stage::new(1, "the first stage");
const SECOND: Stage = Stage::new(2, "the second stage");

#[test]
fn messages_keep_their_order_and_their_stage() {
    let received = on_ranks(2, |comm| {
        let other = 1 - comm.rank();
        for k in 0..3 {
            comm.send(other, FIRST, vec![k]).unwrap();
            comm.send(other, SECOND, vec![10 + k, comm.rank() as u8]).unwrap();
        }
        let take = |stage, bytes| comm.wait(comm.receive(other, stage, bytes).unwrap()).unwrap();
        let second: Vec<_> = (0..3).map(|_| take(SECOND, 2)).collect();
        let first: Vec<_> = (0..3).map(|_| take(FIRST, 1)).collect();
        (first, second)
    });
    for (rank, (first, second)) in received.into_iter().enumerate() {
        assert_eq!(first, [[0], [1], [2]]);
        let other = 1 - rank as u8;
        assert_eq!(second, [[10, other], [11, other], [12, other]]);
    }
}

#[test]
fn a_test_is_true_once_the_message_is_there() {
    on_ranks(2, |comm| {
        if comm.rank() == 0 {
            let mut request = comm.receive(1, FIRST, 1).unwrap();
            assert!(!comm.test(&mut request).unwrap());
            comm.send(1, SECOND, Vec::new()).unwrap();
            while !comm.test(&mut request).unwrap() {
                std::thread::yield_now();
            }
            assert_eq!(comm.wait(request).unwrap(), [7]);
        } else {
            comm.wait(comm.receive(0, SECOND, 0).unwrap()).unwrap();
            let mut sent = comm.send(0, FIRST, vec![7]).unwrap();
            assert!(comm.test(&mut sent).unwrap());
        }
    });
}

/// For 1 to 17 ranks and every root.
#[test]
fn collective_operations_compute_what_they_state() {
    for n in 1..=17 {
        on_ranks(n, |comm| {
            let rank = comm.rank();
            let mut sums = [rank as f64, 1.0, 0.5];
            comm.all_reduce(&mut sums).unwrap();
            assert_eq!(sums, [(n * (n - 1) / 2) as f64, n as f64, 0.5 * n as f64]);
            let own = vec![rank as u8; rank % 3];
            let expected: Vec<_> = (0..n).map(|rank| vec![rank as u8; rank % 3]).collect();
            assert_eq!(comm.all_gather(&own).unwrap(), expected);
            for root in 0..n {
                let gathered = comm.gather(root, &own).unwrap();
                assert_eq!(gathered, (rank == root).then(|| expected.clone()));
                let mut data = vec![rank as u8; 1 + rank];
                comm.broadcast(root, &mut data).unwrap();
                assert_eq!(data, vec![root as u8; 1 + root]);
            }
        });
    }
}

/// Sums whose order matters have the same bits on every rank.
#[test]
fn sums_are_equal_on_all_ranks() {
    let sums = on_ranks(7, |comm| {
        let mut sum = [(1.0 + comm.rank() as f64).sqrt() * 1e3_f64.powi(comm.rank() as i32 % 3)];
        comm.all_reduce(&mut sum).unwrap();
        sum[0].to_bits()
    });
    assert!(sums.iter().all(|sum| *sum == sums[0]));
}

/// A barrier ends after every rank has begun it.
#[test]
fn a_barrier_waits_for_the_last_rank() {
    let times = on_ranks(4, |comm| {
        if comm.rank() == 2 {
            std::thread::sleep(Duration::from_millis(50));
        }
        let begun = Instant::now();
        comm.barrier().unwrap();
        (begun, Instant::now())
    });
    let last = times.iter().map(|(begun, _)| *begun).max().unwrap();
    assert!(times.iter().all(|(_, ended)| *ended >= last));
}

/// Loops inside a rank use one thread, unless the rank asks for more.
#[test]
fn ranks_do_not_use_the_threads_of_each_other() {
    let threads = || usize::from(parallel::worth(usize::MAX));
    let found = on_ranks(3, |_| [threads(), parallel::threads(2, threads).unwrap()]);
    assert_eq!(found, [[0, 1]; 3]);
}

#[test]
fn a_single_rank_has_no_other() {
    let mut data = vec![3];
    SelfComm.broadcast(0, &mut data).unwrap();
    assert_eq!((data.clone(), SelfComm.all_gather(&data).unwrap()), (vec![3], vec![vec![3]]));
    let refused = SelfComm.send(1, FIRST, data).map(drop);
    assert_eq!(refused, Err(CommError::Peer { rank: 0, peer: 1, stage: FIRST.name, size: 1 }));
}

/// A short deadline for faults.
const SOON: Duration = Duration::from_millis(200);

/// Runs a sum on every rank after `fault`, which each rank calls first.
fn after<R: Send>(
    deadline: Duration,
    fault: impl Fn(&ThreadComm) -> R + Sync,
) -> Vec<Result<Result<(), CommError>, CommError>> {
    ThreadComm::run(4, deadline, |comm| {
        fault(&comm);
        comm.all_reduce(&mut [1.0])
    })
}

#[test]
fn a_panic_is_an_error_on_every_rank() {
    let begun = Instant::now();
    let results = after(Duration::from_secs(60), |comm| assert!(comm.rank() != 2, "a panic for this test"));
    for (rank, result) in results.into_iter().enumerate() {
        let panicked = CommError::Panicked { rank: 2 };
        assert_eq!(result, if rank == 2 { Err(panicked) } else { Ok(Err(panicked)) });
    }
    assert!(begun.elapsed() < Duration::from_secs(30), "the other ranks do not wait for the deadline");
}

/// A rank that returns early is reported by the rank that waits for it, and the same error reaches all.
#[test]
fn a_rank_that_drops_out_is_an_error_on_every_rank() {
    let results = ThreadComm::run(4, Duration::from_secs(60), |comm| {
        if comm.rank() == 3 {
            return None;
        }
        Some(comm.all_reduce(&mut [1.0]).unwrap_err())
    });
    let errors: Vec<_> = results.into_iter().flat_map(|result| result.unwrap()).collect();
    let lost = CommError::Lost { rank: 2, lost: 3, stage: "a sum over all ranks" };
    assert_eq!(errors, vec![lost; 3]);
}

#[test]
fn a_rank_that_hangs_is_an_error_on_every_rank() {
    let results = after(SOON, |comm| {
        if comm.rank() == 1 {
            std::thread::sleep(5 * SOON);
        }
    });
    for result in results {
        let error = result.unwrap().unwrap_err();
        assert!(matches!(error, CommError::Late { deadline: SOON, .. }), "{error}");
    }
}

/// A message of another length, as after a cut or between ranks with different sizes.
#[test]
fn a_message_of_the_wrong_length_is_an_error_on_every_rank() {
    let results = ThreadComm::run(3, Duration::from_secs(60), |comm| {
        comm.all_reduce(&mut vec![1.0; if comm.rank() == 1 { 2 } else { 3 }])
    });
    let length =
        CommError::Length { rank: 0, from: 1, stage: "a sum over all ranks", expected: 24, found: 16 };
    results.into_iter().for_each(|result| assert_eq!(result, Ok(Err(length.clone()))));
}

#[test]
fn a_rank_that_does_not_exist_is_an_error_on_every_rank() {
    let results = after(Duration::from_secs(60), |comm| {
        if comm.rank() == 0 {
            comm.send(4, FIRST, Vec::new()).map(drop).unwrap_err();
        }
    });
    let peer = CommError::Peer { rank: 0, peer: 4, stage: FIRST.name, size: 4 };
    results.into_iter().for_each(|result| assert_eq!(result, Ok(Err(peer.clone()))));
}

#[test]
fn ranks_that_disagree_are_named() {
    let found = on_ranks(4, |comm| {
        let mut data = Vec::new();
        pack([if comm.rank() >= 2 { 2.0 } else { 1.0 }], &mut data);
        (check_equal(&comm, "the tolerance", &data), comm.failure(), comm.barrier())
    });
    let error = CommError::Disagree { rank: 0, other: 2, stage: "the tolerance" };
    let expected = (Err(error.clone()), Some(error.clone()), Err(error));
    assert!(found.iter().all(|found| *found == expected), "it stops the group: {found:?}");
}

#[test]
fn numbers_survive_the_wire() {
    let mut bytes = Vec::new();
    pack([f64::MIN_POSITIVE, -0.0], &mut bytes);
    pack([u64::MAX], &mut bytes);
    pack([1.5_f32], &mut bytes);
    assert_eq!(bytes.len(), 28);
    assert_eq!(
        unpack::<f64>(&bytes).take(2).map(f64::to_bits).collect::<Vec<_>>(),
        [f64::MIN_POSITIVE.to_bits(), (-0.0_f64).to_bits()]
    );
    assert_eq!(unpack::<u64>(&bytes[16..24]).collect::<Vec<_>>(), [u64::MAX]);
    assert_eq!(unpack::<f32>(&bytes[24..]).collect::<Vec<_>>(), [1.5]);
}

/// Errors keep every field on the way to another process; other bytes are no error.
#[test]
fn errors_survive_the_wire() {
    let (rank, stage, deadline) = (3, "a halo exchange", Duration::from_millis(1500));
    for error in [
        CommError::Late { rank, from: 2, stage, deadline },
        CommError::Lost { rank, lost: 5, stage },
        CommError::Panicked { rank },
        CommError::Threads { rank },
        CommError::Length { rank, from: 1, stage, expected: 24, found: 16 },
        CommError::Peer { rank, peer: 9, stage, size: 4 },
        CommError::Disagree { rank, other: 4, stage },
        CommError::Transport { rank, stage, reason: "out of memory".to_owned() },
    ] {
        let bytes = error.to_bytes();
        assert_eq!(CommError::from_bytes(&bytes), Some(error));
        assert_eq!(CommError::from_bytes(&bytes[..40]), None);
    }
}

/// A rank counts what it sends, and waits as long as the other rank is late.
#[test]
fn messages_and_waiting_are_counted() {
    let counts = on_ranks(2, |comm| {
        let comm = Counted::new(comm);
        if comm.rank() == 1 {
            std::thread::sleep(Duration::from_millis(50));
            comm.send(0, FIRST, vec![0; 5]).unwrap();
            comm.send(0, FIRST, vec![0; 7]).unwrap();
        } else {
            for bytes in [5, 7] {
                comm.wait(comm.receive(1, FIRST, bytes).unwrap()).unwrap();
            }
        }
        let counted = comm.traffic();
        comm.restart();
        assert!(comm.traffic().is_empty());
        counted
    });
    let [waiting, sending] = [0, 1].map(|rank| counts[rank][0].clone());
    assert_eq!((sending.stage, sending.messages, sending.bytes), (FIRST.name, 2, 12));
    assert_eq!((waiting.messages, waiting.bytes), (0, 0));
    assert!(waiting.waited > 0.02 && sending.waited == 0.0, "{waiting:?}");
}

/// Reserved buffers are there before the first exchange, and short messages leave them to it.
#[test]
fn reserved_buffers_stay_with_long_messages() {
    let buffers = Buffers::default();
    buffers.reserve(2, 4000);
    let short = buffers.take(8);
    assert!(short.capacity() < 4000);
    let long = [buffers.take(4000), buffers.take(4000)];
    let at: Vec<_> = long.iter().map(|buffer| buffer.as_ptr()).collect();
    assert!(long.iter().all(|buffer| buffer.capacity() >= 4000));
    long.into_iter().for_each(|buffer| buffers.put(buffer));
    buffers.reserve(1, 100); // a smaller need changes nothing
    let again = [buffers.take(4000), buffers.take(4000)];
    assert!(again.iter().all(|buffer| at.contains(&buffer.as_ptr())));
}

/// A reservation leaves capacity for other buffers, which do not displace it.
#[test]
fn reserved_buffers_are_not_displaced() {
    let (buffers, long) = (Buffers::default(), 4 << 20);
    buffers.reserve(64, long); // cut to 32
    (0..100).for_each(|_| buffers.put(Vec::with_capacity(3 << 20)));
    let at = |buffer: &Vec<u8>| buffer.as_ptr();
    let kept: Vec<_> = (0..32).map(|_| buffers.take(long)).collect();
    let first: Vec<_> = kept.iter().map(at).collect();
    kept.into_iter().for_each(|buffer| buffers.put(buffer));
    let short = buffers.take(8);
    let again: Vec<_> = (0..32).map(|_| buffers.take(long)).collect();
    assert!(again.iter().all(|buffer| first.contains(&at(buffer))), "a reserved buffer is gone");
    buffers.put(short);
}

/// Many short buffers that come back before the reserved ones do not take their place.
#[test]
fn many_short_buffers_do_not_displace_reserved_ones() {
    let (buffers, long) = (Buffers::default(), 1 << 20);
    buffers.reserve(16, long);
    let reserved: Vec<_> = (0..16).map(|_| buffers.take(long)).collect();
    let at: Vec<_> = reserved.iter().map(|buffer| buffer.as_ptr()).collect();
    (0..256).for_each(|_| buffers.put(Vec::with_capacity(64)));
    reserved.into_iter().for_each(|buffer| buffers.put(buffer));
    let again: Vec<_> = (0..16).map(|_| buffers.take(long)).collect();
    assert!(again.iter().all(|buffer| at.contains(&buffer.as_ptr())), "a reserved buffer is gone");
}

/// Vast buffers do not count as the reserved ones that are in use, so that the limit of 256 MiB holds.
#[test]
fn vast_buffers_are_not_reserved() {
    const VAST: usize = 300 << 20;
    let buffers = Buffers::default();
    buffers.reserve(2, 4000);
    let reserved = [buffers.take(4000), buffers.take(4000)];
    (0..2).for_each(|_| buffers.put(Vec::with_capacity(VAST)));
    let taken = buffers.take(5000);
    assert!(taken.capacity() < VAST, "{}", taken.capacity());
    // Nor do they stand for reserved buffers that short messages leave alone.
    let at = reserved.each_ref().map(|buffer| buffer.as_ptr());
    reserved.into_iter().for_each(|buffer| buffers.put(buffer));
    buffers.put(Vec::with_capacity(1 << 20));
    assert!(!at.contains(&buffers.take(8).as_ptr()));
    let again = [buffers.take(4000), buffers.take(4000)];
    assert!(again.iter().all(|buffer| at.contains(&buffer.as_ptr())));
}

/// Buffers are kept up to 256 MiB, whatever their lengths are.
#[test]
fn kept_buffers_are_bounded() {
    const LONG: usize = (100 << 20) + 1; // new buffers have powers of two
    let buffers = Buffers::default();
    (0..5).for_each(|_| buffers.put(Vec::with_capacity(LONG)));
    buffers.put(Vec::with_capacity(300 << 20));
    let short = Vec::with_capacity(64);
    let at = short.as_ptr();
    buffers.put(short);
    let again = buffers.take(10);
    assert_eq!(again.as_ptr(), at);
    let kept = (0..5).filter(|_| buffers.take(LONG).capacity() == LONG).count();
    assert_eq!(kept, 2);
}

/// Threads that cannot be started are errors on every rank. The test runs itself with little address space, in which
/// some threads find memory for their stacks and others do not.
#[test]
#[cfg(target_os = "linux")]
fn threads_that_cannot_start_are_errors_on_every_rank() {
    const CHILD: &str = "COARSEN_FEW_THREADS";
    let threads = |error: &CommError| matches!(error, CommError::Threads { .. });
    if std::env::var_os(CHILD).is_some() {
        let results = ThreadComm::run(32, Duration::from_secs(60), |comm| comm.barrier());
        assert!(results.iter().any(|rank| rank.as_ref().is_err_and(threads)));
        for rank in results {
            let error = rank.and_then(|barrier| barrier).unwrap_err();
            assert!(threads(&error), "{error}");
        }
        return;
    }
    let program = std::env::current_exe().unwrap();
    let name = "communicators::threads_that_cannot_start_are_errors_on_every_rank";
    let ended = std::process::Command::new("sh")
        .args(["-c", &format!("ulimit -v 4194304 && exec \"$0\" --exact {name}")])
        .arg(program)
        .env(CHILD, "1")
        .env("RUST_MIN_STACK", (256 << 20).to_string())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&ended.stdout).into_owned();
    assert!(ended.status.success() && text.contains("1 passed"), "{text}");
}
