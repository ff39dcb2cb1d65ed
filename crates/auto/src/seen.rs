//! What a diagnosis finds, kept for the systems that follow.

use coarsen_diagnose::Diagnosis;
use coarsen_sparse::Bsr;

use crate::Last;
use crate::choose::Choice;

/// What a diagnosis finds of a matrix.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Seen {
    choice: Choice,
    /// Whether a component of the graph has constants in its kernel.
    pub(crate) floats: bool,
    block: (usize, usize),
    rows: usize,
    /// The number of stored scalars.
    entries: usize,
}

impl Seen {
    /// Keeps the choice that follows from the diagnosis of a matrix.
    pub(crate) fn new(choice: Choice, diagnosis: &Diagnosis, a: &Bsr<f64>) -> Self {
        let floats = diagnosis.values.as_ref().is_some_and(|values| values.floating > 0);
        Self { choice, floats, block: a.block(), rows: a.shape().0, entries: a.nnz() }
    }

    /// The choice, for a solve that begins with a method if several may be tried, and with a memory limit for a factor.
    pub(crate) fn beginning_with(&self, first: Option<Last>, memory: usize) -> Choice {
        let mut choice = self.choice.clone();
        choice.plan.iter_mut().for_each(|plan| (plan.first, plan.memory) = (first, memory));
        choice
    }

    /// Whether another matrix can be solved by this choice: it is a plan, which watches its methods and bounds their
    /// cost; blocks and rows are the same; and the entries, to which costs are in proportion, differ by at most a fifth.
    /// A matrix that floats is diagnosed each time, since one that does not has a factor.
    pub(crate) fn serves(&self, a: &Bsr<f64>) -> bool {
        let like = 5 * self.entries.abs_diff(a.nnz()) <= self.entries;
        self.choice.plan.is_some()
            && !self.floats
            && (self.block, self.rows) == (a.block(), a.shape().0)
            && like
    }
}

#[cfg(test)]
mod tests {
    use coarsen_diagnose::diagnose;
    use coarsen_problems::cloth;

    use super::*;
    use crate::Auto;

    #[test]
    fn a_choice_serves_similar_matrices_only() {
        let a = cloth(30, 0.1).unwrap().matrix;
        let seen = Seen::new(Auto::default().choose(&a).unwrap(), &diagnose(&a), &a);
        assert!(seen.serves(&a));
        let with = |entries: usize| Seen { entries, ..seen.clone() };
        for (entries, serves) in [(1.19, true), (1.27, false), (0.86, true), (0.82, false)] {
            assert_eq!(with((entries * a.nnz() as f64) as usize).serves(&a), serves, "{entries}");
        }
        assert!(!Seen { floats: true, ..seen.clone() }.serves(&a));
        assert!(!Seen { block: (1, 1), ..seen.clone() }.serves(&a));
        assert!(!Seen { rows: 7, ..seen.clone() }.serves(&a));
        let mut direct = seen.clone();
        direct.choice.plan = None;
        assert!(!direct.serves(&a));
        let plan = seen.beginning_with(Some(Last::Factor), 7).plan.unwrap();
        assert_eq!((plan.first, plan.memory), (Some(Last::Factor), 7));
    }
}
