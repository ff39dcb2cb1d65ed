//! Contact over ranks against one host: pairs, touches, impacts, forces and their derivatives; impact zones; equal
//! work; errors.

mod common;
mod forces;
mod searches;
mod zones;
