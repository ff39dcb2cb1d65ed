//! Matrix Market files: laws, damage, and files of others.

mod breaks;
mod damage;
mod files;
mod laws;
mod real_data;
