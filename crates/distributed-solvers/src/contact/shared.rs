//! Data that all ranks gather, or the error that one rank found and all ranks return.

use coarsen_contact::ContactError;
use coarsen_distributed::{CommError, Communicator, Stage, pack, unpack};

const FOUND: Stage = Stage::new(0x6f00, "what a search over ranks found");

/// In place of the length of data: the text of an error follows.
const ERROR: u64 = u64::MAX;

/// The error of a search whose ranks cannot communicate.
pub(crate) fn lost(error: CommError) -> ContactError {
    ContactError::Ranks { reason: error.to_string() }
}

/// Gives each rank the message that each other rank has for it, and a number of each rank; messages may be empty. All
/// ranks call it.
///
/// *Cost* a gather of 8 bytes per pair of ranks, and the messages that are not empty.
///
/// # Errors
/// Those of [`share`].
pub(crate) fn deal<C: Communicator>(
    comm: &C,
    own: Result<(Vec<Vec<u8>>, u64), ContactError>,
) -> Result<(Vec<Vec<u8>>, Vec<u64>), ContactError> {
    let rank = comm.rank();
    let mut head = Vec::new();
    if let Ok((messages, number)) = &own {
        pack([*number], &mut head);
        pack(messages.iter().map(|message| message.len() as u64), &mut head);
    }
    let (heads, (messages, _)) = gathered(comm, head, own)?;
    let heads: Vec<Vec<u64>> = heads.iter().map(|head| unpack(head).collect()).collect();
    for (to, message) in messages.into_iter().enumerate() {
        if to != rank && !message.is_empty() {
            comm.send(to, FOUND, message).map_err(lost)?;
        }
    }
    let all = received(comm, |from| heads[from][1 + rank])?;
    Ok((all, heads.iter().map(|head| head[0]).collect()))
}

/// Gives the data of all ranks to all ranks, in their order, or an error to all ranks. All ranks call it, with the same
/// `mark`: a number of the kind of search and of what it searches in.
///
/// *Cost* a gather of 16 bytes per rank, and a message from each rank to each other.
///
/// # Errors
/// The own error; [`ContactError::Ranks`] with that of another rank, of ranks with other marks, or of the
/// communication. All ranks then have one, before a message is sent.
pub(crate) fn share<C: Communicator>(
    comm: &C,
    mark: u64,
    own: Result<Vec<u8>, ContactError>,
) -> Result<Vec<Vec<u8>>, ContactError> {
    let mut head = Vec::new();
    if let Ok(data) = &own {
        pack([data.len() as u64, mark], &mut head);
    }
    let (heads, own) = gathered(comm, head, own)?;
    if let Some(other) = heads.iter().position(|head| head.get(8..16) != heads[0].get(8..16)) {
        return Err(lost(CommError::Disagree {
            rank: 0,
            other,
            stage: "the search of a surface or its boxes",
        }));
    }
    let (rank, size) = (comm.rank(), comm.size());
    for to in (1..size).map(|step| (rank + step) % size).filter(|_| !own.is_empty()) {
        let mut data = comm.buffer(own.len());
        data.extend_from_slice(&own);
        comm.send(to, FOUND, data).map_err(lost)?;
    }
    let mut all = received(comm, |from| first_of(&heads[from]))?;
    all[rank] = own;
    Ok(all)
}

/// The heads of all ranks, and the own value; or on all ranks an error, if any rank has one. All ranks call it.
fn gathered<C: Communicator, R>(
    comm: &C,
    mut head: Vec<u8>,
    own: Result<R, ContactError>,
) -> Result<(Vec<Vec<u8>>, R), ContactError> {
    if let Err(error) = &own {
        pack([ERROR], &mut head);
        head.extend_from_slice(error.to_string().as_bytes());
    }
    let heads = comm.all_gather(&head).map_err(lost)?;
    let own = own?;
    match heads.iter().position(|head| first_of(head) == ERROR) {
        None => Ok((heads, own)),
        Some(rank) => {
            let text = String::from_utf8_lossy(heads[rank].get(8..).unwrap_or_default());
            Err(ContactError::Ranks { reason: format!("rank {rank} reports: {text}") })
        }
    }
}

fn first_of(head: &[u8]) -> u64 {
    unpack(head).next().unwrap_or(ERROR)
}

/// What the other ranks send, where `bytes` gives the length of the message of a rank; none is sent for 0.
fn received<C: Communicator>(comm: &C, bytes: impl Fn(usize) -> u64) -> Result<Vec<Vec<u8>>, ContactError> {
    let (rank, size) = (comm.rank(), comm.size());
    let mut all = vec![Vec::new(); size];
    for from in (1..size).map(|step| (rank + size - step) % size).filter(|from| bytes(*from) > 0) {
        let request = comm.receive(from, FOUND, bytes(from) as usize).map_err(lost)?;
        all[from] = comm.wait(request).map_err(lost)?;
    }
    Ok(all)
}
