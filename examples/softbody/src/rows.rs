//! The table of frames: one line of the file `frames.csv` per frame, and a summary.

use std::fmt;
use std::str::FromStr;

use examples_run::files::{Record, columns, statistics};

/// The results of a frame.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    /// The number of the frame; 0 is the start.
    pub(crate) frame: usize,
    /// The simulated time in s.
    pub(crate) time: f64,
    /// The number of iterations of the descent.
    pub(crate) outer: usize,
    /// The number of iterations of the linear solves.
    pub(crate) inner: usize,
    /// The seconds for building and updating preconditioners.
    pub(crate) setup: f64,
    /// The other seconds of the step.
    pub(crate) solve: f64,
    /// Kinetic, elastic, pin, contact and gravitational energy, J.
    pub(crate) energy: f64,
    /// Kinetic energy, J.
    pub(crate) kinetic: f64,
    /// Elastic energy with that of pins and contacts, J.
    pub(crate) elastic: f64,
    /// The work that pins have done since the start, J.
    pub(crate) work: f64,
    /// The number of tetrahedra whose volume is not positive.
    pub(crate) inverted: usize,
    /// The number of contacts.
    pub(crate) contacts: usize,
    /// The largest depth of a node in an obstacle, m; `None` if nothing tests it.
    pub(crate) penetration: Option<f64>,
    /// The same in a body.
    pub(crate) overlap: Option<f64>,
    /// How the descent ended; `start` for frame 0.
    pub(crate) outcome: String,
}

impl Row {
    /// The largest depth that is tested.
    #[cfg(test)]
    pub(crate) fn deepest(&self) -> f64 {
        [self.penetration, self.overlap].into_iter().flatten().fold(0.0, |a, b| if b <= a { a } else { b })
    }

    /// Frames per second.
    pub(crate) fn fps(&self) -> f64 {
        (self.setup + self.solve).max(1e-9).recip()
    }
}

impl Record for Row {
    const HEADER: &'static str = "frame,time,outer,inner,setup_s,solve_s,fps,energy,kinetic,elastic,work,\
        inverted,contacts,penetration,overlap,outcome";

    fn frame(&self) -> usize {
        self.frame
    }

    fn note(&self) -> String {
        format!("{} + {} iterations", self.outer, self.inner)
    }
}

/// The line of the file; all numbers except the frames per second are read back without rounding.
impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { frame, time, outer, inner, setup, solve, .. } = self;
        let Self { energy, kinetic, elastic, work, inverted, contacts, outcome, .. } = self;
        // An empty field is not tested.
        let [penetration, overlap] = [self.penetration, self.overlap]
            .map(|depth| depth.map_or_else(String::new, |depth| format!("{depth:e}")));
        write!(f, "{frame},{time},{outer},{inner},{setup:e},{solve:e},{:.3},", self.fps())?;
        write!(
            f,
            "{energy:e},{kinetic:e},{elastic:e},{work:e},{inverted},{contacts},{penetration},{overlap},{outcome}"
        )
    }
}

impl FromStr for Row {
    type Err = ();

    fn from_str(line: &str) -> Result<Self, ()> {
        let fields: Vec<&str> = line.split(',').collect();
        let &[frame, time, outer, inner, setup, solve, _, energy, kinetic, elastic, ref after @ ..] =
            &fields[..]
        else {
            return Err(());
        };
        let &[work, inverted, contacts, penetration, overlap, outcome] = after else { return Err(()) };
        let count = |text: &str| text.parse::<usize>().map_err(drop);
        let number = |text: &str| text.parse::<f64>().map_err(drop);
        let depth = |text: &str| (!text.is_empty()).then(|| number(text)).transpose();
        Ok(Self {
            frame: count(frame)?,
            time: number(time)?,
            outer: count(outer)?,
            inner: count(inner)?,
            setup: number(setup)?,
            solve: number(solve)?,
            energy: number(energy)?,
            kinetic: number(kinetic)?,
            elastic: number(elastic)?,
            work: number(work)?,
            inverted: count(inverted)?,
            contacts: count(contacts)?,
            penetration: depth(penetration)?,
            overlap: depth(overlap)?,
            outcome: outcome.to_owned(),
        })
    }
}

/// The depths of a row.
const DEPTHS: [fn(&Row) -> Option<f64>; 2] = [|row| row.penetration, |row| row.overlap];

/// The table at the end of a run, of all rows; the start is no frame of it.
pub(crate) struct Summary<'a>(pub(crate) &'a [Row]);

impl fmt::Display for Summary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows: Vec<&Row> = self.0.iter().filter(|row| row.frame > 0).collect();
        let line = |f: &mut fmt::Formatter<'_>, name: &str, of: &dyn Fn(&Row) -> f64| {
            statistics(f, name, rows.iter().map(|row| of(row)))
        };
        columns(f)?;
        line(f, "outer iterations", &|row| row.outer as f64)?;
        line(f, "inner iterations", &|row| row.inner as f64)?;
        line(f, "setup, s", &|row| row.setup)?;
        line(f, "solve, s", &|row| row.solve)?;
        line(f, "frames per second", &Row::fps)?;
        line(f, "energy, J", &|row| row.energy)?;
        line(f, "inverted elements", &|row| row.inverted as f64)?;
        for (name, of) in [("in obstacles, mm", DEPTHS[0]), ("in bodies, mm", DEPTHS[1])] {
            if rows.iter().any(|row| of(row).is_some()) {
                line(f, name, &|row| 1e3 * of(row).unwrap_or(0.0))?;
            } else {
                writeln!(f, "{name:<22}{:>12}", "not tested")?;
            }
        }
        let converged = rows.iter().filter(|row| row.outcome == "converged").count();
        write!(f, "{converged} of {} frames converged", rows.len())?;
        let mut other: Vec<&str> =
            rows.iter().map(|row| row.outcome.as_str()).filter(|outcome| *outcome != "converged").collect();
        other.sort_unstable();
        for group in other.chunk_by(|a, b| a == b) {
            write!(f, ", {} ended as {}", group.len(), group[0].replace('_', " "))?;
        }
        writeln!(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(frame: usize, outcome: &str) -> Row {
        Row {
            frame,
            time: 0.1 * frame as f64,
            outer: 3,
            inner: 40,
            setup: 0.25,
            solve: 0.75,
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
        let row = Row { setup: 1.0 / 7.0, solve: 1e-9 / 3.0, ..row(7, "converged") };
        assert_eq!(row.to_string().parse(), Ok(row.clone()));
        assert_eq!(row.to_string().split(',').count(), Row::HEADER.split(',').count());
        for damaged in ["", "1,2", "a,0,0,0,0,0,0,0,0,0,0,0,0,0,b", &format!("{row},1")] {
            assert_eq!(damaged.parse::<Row>(), Err(()), "{damaged}");
        }
    }

    #[test]
    fn summaries_count_how_frames_ended() {
        let start = Row { setup: 0.0, solve: 0.0, ..row(0, "start") };
        let rows = [start, row(1, "converged"), row(2, "iteration_limit"), row(3, "iteration_limit")];
        let text = Summary(&rows).to_string();
        assert!(text.contains("in bodies, mm           not tested"), "{text}");
        assert!(text.contains("in obstacles, mm            1.0000"), "{text}");
        assert!(text.contains("1 of 3 frames converged, 2 ended as iteration limit"), "{text}");
        let fps = text.lines().find(|line| line.starts_with("frames per second")).expect("a line");
        assert_eq!(fps.matches("1.0000").count(), 4, "{text}");
        assert!(!Summary(&[]).to_string().contains("NaN"));
    }
}
