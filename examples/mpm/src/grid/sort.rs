//! Particles in the order of their blocks and cells.

use coarsen::parallel;

use crate::fault::StepError;
use crate::particles::Particle;
use crate::weights::Weights;

use super::{SIDE, split};

/// Coordinates of blocks are between −2¹⁸ and 2¹⁸.
const HALF: i32 = 1 << 18;

/// The particles of a leaf.
const LEAF: usize = 1024;

/// Sorts particles by block and cell, equal ones by their earlier order. Returns the key of each particle, its
/// block and its cell, and the weights.
pub(super) fn by_cell(particles: &mut Vec<Particle>, dx: f64) -> Result<(Vec<u64>, Vec<Weights>), StepError> {
    let limit = dx * f64::from((HALF - 2) * SIDE as i32);
    let outside = |p: &Particle| !p.x.iter().all(|x| x.abs() < limit);
    if let Some(particle) = parallel::position(particles, outside) {
        return Err(StepError::Outside { particle, x: particles[particle].x, limit });
    }
    let mut keys = vec![(0_u64, 0_u32); particles.len()];
    let leaf = |(range, keys): (std::ops::Range<usize>, &mut [(u64, u32)])| {
        for (p, key) in range.zip(keys) {
            let (block, [i, j, k]) = split(Weights::at(particles[p].x, dx).base);
            *key = (encode(block) << 6 | (i + SIDE * (j + SIDE * k)) as u64, p as u32);
        }
    };
    let many = parallel::worth(64 * particles.len());
    parallel::each((0..particles.len(), &mut keys[..]), LEAF, many, &leaf);
    keys.sort_unstable();
    let sorted: Vec<Particle> = keys.iter().map(|&(_, p)| particles[p as usize]).collect();
    *particles = sorted;
    let mut weights = vec![Weights::default(); particles.len()];
    parallel::each((&particles[..], &mut weights[..]), LEAF, many, &|(from, to): (&[Particle], &mut [_])| {
        to.iter_mut().zip(from).for_each(|(w, p)| *w = Weights::at(p.x, dx));
    });
    Ok((keys.into_iter().map(|(key, _)| key).collect(), weights))
}

/// The Morton code of a block; x has the lowest bit.
pub(super) fn encode(block: [i32; 3]) -> u64 {
    let spread = |c: i32| {
        let mut v = (c + HALF) as u64;
        v = (v | v << 32) & 0x001f_0000_0000_ffff;
        v = (v | v << 16) & 0x001f_0000_ff00_00ff;
        v = (v | v << 8) & 0x100f_00f0_0f00_f00f;
        v = (v | v << 4) & 0x10c3_0c30_c30c_30c3;
        (v | v << 2) & 0x1249_2492_4924_9249
    };
    spread(block[0]) | spread(block[1]) << 1 | spread(block[2]) << 2
}

/// The block of a code.
pub(super) fn decode(code: u64) -> [i32; 3] {
    let gather = |code: u64| {
        let mut v = code & 0x1249_2492_4924_9249;
        v = (v | v >> 2) & 0x10c3_0c30_c30c_30c3;
        v = (v | v >> 4) & 0x100f_00f0_0f00_f00f;
        v = (v | v >> 8) & 0x001f_0000_ff00_00ff;
        v = (v | v >> 16) & 0x001f_0000_0000_ffff;
        ((v | v >> 32) & 0x001f_ffff) as i32 - HALF
    };
    [gather(code), gather(code >> 1), gather(code >> 2)]
}
