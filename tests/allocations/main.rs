//! How much memory the framework uses. (A binary of its own: its allocator counts every allocation of the process.)

mod counts;
mod soak;

use std::alloc::System;
use std::sync::Mutex;

use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Held by the test that counts.
static COUNTING: Mutex<()> = Mutex::new(());
