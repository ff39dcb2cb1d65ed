//! Data that all ranks gather, or the error that one rank found and all ranks return.

use coarsen_contact::ContactError;
use coarsen_distributed::Communicator;

/// The first byte of data, and of the text of an error.
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
    let (kind, body) = match &own {
        Ok(data) => (DATA, data.clone()),
        Err(error) => (ERROR, error.to_string().into_bytes()),
    };
    let mut message = vec![kind];
    message.extend(body);
    let all = comm.all_gather(&message).map_err(|e| ContactError::Ranks { reason: e.to_string() })?;
    own?;
    if let Some(rank) = all.iter().position(|other| other.first() != Some(&DATA)) {
        let text = String::from_utf8_lossy(all[rank].get(1..).unwrap_or_default());
        return Err(ContactError::Ranks { reason: format!("rank {rank} reports: {text}") });
    }
    Ok(all.into_iter().map(|mut data| data.split_off(1)).collect())
}
