//! Numbers as bytes of messages, in the byte order of the machine.

use num_traits::{FromBytes, ToBytes, Zero};

/// Appends the bytes of `values` to `to`.
///
/// ```
/// use coarsen_distributed::{pack, unpack};
/// let mut bytes = Vec::new();
/// pack([1.5, 2.5], &mut bytes);
/// assert_eq!(unpack(&bytes).collect::<Vec<f64>>(), [1.5, 2.5]);
/// ```
pub fn pack<T: ToBytes>(values: impl IntoIterator<Item = T>, to: &mut Vec<u8>) {
    // The vector grows by blocks: a check of its capacity takes longer than the copy of a number.
    let (mut block, mut filled) = ([0; 512], 0);
    for v in values {
        block[filled..filled + size_of::<T>()].copy_from_slice(v.to_ne_bytes().as_ref());
        filled += size_of::<T>();
        if filled == block.len() {
            to.extend_from_slice(&block);
            filled = 0;
        }
    }
    to.extend_from_slice(&block[..filled]);
}

/// The numbers in a message; bytes after the last whole number are not read.
pub fn unpack<T>(from: &[u8]) -> impl Iterator<Item = T> + '_
where
    T: Zero + ToBytes + FromBytes<Bytes = <T as ToBytes>::Bytes>,
{
    from.chunks_exact(size_of::<T>()).map(|from| {
        let mut bytes = T::zero().to_ne_bytes();
        bytes.as_mut().copy_from_slice(from);
        T::from_ne_bytes(&bytes)
    })
}
