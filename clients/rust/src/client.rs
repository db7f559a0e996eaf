//! The client.

use std::sync::Arc;

use futures_util::Stream;
use holdfast_proto::holdfast::v1::autocomplete_service_client::AutocompleteServiceClient;
use holdfast_proto::holdfast::v1::server_service_client::ServerServiceClient;
use holdfast_proto::holdfast::v1::{Feature, GetServerInfoRequest, ListDictionariesRequest};

use crate::acquire::{Lock, Semaphore};
use crate::autocomplete::{Dictionary, Recents};
use crate::calls::{Calls, Limits, pages};
use crate::election::Election;
use crate::error::Result;
use crate::limits::SemaphoreLimits;
use crate::numbers::PAGE_SIZE;
use crate::session::SessionClient;

/// A client of the servers of one store. [`connect`](crate::connect) makes it. Clones share one
/// session. Call [`close`](Holdfast::close) before the process ends.
#[derive(Clone)]
pub struct Holdfast {
    session: Arc<SessionClient>,
    calls: Arc<Calls>,
    limits: Arc<SemaphoreLimits>,
}

/// What a server says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerInfo {
    /// The version of the server.
    pub version: String,
    /// The names of Feature without their prefix, for example `SESSIONS`. Without those that only a
    /// newer client knows.
    pub features: Vec<&'static str>,
}

impl Holdfast {
    pub(crate) fn new(session: Arc<SessionClient>, calls: Arc<Calls>) -> Holdfast {
        let limits = Arc::new(SemaphoreLimits::new(calls.clone()));
        Holdfast {
            session,
            calls,
            limits,
        }
    }

    /// A lock. Nothing is acquired yet.
    pub fn lock(&self, name: impl Into<String>) -> Lock {
        Lock::new(self.session.clone(), name.into())
    }

    /// A semaphore. Nothing is acquired yet.
    pub fn semaphore(&self, name: impl Into<String>) -> Semaphore {
        Semaphore::new(self.session.clone(), self.limits.clone(), name.into())
    }

    /// An election: the holder of the lock with this name is the leader.
    pub fn election(&self, name: impl Into<String>) -> Election {
        Election::new(self.lock(name), self.calls.clone())
    }

    /// The latest choices of one user.
    pub fn recents(&self, list: impl Into<String>) -> Recents {
        Recents::new(self.calls.clone(), list.into())
    }

    /// A dictionary, which all callers share.
    pub fn dictionary(&self, name: impl Into<String>) -> Dictionary {
        Dictionary::new(self.calls.clone(), name.into())
    }

    /// The names of all dictionaries with this prefix, in order, page by page.
    pub fn dictionary_names(
        &self,
        prefix: &str,
    ) -> impl Stream<Item = Result<String>> + Send + use<> {
        let (calls, name_prefix) = (self.calls.clone(), prefix.to_owned());
        pages(move |page_token| {
            let calls = calls.clone();
            let name_prefix = name_prefix.clone();
            async move {
                let request = ListDictionariesRequest {
                    name_prefix,
                    page_size: PAGE_SIZE,
                    page_token,
                };
                let page = calls
                    .unary(Limits::default(), request, |channel, request| async move {
                        AutocompleteServiceClient::new(channel)
                            .list_dictionaries(request)
                            .await
                    })
                    .await?;
                let names = page.dictionaries.into_iter().map(|one| one.name).collect();
                Ok((names, page.next_page_token))
            }
        })
    }

    /// Version and features of a server.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`](crate::Error::Unavailable) if no server answers within 10 s.
    pub async fn server_info(&self) -> Result<ServerInfo> {
        let call = self.calls.unary(
            Limits::default(),
            GetServerInfoRequest {},
            |channel, request| async move {
                ServerServiceClient::new(channel)
                    .get_server_info(request)
                    .await
            },
        );
        let info = call.await?;
        let features = info.features().map(|feature: Feature| {
            let name = feature.as_str_name();
            name.strip_prefix("FEATURE_").unwrap_or(name)
        });
        Ok(ServerInfo {
            features: features.collect(),
            version: info.version.clone(),
        })
    }

    /// The number of leases that this process holds by this client.
    pub fn lease_count(&self) -> usize {
        self.session.lease_count()
    }

    /// Ends all waits, and the belief in all leases: each lease is lost with the cause
    /// [`LossCause::Closed`](crate::LossCause::Closed). Releases the leases, those of [`Lock::run`] at the
    /// end of the work, and waits up to 5 s for the work and the answers. The lease of work that does not
    /// end in this time is left to the end of its ttl. Leaves no task and no socket. End the work that
    /// needs a lease first.
    ///
    /// The last clone of a client that is dropped, with its leases, closes in the background. A process
    /// that ends without `close` leaves its leases to the ends of their ttl.
    ///
    /// The close goes on if the future is dropped.
    pub async fn close(&self) {
        let _end = CallsEnd(self);
        self.session.close().await;
    }
}

/// Ends the calls after the sessions, or when the future of `close` is dropped.
struct CallsEnd<'a>(&'a Holdfast);

impl Drop for CallsEnd<'_> {
    fn drop(&mut self) {
        // A child leaves the connections to its parent.
        if !self.0.session.is_forked() {
            self.0.calls.close();
        }
    }
}

impl std::fmt::Debug for Holdfast {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Holdfast")
            .field("lease_count", &self.lease_count())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Waker};
    use std::time::Duration;

    use super::*;
    use crate::connection::{Connector, Servers};
    use crate::session::EngineSettings;

    #[tokio::test]
    async fn a_close_that_is_given_up_ends_the_calls() {
        let connector = Arc::new(Connector::default());
        let settings = EngineSettings {
            connect: Duration::MAX,
            holder_id: String::new(),
            metadata: Default::default(),
        };
        let servers = || Servers::new(&["127.0.0.1:1".into()]);
        let (session, _) = SessionClient::start(settings, connector.clone(), servers());
        let calls = Calls::new(servers(), connector);
        let client = Holdfast::new(Arc::new(session), Arc::new(calls));
        let mut close = Box::pin(client.close());
        let is_pending = close.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(is_pending.is_pending());
        assert!(!client.calls.is_closed());
        drop(close);
        assert!(client.calls.is_closed());
        client.close().await;
    }
}
