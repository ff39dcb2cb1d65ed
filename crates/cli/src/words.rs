//! Messages of the library in the words of the command: rows and nodes count from 1, as in files, and options stand in
//! place of parameters in code.

use coarsen::auto::Ending;
use coarsen::backend::SetupError;
use coarsen::diagnose::{Finding, Sample, Witness};
use coarsen::direct::DirectError;
use coarsen::sparse::SparseError;
use coarsen::{AnyError, Error};

/// Names in the library, and what the command calls them. A name that contains another one comes first.
const OPTIONS: [(&str, &str); 9] = [
    ("set `System::positions` (`--coordinates` in the command)", "give --coordinates"),
    ("Skinning::handles", "--skinning-handles"),
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
    message.rows().into_iter().for_each(|row| *row += 1);
    options(&message.to_string())
}

/// A message that names rows, columns or nodes of a system.
pub(crate) trait Rows {
    /// The numbers, which count from 0.
    fn rows(&mut self) -> Vec<&mut usize>;
}

impl Rows for Sample {
    fn rows(&mut self) -> Vec<&mut usize> {
        self.rows.iter_mut().collect()
    }
}

impl Rows for Witness {
    fn rows(&mut self) -> Vec<&mut usize> {
        match self {
            Self::Diagonal { positive, negative } => vec![positive, negative],
            Self::Pair { rows: (i, j), .. } => vec![i, j],
            Self::Triple { rows: (i, j, k) } => vec![i, j, k],
        }
    }
}

impl Rows for Finding {
    fn rows(&mut self) -> Vec<&mut usize> {
        match self {
            Self::NotFinite { rows, column } => {
                let mut all = rows.rows();
                all.push(column);
                all
            }
            Self::EmptyRows(rows)
            | Self::ZeroDiagonal(rows)
            | Self::NegativeDiagonal(rows)
            | Self::Prescribed(rows)
            | Self::OneSidedConstraints(rows)
            | Self::Floating { rows, .. }
            | Self::Fixed(rows)
            | Self::DiagonalOnly(rows)
            | Self::NotDominant { rows, .. }
            | Self::PositiveOffDiagonal { rows, .. } => rows.rows(),
            Self::Unsymmetric { pair: (i, j), .. } => vec![i, j],
            Self::Indefinite(witness) => witness.rows(),
            Self::Scale { least: (i, _), most: (j, _) } => vec![i, j],
            _ => Vec::new(),
        }
    }
}

impl Rows for Ending {
    fn rows(&mut self) -> Vec<&mut usize> {
        match self {
            Self::Setup(error) => error.rows(),
            Self::Factor(error) => error.rows(),
            Self::Unsuitable(error) => error.rows(),
            Self::NotNull { vector, .. } => vec![vector],
            _ => Vec::new(),
        }
    }
}

impl Rows for SetupError {
    fn rows(&mut self) -> Vec<&mut usize> {
        match self {
            Self::SingularBlock { node, first_row: row } | Self::Released { node, first_row: row } => {
                vec![node, row]
            }
            Self::ZeroDiagonal { row, .. }
            | Self::Pivot { row, .. }
            | Self::ZeroPivot { row, .. }
            | Self::NotPositive { row, .. }
            | Self::DiagonalRange { row, .. }
            | Self::Method { node: Some(row), .. }
            | Self::Domain { node: row, .. } => vec![row],
            Self::Unsymmetric { row, column, .. } | Self::Coupled { row, column } => vec![row, column],
            Self::Level { cause, .. } => cause.rows(),
            Self::Matrix(error) => error.rows(),
            Self::Core(error) => error.rows(),
            _ => Vec::new(),
        }
    }
}

impl Rows for DirectError {
    fn rows(&mut self) -> Vec<&mut usize> {
        match self {
            Self::NotFinite { row, column } | Self::NotSymmetric { row, column, .. } => vec![row, column],
            Self::RightHandSide { index: row }
            | Self::Overflow { index: row, .. }
            | Self::EmptyRow { row }
            | Self::EmptyColumn { column: row }
            | Self::NotPositiveDefinite { row }
            | Self::SmallPivot { row, .. }
            | Self::Singular { row, .. } => vec![row],
            _ => Vec::new(),
        }
    }
}

impl Rows for Error {
    fn rows(&mut self) -> Vec<&mut usize> {
        match self {
            Self::NotFinite { index: row, .. } | Self::Allocation { row: Some(row), .. } => vec![row],
            _ => Vec::new(),
        }
    }
}

impl Rows for SparseError {
    fn rows(&mut self) -> Vec<&mut usize> {
        match self {
            Self::NotFinite { row, column } => vec![row, column],
            Self::NoDiagonal { node } => vec![node],
            _ => Vec::new(),
        }
    }
}

impl Rows for AnyError {
    fn rows(&mut self) -> Vec<&mut usize> {
        match self {
            Self::Setup(error) => error.rows(),
            Self::Core(error) => error.rows(),
            _ => Vec::new(),
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
