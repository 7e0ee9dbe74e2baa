//! The schemas of tools: how they are published, enforced and linted.

mod documented_tools;
mod golden;
mod lint;
mod samples;
mod validation;
