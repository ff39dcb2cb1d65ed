//! The program `cloth`; the library beside this file says what it does.

use std::process::ExitCode;

use examples_run::arguments::parse_scene;

fn main() -> ExitCode {
    parse_scene().map_or_else(|code| code, |options| cloth::start(&options))
}
