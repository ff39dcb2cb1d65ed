//! Messages of the library in the words of the command: rows and nodes count from 1, as in files, and options stand in
//! place of parameters in code.

use coarsen::auto::Ending;
use coarsen::backend::SetupError;
use coarsen::diagnose::{Finding, Sample, Witness};
use coarsen::direct::DirectError;
use coarsen::sparse::SparseError;
use coarsen::{AnyError, Error};

/// Names in the library, and what the command calls them. A name that contains another one comes first.
const OPTIONS: [(&str, &str); 10] = [
    ("set `System::positions` (`--coordinates` in the command)", "give --coordinates"),
    ("for Ruge-Stueben coarsening", "for --precond rs (give --block-size 1)"),
    ("Skinning::control_points", "--skinning-control-points"),
    ("AdditiveSchwarz::domain", "--as-domain"),
    ("Schwarz::domain, in unknowns,", "--mas-domain times the block size"),
    ("take smaller domains, or factors", "take smaller domains, or --as-inner factors"),
    ("use smaller domains", "take a smaller --mas-domain"),
    ("store and eliminate in f32", "--mas-precision f32"),
    ("diagnose the system", "run coarsen info"),
    ("max_iterations", "--max-iterations"),
];

/// A message with options of the command. Names of files that contain such a name stay as they are.
pub(crate) fn options(message: &str) -> String {
    let replaced = |word: &str| {
        let is_name = |name: &str| word.trim_matches(|c: char| !c.is_alphanumeric() && c != '_') == name;
        match OPTIONS.iter().find(|(name, _)| !name.contains(' ') && is_name(name)) {
            Some((name, option)) => word.replace(name, option),
            None => word.to_owned(),
        }
    };
    let sentences = OPTIONS.iter().filter(|(name, _)| name.contains(' '));
    let message = sentences.fold(message.to_owned(), |text, (name, option)| text.replace(name, option));
    message.split(' ').map(replaced).collect::<Vec<_>>().join(" ")
}

/// The message of a value of the library, with rows from 1.
pub(crate) fn told<M: Rows + Clone + ToString>(message: &M) -> String {
    let mut message = message.clone();
    message.number(&|row| row + 1);
    options(&message.to_string())
}

/// A message that names rows, columns or nodes of a system.
pub(crate) trait Rows {
    /// Changes these numbers, which count from 0.
    fn number(&mut self, of: &dyn Fn(usize) -> usize);
}

/// Changes some numbers.
pub(crate) fn number<'a>(numbers: impl IntoIterator<Item = &'a mut usize>, of: &dyn Fn(usize) -> usize) {
    numbers.into_iter().for_each(|number| *number = of(*number));
}

impl Rows for Sample {
    fn number(&mut self, of: &dyn Fn(usize) -> usize) {
        number(&mut self.rows, of);
    }
}

impl Rows for Witness {
    fn number(&mut self, of: &dyn Fn(usize) -> usize) {
        self.renumber(of);
    }
}

impl Rows for Finding {
    fn number(&mut self, of: &dyn Fn(usize) -> usize) {
        match self {
            Self::NotFinite { rows, column } => {
                rows.number(of);
                number([column], of);
            }
            Self::EmptyRows(rows)
            | Self::ZeroDiagonal(rows)
            | Self::NegativeDiagonal(rows)
            | Self::Prescribed(rows)
            | Self::OneSidedConstraints(rows)
            | Self::Unconstrained { rows, .. }
            | Self::Fixed(rows)
            | Self::DiagonalOnly(rows)
            | Self::NotDominant { rows, .. }
            | Self::PositiveOffDiagonal { rows, .. } => rows.number(of),
            Self::Unsymmetric { pair: (i, j), .. } => number([i, j], of),
            Self::Indefinite(witness) => witness.number(of),
            Self::Scale { least: (i, _), most: (j, _) } => number([i, j], of),
            _ => {}
        }
    }
}

