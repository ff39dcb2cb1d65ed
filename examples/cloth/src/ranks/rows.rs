//! The results of a frame on ranks: the columns of `frames.csv`, and the summary of a run.

use std::fmt;
use std::str::FromStr;

use examples_run::files::{Record, columns, statistics};

use super::step::STAGES;

/// The results of a frame. Times are those of rank 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RankRow {
    pub(crate) frame: usize,
    pub(crate) steps: usize,
    /// Iterations of conjugate gradients.
    pub(crate) inner: usize,
    /// The pairs that touch in the last step.
    pub(crate) contacts: usize,
    /// Edges that cross a triangle or a solid.
    pub(crate) penetrations: usize,
    /// The most nodes in impact zones in a step.
    pub(crate) zones: usize,
    /// The linear solves that did not reach the tolerance.
    pub(crate) unsolved: usize,
    /// Bytes that rank 0 sent.
    pub(crate) bytes: u64,
    /// A number that differs if any bit of the positions does, but for coincidences.
    pub(crate) positions: u64,
    /// The least share of the way that contact left in a step.
    pub(crate) least: f64,
    /// The seconds of all steps, of their stages, and those in which rank 0 waited for messages.
    pub(crate) seconds: f64,
    pub(crate) stages: [f64; STAGES.len()],
    pub(crate) waited: f64,
    /// The most memory of a process so far, in MiB.
    pub(crate) memory: f64,
}

impl Record for RankRow {
    const HEADER: &'static str = "frame,steps,inner,contacts,penetrations,zones,unsolved,bytes,positions,least_share,seconds,detection_s,\
                                  assembly_s,setup_s,solve_s,exchange_s,waited_s,memory_mib";

    fn frame(&self) -> usize {
        self.frame
    }

    fn note(&self) -> String {
        format!("{} iterations, {} contacts", self.inner, self.contacts)
    }
}

/// The line of the file, which is read back without rounding.
impl fmt::Display for RankRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { frame, steps, inner, contacts, penetrations, zones, unsolved, .. } = self;
        let counts = [frame, steps, inner, contacts, penetrations, zones, unsolved];
        counts.iter().try_for_each(|count| write!(f, "{count},"))?;
        write!(f, "{},{}", self.bytes, self.positions)?;
        let numbers = [self.least, self.seconds].into_iter().chain(self.stages);
        numbers.chain([self.waited, self.memory]).try_for_each(|number| write!(f, ",{number:e}"))
    }
}

impl FromStr for RankRow {
    type Err = ();

    fn from_str(line: &str) -> Result<Self, ()> {
        let fields: Vec<&str> = line.split(',').collect();
        let (counts, numbers) = fields.split_at_checked(9).ok_or(())?;
        let counts: Vec<u64> =
            counts.iter().map(|text| text.parse().map_err(drop)).collect::<Result<_, _>>()?;
        let numbers: Vec<f64> =
            numbers.iter().map(|text| text.parse().map_err(drop)).collect::<Result<_, _>>()?;
        let &[frame, steps, inner, contacts, penetrations, zones, unsolved, bytes, positions] = &counts[..]
        else {
            return Err(());
        };
        let [frame, steps, inner, contacts, penetrations, zones, unsolved] =
            [frame, steps, inner, contacts, penetrations, zones, unsolved].map(|count| count as usize);
        let &[least, seconds, ref stages @ .., waited, memory] = &numbers[..] else { return Err(()) };
        let stages = stages.try_into().map_err(drop)?;
        let counted =
            Self { frame, steps, inner, contacts, penetrations, zones, unsolved, ..Self::default() };
        Ok(Self { bytes, positions, least, seconds, stages, waited, memory, ..counted })
    }
}

/// The table at the end of a run, of all rows; the start is no frame of it.
pub(crate) struct Summary<'a>(pub(crate) &'a [RankRow]);

impl fmt::Display for Summary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self.0.get(1..).unwrap_or_default();
        columns(f)?;
        let lines: [(&str, &dyn Fn(&RankRow) -> f64); 8] = [
            ("iterations per step", &|row| row.inner as f64 / row.steps.max(1) as f64),
            ("solves beyond the tolerance", &|row| row.unsolved as f64),
            ("contacts", &|row| row.contacts as f64),
            ("penetrations", &|row| row.penetrations as f64),
            ("nodes in impact zones", &|row| row.zones as f64),
            ("least share of a step", &|row| row.least),
            ("KiB per step, rank 0", &|row| row.bytes as f64 / 1024.0 / row.steps.max(1) as f64),
            ("memory of a rank, MiB", &|row| row.memory),
        ];
        for (name, of) in lines {
            statistics(f, name, rows.iter().map(of))?;
        }
        let sum = |of: &dyn Fn(&RankRow) -> f64| rows.iter().map(of).sum::<f64>();
        let (steps, seconds) = (sum(&|row| row.steps as f64), sum(&|row| row.seconds).max(f64::MIN_POSITIVE));
        write!(f, "{steps} steps, {:.3} steps per second; shares of the time of rank 0:", steps / seconds)?;
        for (k, stage) in STAGES.iter().enumerate() {
            write!(f, " {stage} {:.3},", sum(&|row| row.stages[k]) / seconds)?;
        }
        writeln!(f, " waiting in any of them {:.3}", sum(&|row| row.waited) / seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_back() {
        let row = RankRow {
            frame: 3,
            steps: 21,
            unsolved: 2,
            positions: u64::MAX - 5,
            least: 1.0 / 3.0,
            stages: [0.1, 1e-9, 0.7, 5.0, 2.0],
            ..RankRow::default()
        };
        assert_eq!(row.to_string().parse(), Ok(row.clone()));
        assert_eq!(row.to_string().split(',').count(), RankRow::HEADER.split(',').count());
        for damaged in ["", "1,2", &format!("{row},1"), &row.to_string().replacen('3', "x", 1)] {
            assert_eq!(damaged.parse::<RankRow>(), Err(()), "{damaged}");
        }
        let text = Summary(&[RankRow::default(), RankRow { seconds: 10.5, ..row }]).to_string();
        assert!(text.contains("21 steps, 2.000 steps per second") && text.contains("solve 0.476"), "{text}");
    }
}
