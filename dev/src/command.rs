//! One file per command.

pub mod bench;
pub mod check;
pub mod demo;
pub mod scenario;
pub mod shop;
pub mod sql_data;
pub mod status;
pub mod test;
pub mod up;
