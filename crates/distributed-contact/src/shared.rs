//! Data that all ranks gather, or the error that one rank found and all ranks return.

use coarsen_contact::ContactError;
use coarsen_distributed::Communicator;

/// The last byte of data, and of the text of an error.
const DATA: u8 = 0;
const ERROR: u8 = 1;

/// Gives the data of all ranks to all ranks, in their order, or an error to all ranks. All ranks call it.
///
/// # Errors
/// The own error; [`ContactError::Ranks`] with that of another rank, or of the communication.
pub(crate) fn share<C: Communicator>(
    comm: &C,
    own: Result<Vec<u8>, ContactError>,
) -> Result<Vec<Vec<u8>>, ContactError> {
    let (mut message, error) = match own {
        Ok(data) => (data, None),
        Err(error) => (error.to_string().into_bytes(), Some(error)),
    };
    message.push(if error.is_some() { ERROR } else { DATA });
    let mut all = comm.all_gather(&message).map_err(|e| ContactError::Ranks { reason: e.to_string() })?;
    if let Some(error) = error {
        return Err(error);
    }
    for (rank, data) in all.iter_mut().enumerate() {
        if data.pop() != Some(DATA) {
            let reason = format!("rank {rank} reports: {}", String::from_utf8_lossy(data));
            return Err(ContactError::Ranks { reason });
        }
    }
    Ok(all)
}
