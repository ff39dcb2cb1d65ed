//! The positions and the near-kernel of the last build, for rebuilds of systems without them.

use coarsen_core::{Real, parallel};
use coarsen_sparse::{NearKernel, System};

/// Copies of the positions and the near-kernel with which the hierarchy was built.
#[derive(Default)]
pub(super) struct Given {
    positions: Vec<[f64; 3]>,
    near_kernel: Option<NearKernel>,
    /// What the last build took from an earlier one, for the table.
    pub(super) earlier: Option<&'static str>,
}

impl Given {
    /// Completes a system that lacks a part.
    pub(super) fn complete<'a, T: Real>(&'a self, system: System<'a, T>) -> System<'a, T> {
        system.with_kept(&self.positions, self.near_kernel.as_ref())
    }

    /// Copies the parts of the system of a build; `whole` is the [complete](Self::complete) system that was built.
    pub(super) fn set<T: Real>(&mut self, system: &System<'_, T>, whole: [bool; 2]) {
        match system.positions {
            Some(points) => {
                if self.positions.len() != points.len() {
                    self.positions = vec![[0.0; 3]; points.len()];
                }
                parallel::map(points, &mut self.positions, |x| *x);
            }
            None if !whole[0] => self.positions.clear(),
            None => (),
        }
        match (&mut self.near_kernel, system.near_kernel) {
            (Some(own), Some(given)) => own.set(given),
            (own, Some(given)) => *own = Some(given.clone()),
            (own, None) if !whole[1] => *own = None,
            (_, None) => (),
        }
        let earlier = [whole[0] && system.positions.is_none(), whole[1] && system.near_kernel.is_none()];
        self.earlier = match earlier {
            [false, false] => None,
            [true, false] => Some("positions"),
            [false, true] => Some("near-kernel"),
            [true, true] => Some("positions and near-kernel"),
        };
    }

    pub(super) fn bytes(&self) -> usize {
        let near_kernel = self.near_kernel.as_ref().map_or(0, |k| size_of_val(k.values()));
        size_of_val(&self.positions[..]) + near_kernel
    }
}
