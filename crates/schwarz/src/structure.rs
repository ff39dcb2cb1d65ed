//! The plan and the checks, without inverses. A build begins with them; if a backend computes the inverses, the
//! host does nothing else.

use std::sync::Arc;

use coarsen_backend::SetupError;
use coarsen_core::Real;
use coarsen_sparse::{Pattern, System};

use crate::check::{self, Checked};
use crate::links::Links;
use crate::options::Coarse;
use crate::plan::{Limits, Plan};
use crate::schwarz::Schwarz;
use crate::source::Source;

impl Schwarz {
    /// Returns the levels and domains of a system, without inverses.
    ///
    /// *Cost* a few products with A.
    ///
    /// ```
    /// use coarsen_schwarz::Schwarz;
    /// let p = coarsen_problems::poisson2d(40)?;
    /// let plan = Schwarz::multilevel().plan(p.system())?;
    /// assert_eq!(plan.nodes(1), plan.domains(0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The errors of a build.
    pub fn plan<T: Real>(&self, system: System<'_, T>) -> Result<Plan, SetupError> {
        self.validate(system.matrix.block().0)?;
        system.check()?;
        Ok(self.structure(system, self.coarse)?.0)
    }

    /// Returns the levels and domains of a system, and the results of its checks.
    pub(crate) fn structure<T: Real>(
        &self,
        system: System<'_, T>,
        top: Coarse,
    ) -> Result<(Plan, Checked<T>), SetupError> {
        let mut starts = Vec::new();
        let source = Source::of(&system, &mut starts);
        SetupError::unless_cancelled(system.cancel)?;
        let (links, coupled) = Links::of(source, self.coupling);
        SetupError::unless_cancelled(system.cancel)?;
        let left_out: Vec<u32> = (0..coupled.len() as u32).filter(|&i| !coupled[i as usize]).collect();
        let mut checked = Checked::default();
        check::check(check::METHOD, source, system.contact, &left_out, self.storage, &mut checked)?;
        let order = if coupled.contains(&true) {
            self.order.of(&system, &links)?
        } else {
            (0..coupled.len() as u32).collect()
        };
        SetupError::unless_cancelled(system.cancel)?;
        let limits = Limits { domain: self.domain, levels: self.levels, top };
        let plan = Plan::new(source.block(), links, &order, &coupled, limits, system.cancel)?;
        Ok((plan, checked))
    }

    /// Runs the checks of an update; the nodes `left_out` are in no domain.
    ///
    /// # Errors
    /// The errors of an update.
    pub fn check<T: Real>(&self, left_out: &[u32], system: System<'_, T>) -> Result<(), SetupError> {
        self.validate(system.matrix.block().0)?;
        let mut starts = Vec::new();
        let source = Source::of(&system, &mut starts);
        check::check(check::METHOD, source, system.contact, left_out, self.storage, &mut Checked::default())
    }
}

impl Plan {
    /// Whether the plan fits another system: it has the pattern `built`, and the matrix still does not couple nodes in
    /// no domain. Contact may couple them, such as held nodes that are touched: it stays outside of all domains.
    pub fn serves<T: Real>(&self, built: &Arc<Pattern>, system: System<'_, T>) -> bool {
        let alone = |i: usize| {
            system.matrix.row(i).filter(|(j, _)| *j != i).all(|(_, block)| block.iter().all(|v| v.is_zero()))
        };
        system.matrix.block().0 == self.block()
            && Pattern::same(system.matrix.pattern(), built)
            && self.left_out().iter().all(|&i| alone(i as usize))
    }
}
