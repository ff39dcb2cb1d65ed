//! Errors that one rank finds and all ranks return.

use crate::{CommError, Communicator, DistError};

/// Returns the value if no rank has an error. Otherwise the rank with the error returns it, and the others
/// return [`DistError::Elsewhere`] with its text. All ranks call it.
///
/// # Errors
/// The error of any rank, and errors of communication.
pub fn agree<C: Communicator, R>(comm: &C, result: Result<R, DistError>) -> Result<R, DistError> {
    if let Err(DistError::Comm(error)) = result {
        return Err(error.into()); // the group has stopped, so no rank can be told
    }
    let text = result.as_ref().err().map(ToString::to_string).unwrap_or_default();
    let all: Result<Vec<Vec<u8>>, CommError> = comm.all_gather(text.as_bytes());
    match (result, all?.into_iter().enumerate().find(|(_, text)| !text.is_empty())) {
        (Err(error), _) => Err(error),
        (_, Some((rank, text))) => {
            Err(DistError::Elsewhere { rank, reason: String::from_utf8_lossy(&text).into_owned() })
        }
        (Ok(value), None) => Ok(value),
    }
}
