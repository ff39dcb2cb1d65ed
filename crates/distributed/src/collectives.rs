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

use std::ops::Range;

use crate::{CommError, Communicator, Stage, pack, unpack};

const REDUCE: Stage = Stage::new(Stage::RESERVED, "a sum over all ranks");
const LENGTH: Stage = Stage::new(Stage::RESERVED + 1, "the lengths of a gather");
const GATHER: Stage = Stage::new(Stage::RESERVED + 2, "a gather");
const SPREAD: Stage = Stage::new(Stage::RESERVED + 3, "a broadcast");
const SPREAD_LENGTH: Stage = Stage::new(Stage::RESERVED + 4, "the length of a broadcast");
const COLLECT: Stage = Stage::new(Stage::RESERVED + 11, "a gather of known lengths");
const SCATTER: Stage = Stage::new(Stage::RESERVED + 12, "a distribution from rank 0");

pub(crate) fn receive<C: Communicator>(
    comm: &C,
    from: usize,
    stage: Stage,
    n: usize,
) -> Result<Vec<u8>, CommError> {
    let request = comm.receive(from, stage, n)?;
    comm.wait(request)
}

pub(crate) fn send<C: Communicator>(
    comm: &C,
    to: usize,
    stage: Stage,
    data: Vec<u8>,
) -> Result<(), CommError> {
    let request = comm.send(to, stage, data)?;
    comm.wait(request).map(drop)
}

/// The numbers below `v` in the tree, in the order in which they report.
pub(crate) fn below(v: usize, n: usize) -> impl DoubleEndedIterator<Item = usize> {
    let steps = if v == 0 { usize::BITS - n.leading_zeros() } else { v.trailing_zeros() };
    (0..steps).map(move |k| v + (1 << k)).filter(move |&w| w < n)
}

/// The number above `v`.
pub(crate) fn above(v: usize) -> Option<usize> {
    (v > 0).then(|| v & (v - 1))
}

/// The numbers of the subtree of `v`, without gaps.
fn subtree(v: usize, n: usize) -> Range<usize> {
    v..if v == 0 { n } else { n.min(v + (1 << v.trailing_zeros())) }
}

pub(crate) fn send_numbers<C: Communicator>(
    comm: &C,
    to: usize,
    stage: Stage,
    values: &[f64],
) -> Result<(), CommError> {
    let mut data = comm.buffer(size_of_val(values));
    pack(values.iter().copied(), &mut data);
    send(comm, to, stage, data)
}

pub(crate) fn add_numbers(data: &[u8], values: &mut [f64]) {
    values.iter_mut().zip(unpack::<f64>(data)).for_each(|(sum, v)| *sum += v);
}

pub(crate) fn copy_numbers(data: &[u8], values: &mut [f64]) {
    values.iter_mut().zip(unpack(data)).for_each(|(to, v)| *to = v);
}

/// Receives as many numbers as `values` has, and calls `take` with each and its place.
fn receive_numbers<C: Communicator>(
    comm: &C,
    from: usize,
    stage: Stage,
    values: &mut [f64],
    take: fn(&[u8], &mut [f64]),
) -> Result<(), CommError> {
    let data = receive(comm, from, stage, size_of_val(values))?;
    take(&data, values);
    comm.recycle(data);
    Ok(())
}

pub(crate) fn all_reduce<C: Communicator>(comm: &C, values: &mut [f64]) -> Result<(), CommError> {
    let (v, n) = (comm.rank(), comm.size());
    for from in below(v, n) {
        receive_numbers(comm, from, REDUCE, values, add_numbers)?;
    }
    above(v).map_or(Ok(()), |to| send_numbers(comm, to, REDUCE, values))?;
    spread(comm, values)
}

/// Gives the values of rank 0 to all ranks.
fn spread<C: Communicator>(comm: &C, values: &mut [f64]) -> Result<(), CommError> {
    let (v, n) = (comm.rank(), comm.size());
    if let Some(from) = above(v) {
        receive_numbers(comm, from, SPREAD, values, copy_numbers)?;
    }
    below(v, n).rev().try_for_each(|to| send_numbers(comm, to, SPREAD, values))
}

/// Collects on rank 0 the parts `values[bounds(i)..bounds(i + 1)]` of every rank i. All ranks know the bounds.
pub(crate) fn collect<C: Communicator>(
    comm: &C,
    bounds: impl Fn(usize) -> usize,
    values: &mut [f64],
) -> Result<(), CommError> {
    let (v, n) = (comm.rank(), comm.size());
    let part = |v: usize| bounds(subtree(v, n).start)..bounds(subtree(v, n).end);
    for from in below(v, n) {
        receive_numbers(comm, from, COLLECT, &mut values[part(from)], copy_numbers)?;
    }
    above(v).map_or(Ok(()), |to| send_numbers(comm, to, COLLECT, &values[part(v)]))
}

/// Gives every rank i its part `values[bounds(i)..bounds(i + 1)]` of the values of rank 0. Parts of other ranks may
/// be overwritten too.
pub(crate) fn scatter<C: Communicator>(
    comm: &C,
    bounds: impl Fn(usize) -> usize,
    values: &mut [f64],
) -> Result<(), CommError> {
    let (v, n) = (comm.rank(), comm.size());
    let part = |v: usize| bounds(subtree(v, n).start)..bounds(subtree(v, n).end);
    if let Some(from) = above(v) {
        receive_numbers(comm, from, SCATTER, &mut values[part(v)], copy_numbers)?;
    }
    below(v, n).rev().try_for_each(|to| send_numbers(comm, to, SCATTER, &values[part(to)]))
}

/// Collects the parts of every rank on all ranks.
pub(crate) fn share<C: Communicator>(
    comm: &C,
    bounds: impl Fn(usize) -> usize,
    values: &mut [f64],
) -> Result<(), CommError> {
    collect(comm, bounds, values)?;
    spread(comm, values)
}

pub(crate) fn gather<C: Communicator>(
    comm: &C,
    root: usize,
    data: &[u8],
) -> Result<Option<Vec<Vec<u8>>>, CommError> {
    let n = comm.size();
    check_root(comm, root)?;
    let rank = |v: usize| (v + root) % n;
    let own = (comm.rank() + n - root) % n;
    let (mut lengths, mut all) = (vec![data.len() as u64], data.to_vec());
    for v in below(own, n) {
        let count: Vec<u64> = unpack(&receive(comm, rank(v), LENGTH, 16)?).collect();
        let part = receive(comm, rank(v), GATHER, 8 * count[0] as usize + count[1] as usize)?;
        let (head, body) = part.split_at(8 * count[0] as usize);
        lengths.extend(unpack::<u64>(head));
        all.extend_from_slice(body);
    }
    if let Some(v) = above(own) {
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
    let own = (comm.rank() + n - root) % n;
    if let Some(v) = above(own) {
        let length: Vec<u64> = unpack(&receive(comm, rank(v), SPREAD_LENGTH, 8)?).collect();
        *data = receive(comm, rank(v), SPREAD, length[0] as usize)?;
    }
    for v in below(own, n).rev() {
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
