//! Tests on one device, compared with the host. They form one program, because every test compiles most of
//! the library.

#[path = "../common/mod.rs"]
mod common;

mod assembly;
mod border;
mod cloth_contact;
mod cloth_contact_limits;
mod conformance;
mod descent;
mod driver;
mod elements;
mod filter;
mod items_per_row;
mod matrices;
mod memory;
mod numeric;
mod pocl;
mod preconditioners;
mod ranges;
mod schwarz;
mod schwarz_contact;
mod schwarz_failures;
mod schwarz_numbers;
mod schwarz_structure;
#[path = "../../../../tests/common/spring.rs"]
mod spring;
mod sum;
mod vectors;
