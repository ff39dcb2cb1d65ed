//! The program `cloth`; the library beside this file says what it does.

use std::process::ExitCode;

use examples_common::arguments::parse;

fn main() -> ExitCode {
    parse().map_or_else(|code| code, |options| cloth::start(&options))
}
