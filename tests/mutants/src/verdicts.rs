//! The results of the tests for each mutant, with their conditions: `verdicts.json`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::files;

/// The result of the tests for a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Verdict {
    /// A test of the mutant's crate failed, or one of its programs took more than five times its time without
    /// the mutant plus ten seconds.
    Own,
    /// A test of another crate failed or took too long.
    Workspace,
    /// No test failed.
    Survives,
}

/// The tests of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Asked {
    pub(crate) commit: String,
    /// The time limit in seconds; programs that take longer without a mutant are not run.
    pub(crate) limit: u64,
    /// Whether only the tests of a mutant's own crate are run.
    pub(crate) own: bool,
}

#[derive(Debug, Serialize, Deserialize)]
struct Judged {
    verdict: Verdict,
    asked: Asked,
}

impl Judged {
    /// Whether the mutant must be tested again, because the tests have changed. New tests are assumed to
    /// catch every mutant that its own crate caught before.
    fn is_open(&self, asked: &Asked) -> bool {
        let more = self.asked.commit != asked.commit || self.asked.limit < asked.limit;
        match self.verdict {
            Verdict::Own => false,
            Verdict::Workspace => more,
            Verdict::Survives => more || self.asked.own && !asked.own,
        }
    }
}

/// The verdicts by number of the mutant.
pub(crate) struct Verdicts {
    path: PathBuf,
    of: BTreeMap<u32, Judged>,
}

impl Verdicts {
    pub(crate) fn read(folder: &Path) -> Result<Verdicts, Error> {
        let path = folder.join("verdicts.json");
        Ok(Verdicts { of: files::read_or_default(&path)?, path })
    }

    pub(crate) fn get(&self, number: u32) -> Option<Verdict> {
        self.of.get(&number).map(|judged| judged.verdict)
    }

    pub(crate) fn is_open(&self, number: u32, asked: &Asked) -> bool {
        self.of.get(&number).is_none_or(|judged| judged.is_open(asked))
    }

    pub(crate) fn insert(&mut self, number: u32, verdict: Verdict, asked: &Asked) -> Result<(), Error> {
        self.of.insert(number, Judged { verdict, asked: asked.clone() });
        files::write(&self.path, &self.of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mutants_that_their_crate_misses_run_the_workspace() {
        use Verdict::{Own, Survives, Workspace};
        let asked = |commit: &str, limit, own| Asked { commit: commit.into(), limit, own };
        let all = asked("a", 60, false);
        for (verdict, before, now, open) in [
            (Own, &all, asked("b", 90, false), false),
            (Workspace, &all, asked("a", 60, false), false),
            (Workspace, &all, asked("b", 60, true), true),
            (Workspace, &all, asked("a", 90, false), true),
            (Survives, &all, asked("a", 60, true), false),
            (Survives, &all, asked("b", 60, false), true),
            (Survives, &asked("a", 60, true), asked("a", 60, true), false),
            (Survives, &asked("a", 60, true), asked("a", 60, false), true),
        ] {
            let judged = Judged { verdict, asked: before.clone() };
            assert_eq!(judged.is_open(&now), open, "{judged:?}, {now:?}");
        }
    }
}
