//! The steps of a call: the gate, limits, arguments, layers, the tool, its result, and the record of the call.

pub(crate) mod async_lock;
pub mod audit;
pub(crate) mod buffered;
pub(crate) mod callable;
mod clock;
pub(crate) mod correlation_id;
pub mod gate;
pub mod layer;
pub mod limit;
pub mod metrics;
pub mod observe;
pub(crate) mod pipeline;
mod pool;
pub(crate) mod recorder;
pub(crate) mod request;
pub(crate) mod result;
pub(crate) mod run;
mod seen;
pub(crate) mod settings;
mod supervise;
pub(crate) mod trace;
