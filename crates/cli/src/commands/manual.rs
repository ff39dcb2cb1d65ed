//! `coarsen completions` and `coarsen man`: what a package installs beside the program.

use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::arguments::Arguments;
use crate::console::say;
use crate::error::Failure;

/// Prints the script that completes commands and options in a shell.
pub(crate) fn completions(shell: Shell) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "coarsen", &mut script);
    say(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the manual page of the command, or of one of its commands.
pub(crate) fn page(command: Option<&str>) -> Result<ExitCode, Failure> {
    let mut all = Arguments::command();
    all.build();
    let of = match command {
        None => all,
        Some(name) => match all.find_subcommand(name) {
            Some(found) => found.clone(),
            None => {
                return Err(Failure::usage(format!("there is no command `{name}`; see coarsen --help")));
            }
        },
    };
    let mut page = Vec::new();
    clap_mangen::Man::new(of).render(&mut page).map_err(Failure::write("<stdout>".as_ref()))?;
    say(&String::from_utf8_lossy(&page))?;
    Ok(ExitCode::SUCCESS)
}
