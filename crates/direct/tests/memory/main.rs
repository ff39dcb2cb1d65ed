//! Memory that cannot be had is an error: with an allocator that refuses, and with a limit on the address space of a process.
//! The threads of a harness would take address space.

mod address_space;
mod allocator;

use std::thread;

fn main() {
    if let Ok(method) = std::env::var(address_space::CHILD) {
        return address_space::child(&method);
    }
    // The allocator counts by thread, and faer keeps a buffer for each.
    for part in [
        allocator::the_buffer_is_as_large_as_what_is_asked_for as fn(),
        allocator::refused_memory_is_named,
        address_space::a_buffer_that_does_not_fit_is_an_error,
    ] {
        thread::spawn(part).join().expect("its own message says why it failed");
    }
}
