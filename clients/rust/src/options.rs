//! The options of a connection.

use std::collections::BTreeMap;
use std::error::Error as StdError;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::calls::Calls;
use crate::client::Holdfast;
use crate::connection::{
    Addresses, BearerToken, Connector, Servers, TokenSource, checked, refuse_token_without_tls,
};
use crate::error::Result;
use crate::failure::{check_metadata, check_text};
use crate::numbers::CONNECT;
use crate::session::{EngineSettings, SessionClient};

/// Options of a connection:
///
/// ```no_run
/// # async fn example() -> holdfast_client::Result<()> {
/// let hf = holdfast_client::ConnectOptions::new()
///     .holder_id("worker-7")
///     .token_file("/run/secrets/holdfast")
///     .connect(["10.0.0.1:50051", "10.0.0.2:50051"])
///     .await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use]
pub struct ConnectOptions {
    connector: Connector,
    holder_id: String,
    metadata: BTreeMap<String, String>,
    connect_timeout: Duration,
    allows_insecure_token: bool,
}

impl Default for ConnectOptions {
    fn default() -> ConnectOptions {
        ConnectOptions::new()
    }
}

impl ConnectOptions {
    /// No TLS, no token, no label.
    pub fn new() -> ConnectOptions {
        ConnectOptions {
            connector: Connector::default(),
            holder_id: String::new(),
            metadata: BTreeMap::new(),
            connect_timeout: CONNECT,
            allows_insecure_token: false,
        }
    }

    /// A label of this process that others see beside its leases. Default: empty.
    pub fn holder_id(mut self, id: impl Into<String>) -> ConnectOptions {
        self.holder_id = id.into();
        self
    }

    /// An entry for the metadata of each lease without metadata of its own.
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<String>) -> ConnectOptions {
        self.metadata.insert(key.into(), value.into());
        self
    }

    /// The longest wait for the first answer of a server. Default: 10 s.
    pub fn connect_timeout(mut self, time: Duration) -> ConnectOptions {
        self.connect_timeout = time;
        self
    }

    /// Sends the token without TLS to other machines, where anybody on the way can use the token.
    /// Otherwise a token needs TLS, unless all addresses are loopback addresses.
    pub fn allow_insecure_token(mut self) -> ConnectOptions {
        self.allows_insecure_token = true;
        self
    }

    /// A fixed bearer token.
    pub fn token(mut self, token: impl Into<String>) -> ConnectOptions {
        self.connector.token = Some(TokenSource::Fixed(token.into()));
        self
    }

    /// A file with a bearer token, which is read again for each session and each call.
    pub fn token_file(mut self, path: impl Into<PathBuf>) -> ConnectOptions {
        self.connector.token = Some(TokenSource::File(path.into()));
        self
    }

    /// A function that gives a bearer token, called for each session and each call. It has 10 s.
    pub fn token_source<F, Fut, T, E>(mut self, source: F) -> ConnectOptions
    where
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<T, E>> + Send + 'static,
        T: Into<BearerToken>,
        E: Into<Box<dyn StdError + Send + Sync>>,
    {
        let callback = move || {
            let token = source();
            Box::pin(async move { token.await.map(Into::into).map_err(Into::into) }) as _
        };
        self.connector.token = Some(TokenSource::Callback(Arc::new(callback)));
        self
    }

    /// TLS to the servers. Default: no TLS.
    #[cfg(feature = "tls")]
    pub fn tls(mut self, tls: crate::TlsOptions) -> ConnectOptions {
        self.connector.tls = Some(tls);
        self
    }

    /// Connects to one of several servers of the same store. Needs a runtime of tokio with its
    /// timer, which must run as long as the client: the runtime renews the leases, and with the end of
    /// the runtime each lease is lost.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`](crate::Error::Unavailable) if no server answers in time,
    /// [`Error::Credential`](crate::Error::Credential) if the servers refuse the credential or if a token
    /// would go without TLS, [`Error::NotAllowed`](crate::Error::NotAllowed) if the policy refuses the
    /// session, and
    /// [`Error::InvalidRequest`](crate::Error::InvalidRequest) if an address is not "host:port", or if no
    /// message can have the label or the metadata.
    pub async fn connect(self, addresses: impl Into<Addresses>) -> Result<Holdfast> {
        let addresses = checked(addresses.into())?;
        check_text("holder_id", &self.holder_id)?;
        check_metadata(&self.metadata)?;
        if self.connector.has_bare_token() && !self.allows_insecure_token {
            refuse_token_without_tls(&addresses)?;
        }
        let connector = Arc::new(self.connector);
        let settings = EngineSettings {
            connect: self.connect_timeout,
            holder_id: self.holder_id,
            metadata: self.metadata,
        };
        let timeout = self.connect_timeout;
        let servers = Servers::new(&addresses);
        let session = SessionClient::connect(settings, connector.clone(), servers, timeout).await?;
        Ok(Holdfast::new(
            Arc::new(session),
            Arc::new(Calls::new(Servers::new(&addresses), connector)),
        ))
    }
}

impl std::fmt::Debug for ConnectOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ConnectOptions")
            .field("holder_id", &self.holder_id)
            .field("metadata", &self.metadata)
            .field("connect_timeout", &self.connect_timeout)
            .finish_non_exhaustive()
    }
}
