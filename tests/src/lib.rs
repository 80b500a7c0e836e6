//! The harness of the scenarios: real servers, real processes, faults on request, and a checker
//! that reads everything afterwards.
//!
//! A scenario gets its own database, its own channel, its own processes and its own task queue, so
//! that scenarios run beside each other. Whatever is missing fails the test with the way out;
//! nothing is skipped.

pub mod api;
pub mod checker;
pub mod inside;
pub mod metrics;
pub mod proxy;
pub mod servers;
pub mod settings;
pub mod truth;
pub mod wait;
pub mod world;

pub use settings::Setup;
pub use world::World;
