//! The run of `auto` in a comparison.

use std::time::{Duration, Instant};

use super::attempts::by_choice;
use super::ending::Ending;
use super::progress::Progress;
use crate::arguments::{Compare, Method, NullSpace, Precision, Precond};
use crate::decision::choose::{Choice, Wish, choose, is_solid};
use crate::decision::decide::leave_to_the_cpu;
use crate::decision::places::Stages;
use crate::error::Failure;
use crate::input::ready::Ready;

/// Runs `auto`, from the choice to the solution.
pub(crate) struct Auto {
    pub(crate) choice: Choice,
    pub(crate) precond: Precond,
    pub(crate) seconds: f64,
    pub(crate) ending: Ending,
}

impl Auto {
    pub(crate) fn run(
        ready: &Ready<'_>,
        options: &Compare,
        stages: &Stages,
        progress: &Progress,
    ) -> Result<Self, Failure> {
        let given = &options.given;
        let wish = Wish {
            method: Method::Auto,
            precond: Precond::Auto,
            iterate: given.null_space != NullSpace::None || !matches!(stages, Stages::Cpu),
            varies: given.aggregation.varies(),
            solid: is_solid(ready, given),
            memory: given.memory(),
        };
        let begin = Instant::now();
        let mut choice = choose(ready, wish);
        leave_to_the_cpu(stages, &mut choice)?;
        let deadline = Some(begin + Duration::from_secs_f64(options.limit));
        let place = (stages, Precision::Auto, deadline);
        let solution = by_choice(ready, given, &mut choice, place, progress)?;
        let seconds = begin.elapsed().as_secs_f64();
        Ok(Self { choice, precond: solution.precond, seconds, ending: solution.ending })
    }
}
