//! The forces of contact on the nodes of a rank, and their derivatives.
//!
//! | symbol | here | |
//! |---|---|---|
//! | w, n | [`Touch`] | the weights of the four nodes of a pair, and its direction |
//! | k | [`ClothContact::resistance`] | m φ'' |
//!
//! > f_a = −∂E/∂x_a,  J_ab = −k w_a w_b n nᵀ    (2)
//!
//! Number as in Li et al. 2020, "P-Cloth"; the elements of contact are those of [`ClothContact`]. A rank has
//! the pairs at its nodes, in the order of one host, and computes those (§3.2.1), so that the bits do not depend on the
//! number of ranks.

use std::sync::Arc;

use coarsen_contact::{ClothContact, Search, Touch};
use coarsen_distributed::{Communicator, DistError, GlobalRows, OwnerFill, Partition};
use coarsen_elastic::ContactHessian;

/// Adds ∂E/∂x of contact, for the pairs of the last detection, to the entries of this rank, three for each block row.
/// Sends no message.
///
/// *Panics* if `g` has another length than the rows of this rank.
pub fn add_contact_gradient<C: Communicator, S: Search>(
    partition: &Partition<C>,
    contact: &ClothContact<S>,
    g: &mut [f64],
) {
    assert_eq!(g.len(), 3 * partition.count(), "add_contact_gradient: wrong length");
    let (first, count) = (partition.first() as usize, partition.count());
    let own = |slot: Option<usize>| slot.and_then(|slot| slot.checked_sub(first)).filter(|row| *row < count);
    for touch in contact.found() {
        let rows = contact.slots(touch).map(own);
        if rows.iter().all(Option::is_none) {
            continue;
        }
        partition.comm().worked(12);
        for (row, slope) in rows.into_iter().zip(contact.slopes(touch)) {
            let Some(row) = row else { continue };
            (0..3).for_each(|c| g[3 * row + c] += slope[c]); // (2)
        }
    }
}

/// The rows of this rank of the Hessian of contact, for the pairs of the last detection. Sends no message.
///
/// *Cost* the pattern and the values of the pairs at own nodes. The pattern is new in every step, since pairs are.
///
/// # Errors
/// [`DistError::Column`] if the partition has fewer rows than the contact has free nodes.
pub fn contact_rows<C: Communicator, S: Search>(
    partition: &Arc<Partition<C>>,
    contact: &ClothContact<S>,
) -> Result<GlobalRows<f64>, DistError> {
    let free = |touch: &Touch| {
        let nodes = contact.slots(touch).into_iter().zip(touch.weights);
        nodes.filter_map(|(slot, w)| slot.map(|slot| (slot as u64, w))).collect::<Vec<_>>()
    };
    let touches = contact.found();
    let stencils =
        touches.iter().map(|touch| free(touch).into_iter().map(|(row, _)| row).collect::<Vec<_>>());
    OwnerFill::new(partition, stencils)?.fill(|element, h| {
        let (touch, nodes) = (&touches[element], free(&touches[element]));
        let (k, n, width) = (contact.resistance(touch), touch.normal, 3 * nodes.len());
        for (a, (_, wa)) in nodes.iter().enumerate() {
            for (b, (_, wb)) in nodes.iter().enumerate() {
                for (p, q) in (0..9).map(|c| (c / 3, c % 3)) {
                    h[(3 * a + p) * width + 3 * b + q] = k * wa * wb * n[p] * n[q]; // (2)
                }
            }
        }
    })
}

/// The rows of this rank of a Hessian outside the pattern of the elements, such as that of friction: Σ w_a w_b K over
/// contacts with stiffness K, and the blocks of contacts without one. The contacts at the nodes of this rank are
/// needed, in the same order at any number of ranks; others may be missing. Sends no message.
///
/// # Errors
/// [`DistError::Column`] if the partition has fewer rows than a contact has nodes.
pub fn contact_hessian_rows<C: Communicator>(
    partition: &Arc<Partition<C>>,
    contact_hessian: &ContactHessian,
) -> Result<GlobalRows<f64>, DistError> {
    let (stencils, (places, blocks)) = (contact_hessian.stencils(), contact_hessian.blocks());
    let nodes = |ids: &[u32]| ids.iter().map(|&node| u64::from(node)).collect::<Vec<_>>();
    let contacts = stencils.iter().map(|stencil| nodes(stencil.nodes()));
    // Each block is an element, whose other blocks are 0.
    let single = places.iter().map(|&(i, j)| if i == j { nodes(&[i]) } else { nodes(&[i, j]) });
    OwnerFill::new(partition, contacts.chain(single))?.fill(|element, h| {
        let Some(stencil) = stencils.get(element) else {
            let (k, width) = (element - stencils.len(), h.len().isqrt());
            let block = &blocks[9 * k..][..9];
            return (0..9).for_each(|c| h[c / 3 * width + width - 3 + c % 3] = block[c]);
        };
        let (w, k) = (stencil.weights(), &contact_hessian.stiffness()[9 * element..][..9]);
        let width = 3 * w.len();
        for (a, wa) in w.iter().enumerate() {
            for (b, wb) in w.iter().enumerate() {
                (0..9).for_each(|c| h[(3 * a + c / 3) * width + 3 * b + c % 3] = wa * wb * k[c]);
            }
        }
    })
}
