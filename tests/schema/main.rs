//! The schemas of tools: how they are published, enforced and linted.

mod contract;
mod documented_tools;
mod golden;
mod lint;
mod samples;
mod specification;
mod validation;
