//! The options of preconditioners that a command line gives.

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::names::Precond;

/// Options whose names begin alike, and the preconditioners that take them.
pub(crate) struct Family {
    /// The first part of the names, as fields have it.
    pub(crate) prefix: &'static str,
    /// The preconditioners, in words.
    pub(crate) name: &'static str,
    pub(crate) preconds: &'static [Precond],
}

/// All families.
pub(crate) const FAMILIES: [Family; 5] = [
    Family { prefix: "mas_", name: "mas", preconds: &[Precond::Mas] },
    Family { prefix: "as_", name: "as and ras", preconds: &[Precond::As, Precond::Ras] },
    Family { prefix: "skinning_", name: "skinning", preconds: &[Precond::Skinning] },
    Family { prefix: "sa_", name: "sa", preconds: &[Precond::Sa] },
    Family { prefix: "rs_", name: "rs", preconds: &[Precond::Rs] },
];

/// The options of families with their values, as on the command line; the value of a flag is empty.
#[derive(Clone, Debug, Default)]
pub(crate) struct OfPreconds(Vec<(String, String)>);

impl OfPreconds {
    /// The first option of the family with this prefix.
    pub(crate) fn first(&self, prefix: &str) -> Option<&str> {
        let start = format!("--{}", prefix.replace('_', "-"));
        self.0.iter().map(|(option, _)| &**option).find(|option| option.starts_with(&start))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(option, value)| (&**option, &**value))
    }
}

/// A value as in a file of options: true for a flag, a number, or else a text.
fn typed(value: &str) -> Value {
    match (value.parse::<u64>(), value.parse::<f64>()) {
        _ if value.is_empty() => true.into(),
        (Ok(count), _) => count.into(),
        (_, Ok(number)) => number.into(),
        _ => value.into(),
    }
}

/// As in a file of options.
impl Serialize for OfPreconds {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.iter().map(|(option, value)| (option[2..].replace('-', "_"), typed(value))))
    }
}

/// Reads what other arguments declare.
impl FromArgMatches for OfPreconds {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut all = Vec::new();
        for id in matches.ids().map(clap::Id::as_str) {
            let is_own = FAMILIES.iter().any(|family| id.starts_with(family.prefix));
            if !is_own || matches.value_source(id) != Some(ValueSource::CommandLine) {
                continue;
            }
            let value = match matches.try_get_one::<bool>(id) {
                Ok(_) => String::new(),
                Err(_) => {
                    let words = matches.get_raw(id).into_iter().flatten();
                    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(",")
                }
            };
            all.push((format!("--{}", id.replace('_', "-")), value));
        }
        Ok(Self(all))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// No arguments of its own.
impl Args for OfPreconds {
    fn augment_args(command: Command) -> Command {
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        command
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use serde_json::json;

    use crate::arguments::{Arguments, Command};

    #[test]
    fn options_are_those_of_the_command_line() {
        let given = |words: &str| {
            let words = ["coarsen", "solve"].into_iter().chain(words.split_whitespace());
            match Arguments::parse_from(words).command {
                Command::Solve(options) => options.given.of_preconds,
                other => panic!("{other:?}"),
            }
        };
        let all = given("--skinning-control-points 100,10 --tol 1e-3 --mas-hybrid --sa-modes=found:7");
        let expected =
            [("--skinning-control-points", "100,10"), ("--mas-hybrid", ""), ("--sa-modes", "found:7")];
        assert_eq!(all.iter().collect::<Vec<_>>(), expected);
        assert_eq!(
            ["sa_", "as_", "mas_"].map(|prefix| all.first(prefix)),
            [Some("--sa-modes"), None, Some("--mas-hybrid")]
        );
        assert_eq!(given("--precond sa").iter().count(), 0);
        let typed = |words: &str| serde_json::to_value(given(words)).unwrap();
        let expected =
            json!({ "skinning_control_points": "100,10", "mas_hybrid": true, "sa_modes": "found:7" });
        assert_eq!(serde_json::to_value(all).unwrap(), expected);
        assert_eq!(typed("--sa-theta 2.5e-1 --sa-levels 3"), json!({ "sa_theta": 0.25, "sa_levels": 3 }));
    }
}
