//! The tasks of a level: ranges of domains, each with its workspace and output.

use coarsen_core::Real;
use coarsen_core::parallel::Pieces;

use crate::eliminate::Workspace;
use crate::options::{Arithmetic, Repair};
use crate::plan::{DomainLevel, Plan};

/// The output for a range of domains.
pub(crate) struct Targets<'a, T, S> {
    pub(crate) which: &'a [u32],
    pub(crate) base: usize,
    pub(crate) domain_level: &'a DomainLevel,
    pub(crate) area: usize,
    pub(crate) block: usize,
    pub(crate) packed: &'a mut [S],
    pub(crate) repairs: &'a mut [Option<Repair>],
    pub(crate) coarse: &'a mut [T],
    pub(crate) sizes: &'a mut [T],
}

impl<T: Real, S: Real> Pieces for Targets<'_, T, S> {
    fn extent(&self) -> usize {
        self.which.len()
    }

    fn cut(self, mid: usize) -> (Self, Self) {
        let (left, right) = self.which.split_at(mid);
        let cut = right.first().map_or(self.base + self.repairs.len(), |&d| d as usize);
        let (domain_level, area, block, base) = (self.domain_level, self.area, self.block, self.base);
        let (packed, packed_right) =
            self.packed.split_at_mut(domain_level.offsets[cut] - domain_level.offsets[base]);
        let (repairs, repairs_right) = self.repairs.split_at_mut(cut - base);
        let blocks = domain_level.coarse.offsets();
        let none = self.coarse.is_empty();
        let (coarse, coarse_right) =
            self.coarse.split_at_mut(if none { 0 } else { (blocks[cut] - blocks[base]) * area });
        let (sizes, sizes_right) = self.sizes.split_at_mut(if none { 0 } else { (cut - base) * block });
        (
            Targets { which: left, base, domain_level, area, block, packed, repairs, coarse, sizes },
            Targets {
                which: right,
                base: cut,
                domain_level,
                area,
                block,
                packed: packed_right,
                repairs: repairs_right,
                coarse: coarse_right,
                sizes: sizes_right,
            },
        )
    }
}

/// The workspace for the domains of one task, one domain after the other.
pub(crate) struct TaskWorkspace<T> {
    pub(crate) single: Workspace<f32>,
    pub(crate) double: Workspace<f64>,
    pub(crate) scale: Vec<f64>,
    pub(crate) diagonal: Vec<T>,
    /// For each unknown of a node, the sum of the diagonal entries of a domain.
    pub(crate) sums: Vec<T>,
}

/// The maximal number of tasks of a level.
const WORKSPACES: usize = 32;

/// The number of domains per workspace.
const DOMAINS: usize = 16;

impl<T: Real> TaskWorkspace<T> {
    /// Returns workspaces for the largest domains of a plan.
    pub(crate) fn of(plan: &Plan, arithmetic: Arithmetic) -> Vec<Self> {
        let rows = (0..plan.levels()).map(|level| plan.rows(level)).max().unwrap_or(0);
        let domains =
            plan.domain_levels.iter().map(|domain_level| domain_level.domains.count()).max().unwrap_or(0);
        let single = if arithmetic == Arithmetic::Single { rows } else { 0 };
        let workspace = |_| Self {
            single: Workspace::new(single),
            double: Workspace::new(rows),
            scale: vec![0.0; rows],
            diagonal: vec![T::zero(); plan.block().pow(2)],
            sums: vec![T::zero(); plan.block()],
        };
        (0..domains.div_ceil(DOMAINS).clamp(1, WORKSPACES)).map(workspace).collect()
    }
}

/// The domains and their workspaces, which are split together.
pub(crate) struct Tasks<'a, T, S> {
    pub(crate) targets: Targets<'a, T, S>,
    pub(crate) workspaces: &'a mut [TaskWorkspace<T>],
}

impl<T: Real, S: Real> Pieces for Tasks<'_, T, S> {
    fn extent(&self) -> usize {
        self.workspaces.len()
    }

    fn cut(self, mid: usize) -> (Self, Self) {
        let share = self.targets.extent() * mid / self.workspaces.len();
        let (targets, rest) = self.targets.cut(share);
        let (workspaces, more) = self.workspaces.split_at_mut(mid);
        (Self { targets, workspaces }, Self { targets: rest, workspaces: more })
    }
}