impl Rows for Ending {
    fn number(&mut self, of: &dyn Fn(usize) -> usize) {
        match self {
            Self::Setup(error) => error.number(of),
            Self::Factor(error) => error.number(of),
            Self::Unsuitable(error) => error.number(of),
            Self::NotNull { vector, .. } => number([vector], of),
            _ => {}
        }
    }
}

impl Rows for SetupError {
    fn number(&mut self, of: &dyn Fn(usize) -> usize) {
        match self {
            Self::Level { cause, .. } => cause.number(of),
            Self::Matrix(error) => error.number(of),
            Self::Core(error) => error.number(of),
            own => own.renumber(of, of),
        }
    }
}

impl Rows for DirectError {
    fn number(&mut self, of: &dyn Fn(usize) -> usize) {
        match self {
            Self::NotFinite { row, column } | Self::NotSymmetric { row, column, .. } => {
                number([row, column], of)
            }
            Self::RightHandSide { index: row }
            | Self::Overflow { index: row, .. }
            | Self::EmptyRow { row }
            | Self::EmptyColumn { column: row }
            | Self::NotPositiveDefinite { row }
            | Self::SmallPivot { row, .. }
            | Self::Singular { row, .. } => number([row], of),
            _ => {}
        }
    }
}

impl Rows for Error {
    fn number(&mut self, of: &dyn Fn(usize) -> usize) {
        match self {
            Self::NotFinite { index: row, .. } | Self::Allocation { row: Some(row), .. } => number([row], of),
            _ => {}
        }
    }
}

impl Rows for SparseError {
    fn number(&mut self, of: &dyn Fn(usize) -> usize) {
        match self {
            Self::NotFinite { row, column } => number([row, column], of),
            Self::NoDiagonal { node } => number([node], of),
            _ => {}
        }
    }
}

impl Rows for AnyError {
    fn number(&mut self, of: &dyn Fn(usize) -> usize) {
        match self {
            Self::Setup(error) => error.number(of),
            Self::Core(error) => error.number(of),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use coarsen::Outcome;
    use coarsen::optimize::{DescentOutcome, LineSearchFailure, Refusal};

    use super::*;

    /// Whether a word is a name in Rust code.
    fn is_item(word: &str) -> bool {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '-');
        let is_path = word.contains("::") || word.contains('_');
        let is_camel =
            word.as_bytes().windows(2).any(|w| w[0].is_ascii_lowercase() && w[1].is_ascii_uppercase());
        is_path || is_camel && word != "NaN"
    }

    #[test]
    fn advice_has_no_names_of_the_library() {
        let outcomes = [
            Outcome::IterationLimit,
            Outcome::Stagnated,
            Outcome::Stopped,
            Outcome::IndefiniteOperator,
            Outcome::IndefinitePreconditioner,
            Outcome::Breakdown,
            Outcome::NotFinite,
            Outcome::Inconsistent,
            Outcome::Diverged,
        ];
        let failures = [
            LineSearchFailure::Ascent { slope: 1.0 },
            LineSearchFailure::Blocked { most: 0.0 },
            LineSearchFailure::NotFinite { alpha: 1.0 },
            LineSearchFailure::RoundOff { alpha: 1.0 },
            LineSearchFailure::Exhausted { evaluations: 1, alpha: 1.0 },
        ];
        let descents = [
            DescentOutcome::IterationLimit,
            DescentOutcome::Stopped,
            DescentOutcome::Stagnated,
            DescentOutcome::NotFinite,
            DescentOutcome::NoDirection(Refusal::Ascent { slope: 1.0 }),
            DescentOutcome::NoDirection(Refusal::RoundOff { slope: 1.0 }),
            DescentOutcome::NoDirection(Refusal::NotFinite),
        ];
        let advice = outcomes.map(Outcome::advice).into_iter().chain(descents.map(DescentOutcome::advice));
        for text in advice.chain(failures.map(LineSearchFailure::advice)) {
            let told = options(text);
            assert!(!told.split_whitespace().any(is_item), "{told}");
        }
        assert!(options(Outcome::NotFinite.advice()).ends_with("run coarsen info"));
    }
}
