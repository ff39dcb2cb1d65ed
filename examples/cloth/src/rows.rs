//! The table of frames: one line of the file `frames.csv` per frame, and a summary.

use std::fmt;
use std::str::FromStr;

use examples_run::files::{Record, columns, statistics};

/// The results of a frame.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Row {
    /// The number of the frame; 0 is the start.
    pub(crate) frame: usize,
    /// The number of time steps of the frame.
    pub(crate) steps: usize,
    /// The number of those that converged.
    pub(crate) converged: usize,
    /// The number of iterations of Newton's method in all steps.
    pub(crate) outer: usize,
    /// The number of iterations of the linear solves.
    pub(crate) inner: usize,
    /// The number of contacts at the end.
    pub(crate) contacts: usize,
    /// The number of edges that cross a triangle or a solid at the end.
    pub(crate) penetrations: usize,
    /// How often the host has waited for the backend.
    pub(crate) synchronisations: u64,
    /// The seconds for building and updating preconditioners.
    pub(crate) setup: f64,
    /// The other seconds.
    pub(crate) solve: f64,
    /// Kinetic, elastic, contact and gravitational energy, J.
    pub(crate) energy: f64,
    /// Kinetic energy, J.
    pub(crate) kinetic: f64,
    /// Elastic energy with that of contacts, J.
    pub(crate) elastic: f64,
    /// The work of the air and of friction since the start, J.
    pub(crate) work: f64,
    /// The momentum of the free nodes, kg m/s.
    pub(crate) momentum: [f64; 3],
}

impl Record for Row {
    const HEADER: &'static str = "frame,steps,converged,outer,inner,contacts,penetrations,synchronisations,setup_s,solve_s,energy,\
                                  kinetic,elastic,work,momentum_x,momentum_y,momentum_z";

    fn frame(&self) -> usize {
        self.frame
    }

    fn note(&self) -> String {
        format!("{} + {} iterations, {} contacts", self.outer, self.inner, self.contacts)
    }
}

/// The line of the file, which is read back without rounding.
impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = [self.frame, self.steps, self.converged, self.outer, self.inner, self.contacts];
        counts.iter().try_for_each(|count| write!(f, "{count},"))?;
        write!(f, "{},{}", self.penetrations, self.synchronisations)?;
        let numbers = [self.setup, self.solve, self.energy, self.kinetic, self.elastic, self.work];
        numbers.iter().chain(&self.momentum).try_for_each(|number| write!(f, ",{number:e}"))
    }
}

impl FromStr for Row {
    type Err = ();

    fn from_str(line: &str) -> Result<Self, ()> {
        let fields: Vec<&str> = line.split(',').collect();
        let (counts, numbers) = fields.split_at_checked(8).ok_or(())?;
        let counts: Vec<usize> =
            counts.iter().map(|text| text.parse().map_err(drop)).collect::<Result<_, _>>()?;
        let numbers: Vec<f64> =
            numbers.iter().map(|text| text.parse().map_err(drop)).collect::<Result<_, _>>()?;
        let &[frame, steps, converged, outer, inner, contacts, penetrations, synchronisations] = &counts[..]
        else {
            return Err(());
        };
        let &[setup, solve, energy, kinetic, elastic, work, ref momentum @ ..] = &numbers[..] else {
            return Err(());
        };
        let momentum = momentum.try_into().map_err(drop)?;
        let row = Self { frame, steps, converged, outer, inner, contacts, penetrations, ..Self::default() };
        let synchronisations = synchronisations as u64;
        Ok(Self { synchronisations, setup, solve, energy, kinetic, elastic, work, momentum, ..row })
    }
}

/// The table at the end of a run, of all rows; the start is no frame of it.
pub(crate) struct Summary<'a>(pub(crate) &'a [Row]);

impl fmt::Display for Summary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self.0.get(1..).unwrap_or_default();
        columns(f)?;
        let per_step = |row: &Row, count: usize| count as f64 / row.steps.max(1) as f64;
        let lines: [(&str, &dyn Fn(&Row) -> f64); 8] = [
            ("Newton per step", &|row| per_step(row, row.outer)),
            ("inner per step", &|row| per_step(row, row.inner)),
            ("synchronisations per step", &|row| per_step(row, row.synchronisations as usize)),
            ("setup, s", &|row| row.setup),
            ("solve, s", &|row| row.solve),
            ("contacts", &|row| row.contacts as f64),
            ("penetrations", &|row| row.penetrations as f64),
            ("energy less work, J", &|row| row.energy - row.work),
        ];
        for (name, of) in lines {
            statistics(f, name, rows.iter().map(of))?;
        }
        let sum = |of: &dyn Fn(&Row) -> usize| rows.iter().map(of).sum::<usize>();
        writeln!(f, "{} of {} steps converged", sum(&|row| row.converged), sum(&|row| row.steps))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_back() {
        let row = Row {
            frame: 3,
            steps: 21,
            contacts: 7,
            synchronisations: 5,
            energy: 1.0 / 3.0,
            momentum: [0.1, -1e-9, 5.0],
            ..Row::default()
        };
        assert_eq!(row.to_string().parse(), Ok(row.clone()));
        assert_eq!(row.to_string().split(',').count(), Row::HEADER.split(',').count());
        for damaged in ["", "1,2", &format!("{row},1"), &row.to_string().replacen('3', "x", 1)] {
            assert_eq!(damaged.parse::<Row>(), Err(()), "{damaged}");
        }
        let text = Summary(&[Row::default(), Row { converged: 20, ..row }]).to_string();
        assert!(text.contains("20 of 21 steps converged"), "{text}");
    }
}
