//! Processor time, which other programs on a busy machine do not lengthen.

use crate::Outcome;

/// The seconds that this thread has computed.
pub(crate) fn processor() -> Outcome<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanoseconds = text.split_whitespace().next().ok_or("an empty schedstat")?.parse::<f64>()?;
    Ok(1e-9 * nanoseconds)
}
