//! The table of frames: one line of the file `frames.csv` per frame, and a summary.

use std::fmt::Write as _;

use examples_run::files::{Cell, Record};

examples_run::record! {
    /// The results of a frame.
    pub(crate) struct Row {
        /// The number of the frame; 0 is the start.
        pub(crate) frame: usize = "frame",
        /// The simulated time in s.
        pub(crate) time: Time = "time",
        /// The number of iterations of the descent.
        pub(crate) outer: usize = "outer",
        /// The number of iterations of the linear solves.
        pub(crate) inner: usize = "inner",
        /// What the step took.
        pub(crate) seconds: Seconds = "setup_s" "solve_s" "fps",
        /// Kinetic, elastic, pin, contact and gravitational energy, J.
        pub(crate) energy: f64 = "energy",
        /// Kinetic energy, J.
        pub(crate) kinetic: f64 = "kinetic",
        /// Elastic energy with that of pins and contacts, J.
        pub(crate) elastic: f64 = "elastic",
        /// The work that pins have done since the start, J.
        pub(crate) work: f64 = "work",
        /// The number of tetrahedra whose volume is not positive.
        pub(crate) inverted: usize = "inverted",
        /// The number of contacts.
        pub(crate) contacts: usize = "contacts",
        /// The largest depth of a node in an obstacle, m; `None` if nothing tests it.
        pub(crate) penetration: Option<f64> = "penetration",
        /// The same in a body.
        pub(crate) overlap: Option<f64> = "overlap",
        /// How the descent ended; `start` for frame 0.
        pub(crate) outcome: String = "outcome",
    }
}

/// A time in s, written without an exponent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Time(pub(crate) f64);

impl Cell for Time {
    fn write(&self, to: &mut Vec<String>) {
        to.push(self.0.to_string());
    }

    fn read<'a>(from: &mut impl Iterator<Item = &'a str>) -> Option<Self> {
        f64::read(from).map(Self)
    }
}

/// The seconds of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Seconds {
    /// For building and updating preconditioners.
    pub(crate) setup: f64,
    /// The others.
    pub(crate) solve: f64,
}

impl Seconds {
    /// Frames per second.
    fn rate(self) -> f64 {
        (self.setup + self.solve).max(1e-9).recip()
    }
}

/// The frames per second are not read back.
impl Cell for Seconds {
    const FIELDS: usize = 3;

    fn write(&self, to: &mut Vec<String>) {
        [self.setup, self.solve].write(to);
        to.push(format!("{:.3}", self.rate()));
    }

    fn read<'a>(from: &mut impl Iterator<Item = &'a str>) -> Option<Self> {
        let [setup, solve, _] = <[f64; 3]>::read(from)?;
        Some(Self { setup, solve })
    }
}

impl Row {
    /// The largest depth that is tested.
    #[cfg(test)]
    pub(crate) fn deepest(&self) -> f64 {
        [self.penetration, self.overlap].into_iter().flatten().fold(0.0, |a, b| if b <= a { a } else { b })
    }
}

impl Record for Row {
    const SUMMARY: &'static [(&'static str, fn(&Self) -> Option<f64>)] = &[
        ("outer iterations", |row| Some(row.outer as f64)),
        ("inner iterations", |row| Some(row.inner as f64)),
        ("setup, s", |row| Some(row.seconds.setup)),
        ("solve, s", |row| Some(row.seconds.solve)),
        ("frames per second", |row| Some(row.seconds.rate())),
        ("energy, J", |row| Some(row.energy)),
        ("inverted elements", |row| Some(row.inverted as f64)),
        ("in obstacles, mm", |row| row.penetration.map(|depth| 1e3 * depth)),
        ("in bodies, mm", |row| row.overlap.map(|depth| 1e3 * depth)),
    ];

    fn frame(&self) -> usize {
        self.frame
    }

    fn note(&self) -> String {
        format!("{} + {} iterations", self.outer, self.inner)
    }

    fn ending(rows: &[Self]) -> String {
        let mut outcomes: Vec<&str> = rows.iter().skip(1).map(|row| &*row.outcome).collect();
        let count = outcomes.len();
        outcomes.retain(|outcome| *outcome != "converged");
        outcomes.sort_unstable();
        let mut text = format!("{} of {count} frames converged", count - outcomes.len());
        for group in outcomes.chunk_by(|a, b| a == b) {
            let _ = write!(text, ", {} ended as {}", group.len(), group[0].replace('_', " "));
        }
        text + "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use examples_run::files::{Columns, summary};

    fn row(frame: usize, outcome: &str) -> Row {
        Row {
            frame,
            time: Time(0.1 * frame as f64),
            outer: 3,
            inner: 40,
            seconds: Seconds { setup: 0.25, solve: 0.75 },
            energy: -1.0 / 3.0,
            kinetic: 2.0 / 3.0,
            elastic: 0.1,
            work: 1e-17,
            inverted: 1,
            contacts: 2,
            penetration: Some(1e-3),
            overlap: None,
            outcome: outcome.to_owned(),
        }
    }

    #[test]
    fn lines_come_back() {
        let seconds = Seconds { setup: 1.0 / 7.0, solve: 1e-9 / 3.0 };
        let row = Row { seconds, ..row(7, "converged") };
        assert_eq!(Row::parse(&row.line()), Some(row.clone()));
        let expected = "7,0.7000000000000001,3,40,1.4285714285714285e-1,3.3333333333333337e-10,7.000,";
        assert!(row.line().starts_with(expected), "{row}");
        for damaged in ["", "1,2", "a,0,0,0,0,0,0,0,0,0,0,0,0,0,b", &format!("{row},1")] {
            assert_eq!(Row::parse(damaged), None, "{damaged}");
        }
    }

    #[test]
    fn summaries_count_how_frames_ended() {
        let start = Row { seconds: Seconds::default(), ..row(0, "start") };
        let rows = [start, row(1, "converged"), row(2, "iteration_limit"), row(3, "iteration_limit")];
        let text = summary(&rows);
        assert!(text.contains("in bodies, mm           not tested"), "{text}");
        assert!(text.contains("in obstacles, mm            1.0000"), "{text}");
        assert!(text.contains("1 of 3 frames converged, 2 ended as iteration limit"), "{text}");
        let fps = text.lines().find(|line| line.starts_with("frames per second")).expect("a line");
        assert_eq!(fps.matches("1.0000").count(), 4, "{text}");
        assert!(!summary::<Row>(&[]).contains("NaN"));
    }
}
