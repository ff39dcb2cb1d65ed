//! Collective operations from messages between pairs of ranks, along a binomial tree.
//!
//! | symbol | here | |
//! |---|---|---|
//! | n | `comm.size()` | number of ranks |
//! | v | `v` | number of this rank, counted from the root, modulo n |
//! | 2ᵏ | `step` | distance between partners in step k |
//!
//! Towards the root, v sends to v − 2ᵏ for the lowest set bit k of v, after it has received from v + 2ʲ for
//! all j < k. The subtree of v then holds the ranks v, v + 1, .. without gaps. Broadcasts go the other way.

use crate::{CommError, Communicator, Stage, pack, unpack};

const REDUCE: Stage = Stage::new(Stage::RESERVED, "a sum over all ranks");
const LENGTH: Stage = Stage::new(Stage::RESERVED + 1, "the lengths of a gather");
const GATHER: Stage = Stage::new(Stage::RESERVED + 2, "a gather");
const SPREAD: Stage = Stage::new(Stage::RESERVED + 3, "a broadcast");
const SPREAD_LENGTH: Stage = Stage::new(Stage::RESERVED + 4, "the length of a broadcast");

fn receive<C: Communicator>(comm: &C, from: usize, stage: Stage, n: usize) -> Result<Vec<u8>, CommError> {
    let request = comm.receive(from, stage, n)?;
    comm.wait(request)
}

fn send<C: Communicator>(comm: &C, to: usize, stage: Stage, data: Vec<u8>) -> Result<(), CommError> {
    let request = comm.send(to, stage, data)?;
    comm.wait(request).map(drop)
}

/// The ranks below `v` in the tree, in the order in which they report, and the rank above it.
fn tree(v: usize, n: usize) -> (Vec<usize>, Option<usize>) {
    let mut below = Vec::new();
    let mut step = 1;
    while step < n {
        if v & step != 0 {
            return (below, Some(v - step));
        }
        if v + step < n {
            below.push(v + step);
        }
        step *= 2;
    }
    (below, None)
}

pub(crate) fn all_reduce<C: Communicator>(comm: &C, values: &mut [f64]) -> Result<(), CommError> {
    let bytes = size_of_val(values);
    let (below, above) = tree(comm.rank(), comm.size());
    for &from in &below {
        let part = receive(comm, from, REDUCE, bytes)?;
        values.iter_mut().zip(unpack::<f64>(&part)).for_each(|(sum, v)| *sum += v);
    }
    if let Some(to) = above {
        let mut data = Vec::with_capacity(bytes);
        pack(values.iter().copied(), &mut data);
        send(comm, to, REDUCE, data)?;
        let sum = receive(comm, to, SPREAD, bytes)?;
        values.iter_mut().zip(unpack::<f64>(&sum)).for_each(|(v, sum)| *v = sum);
    }
    for &to in below.iter().rev() {
        let mut data = Vec::with_capacity(bytes);
        pack(values.iter().copied(), &mut data);
        send(comm, to, SPREAD, data)?;
    }
    Ok(())
}

pub(crate) fn gather<C: Communicator>(
    comm: &C,
    root: usize,
    data: &[u8],
) -> Result<Option<Vec<Vec<u8>>>, CommError> {
    let n = comm.size();
    check_root(comm, root)?;
    let rank = |v: usize| (v + root) % n;
    let (below, above) = tree((comm.rank() + n - root) % n, n);
    let (mut lengths, mut all) = (vec![data.len() as u64], data.to_vec());
    for v in below {
        let count: Vec<u64> = unpack(&receive(comm, rank(v), LENGTH, 16)?).collect();
        let part = receive(comm, rank(v), GATHER, 8 * count[0] as usize + count[1] as usize)?;
        let (head, body) = part.split_at(8 * count[0] as usize);
        lengths.extend(unpack::<u64>(head));
        all.extend_from_slice(body);
    }
    if let Some(v) = above {
        let (mut head, mut message) = (Vec::new(), Vec::new());
        pack([lengths.len() as u64, all.len() as u64], &mut head);
        pack(lengths, &mut message);
        message.extend(all);
        send(comm, rank(v), LENGTH, head)?;
        send(comm, rank(v), GATHER, message)?;
        return Ok(None);
    }
    let (mut parts, mut rest) = (vec![Vec::new(); n], &all[..]);
    for (v, length) in lengths.into_iter().enumerate() {
        let (part, after) = rest.split_at(length as usize);
        parts[rank(v)] = part.to_vec();
        rest = after;
    }
    Ok(Some(parts))
}

pub(crate) fn broadcast<C: Communicator>(comm: &C, root: usize, data: &mut Vec<u8>) -> Result<(), CommError> {
    let n = comm.size();
    check_root(comm, root)?;
    let rank = |v: usize| (v + root) % n;
    let (below, above) = tree((comm.rank() + n - root) % n, n);
    if let Some(v) = above {
        let length: Vec<u64> = unpack(&receive(comm, rank(v), SPREAD_LENGTH, 8)?).collect();
        *data = receive(comm, rank(v), SPREAD, length[0] as usize)?;
    }
    for v in below.into_iter().rev() {
        let mut head = Vec::new();
        pack([data.len() as u64], &mut head);
        send(comm, rank(v), SPREAD_LENGTH, head)?;
        send(comm, rank(v), SPREAD, data.clone())?;
    }
    Ok(())
}

pub(crate) fn all_gather<C: Communicator>(comm: &C, data: &[u8]) -> Result<Vec<Vec<u8>>, CommError> {
    let mut message = Vec::new();
    if let Some(parts) = gather(comm, 0, data)? {
        pack(parts.iter().map(|part| part.len() as u64), &mut message);
        parts.iter().for_each(|part| message.extend_from_slice(part));
    }
    broadcast(comm, 0, &mut message)?;
    let (head, mut rest) = message.split_at(8 * comm.size());
    let mut parts = Vec::with_capacity(comm.size());
    for length in unpack::<u64>(head) {
        let (part, after) = rest.split_at(length as usize);
        parts.push(part.to_vec());
        rest = after;
    }
    Ok(parts)
}

fn check_root<C: Communicator>(comm: &C, root: usize) -> Result<(), CommError> {
    let (rank, size) = (comm.rank(), comm.size());
    if root < size {
        return Ok(());
    }
    let error = CommError::Peer { rank, peer: root, stage: "a collective operation", size };
    comm.fail(error.clone());
    Err(error)
}
