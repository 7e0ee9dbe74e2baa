//! Sets up the tools of a program: the catalog without state, the registry with it.

use std::fmt;
use std::panic::Location;

use mcp_core::error::BoxError;
use mcp_core::{RegistrationError, TrustLevel};

use super::SetupFuture;
use crate::catalog::Catalog;
use crate::registry::Registry;
use crate::registry::builder::RegistryBuilder;
use crate::runtime::TokioRuntime;

/// Builds the tools as [`Cli`](super::Cli) configures them. Each command builds only what it needs.
pub struct Setup<'a> {
    /// Where the command line was created, for errors.
    location: &'static Location<'static>,
    pub(super) builder: Vec<Box<dyn FnOnce(RegistryBuilder) -> RegistryBuilder + 'a>>,
    pub(super) state: Vec<Box<dyn FnOnce(RegistryBuilder) -> SetupFuture<'a, RegistryBuilder> + 'a>>,
    pub(super) on_start: Vec<Box<dyn FnOnce(Registry) -> SetupFuture<'a, ()> + 'a>>,
}

impl Setup<'_> {
    pub(super) fn new(location: &'static Location<'static>) -> Self {
        Self { location, builder: Vec::new(), state: Vec::new(), on_start: Vec::new() }
    }

    /// Builds the catalog, for lists and schemas. It needs no state.
    pub fn catalog(self) -> Result<Catalog, RegistrationError> {
        let builder = self.builder.into_iter().fold(Registry::builder(), |builder, set| set(builder));
        builder.catalog_at(self.location)
    }

    /// Builds the registry with its state, and runs [`Cli::on_start`](super::Cli::on_start). This must be awaited
    /// inside a tokio runtime, as commands are.
    pub async fn registry(self) -> Result<Registry, BoxError> {
        self.registry_with(None).await
    }

    /// Builds the registry with the trust level of the command line.
    pub(super) async fn registry_with(self, trust: Option<TrustLevel>) -> Result<Registry, BoxError> {
        let Self { location, builder, state, on_start } = self;
        let with_runtime = Registry::builder().runtime(TokioRuntime::current()?);
        let mut builder = builder.into_iter().fold(with_runtime, |builder, set| set(builder));
        for add_state in state {
            builder = add_state(builder).await?;
        }
        if let Some(trust) = trust {
            builder = builder.trust(trust);
        }
        let registry = builder.build_at(location)?;
        for start in on_start {
            start(registry.clone()).await?;
        }
        Ok(registry)
    }
}

impl fmt::Debug for Setup<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Setup").field("location", &self.location).finish_non_exhaustive()
    }
}
