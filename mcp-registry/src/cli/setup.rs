//! How a program sets up its tools: the catalog without state, the registry with it.

use std::fmt;
use std::future::Future;
use std::panic::Location;

use mcp_core::{BoxError, RegistrationError, TrustLevel};

use super::SetupFuture;
use crate::catalog::Catalog;
use crate::registry::Registry;
use crate::registry::builder::RegistryBuilder;
use crate::runtime::TokioRuntime;

/// The tools as [`Cli`](super::Cli) is configured to set them up. Each command builds what it needs.
pub struct Setup<'a> {
    /// Where the command line was created, for errors.
    location: &'static Location<'static>,
    builder: Box<dyn FnOnce(RegistryBuilder) -> RegistryBuilder + 'a>,
    state: Box<dyn FnOnce(RegistryBuilder) -> SetupFuture<'a, RegistryBuilder> + 'a>,
    on_start: Box<dyn FnOnce(Registry) -> SetupFuture<'a, ()> + 'a>,
}

impl<'a> Setup<'a> {
    pub(super) fn new(location: &'static Location<'static>) -> Self {
        Self {
            location,
            builder: Box::new(|builder| builder),
            state: Box::new(|builder| Box::pin(async { Ok(builder) })),
            on_start: Box::new(|_| Box::pin(async { Ok(()) })),
        }
    }

    pub(super) fn builder(&mut self, set: impl FnOnce(RegistryBuilder) -> RegistryBuilder + 'a) {
        let before = std::mem::replace(&mut self.builder, Box::new(|builder| builder));
        self.builder = Box::new(|builder| set(before(builder)));
    }

    pub(super) fn state<F, Fut>(&mut self, setup: F)
    where
        F: FnOnce(RegistryBuilder) -> Fut + 'a,
        Fut: Future<Output = Result<RegistryBuilder, BoxError>> + 'a,
    {
        let before = std::mem::replace(&mut self.state, Box::new(|builder| Box::pin(async { Ok(builder) })));
        self.state = Box::new(|builder| Box::pin(async { setup(before(builder).await?).await }));
    }

    pub(super) fn on_start<F, Fut>(&mut self, start: F)
    where
        F: FnOnce(Registry) -> Fut + 'a,
        Fut: Future<Output = Result<(), BoxError>> + 'a,
    {
        let before = std::mem::replace(&mut self.on_start, Box::new(|_| Box::pin(async { Ok(()) })));
        self.on_start = Box::new(|registry| {
            Box::pin(async {
                before(registry.clone()).await?;
                start(registry).await
            })
        });
    }

    /// Builds the catalog: lists and schemas, which need no state.
    pub fn catalog(self) -> Result<Catalog, RegistrationError> {
        (self.builder)(Registry::builder()).catalog_at(self.location)
    }

    /// Builds the registry with its state, and runs [`Cli::on_start`](super::Cli::on_start). It has to be awaited inside a
    /// tokio runtime, as commands are.
    pub async fn registry(self) -> Result<Registry, BoxError> {
        self.registry_with(None).await
    }

    /// Builds the registry with the trust level of the command line.
    pub(super) async fn registry_with(self, trust: Option<TrustLevel>) -> Result<Registry, BoxError> {
        let Self { location, builder, state, on_start } = self;
        let builder = builder(Registry::builder().runtime(TokioRuntime::current()?));
        let builder = state(builder).await?;
        let builder = match trust {
            Some(trust) => builder.trust(trust),
            None => builder,
        };
        let registry = builder.build_at(location)?;
        on_start(registry.clone()).await?;
        Ok(registry)
    }
}

impl fmt::Debug for Setup<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Setup").field("location", &self.location).finish_non_exhaustive()
    }
}
