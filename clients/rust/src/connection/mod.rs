//! Connections to servers: addresses, TLS and tokens.

mod addresses;
mod servers;
#[cfg(feature = "tls")]
mod tls;
mod token;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tonic::metadata::AsciiMetadataValue;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status};

use crate::error::{Error, with_sources};
use crate::failure::Failure;
use crate::numbers::{FIRST_ANSWER, TOKEN};

pub use addresses::Addresses;
use addresses::is_loopback;
pub(crate) use servers::{Server, Servers, Turn, share_of_connect};
#[cfg(feature = "tls")]
pub use tls::TlsOptions;
#[cfg(feature = "tls")]
use tls::no_certificate;
pub use token::BearerToken;
pub(crate) use token::TokenSource;

/// How all connections of a client are made.
#[derive(Clone, Default)]
pub(crate) struct Connector {
    #[cfg(feature = "tls")]
    pub(crate) tls: Option<TlsOptions>,
    pub(crate) token: Option<TokenSource>,
}

/// A connection that can be opened.
#[derive(Clone)]
pub(crate) struct Prepared {
    endpoint: Endpoint,
    turn: Turn,
    bearer: Option<Bearer>,
}

#[derive(Clone)]
pub(crate) struct Bearer {
    header: AsciiMetadataValue,
    life: Option<Duration>,
}

impl Connector {
    /// Whether a token goes without TLS.
    pub(crate) fn has_bare_token(&self) -> bool {
        #[cfg(feature = "tls")]
        let has_tls = self.tls.is_some();
        #[cfg(not(feature = "tls"))]
        let has_tls = false;
        self.token.is_some() && !has_tls
    }

    /// Fetches the token, finds the server, and reads the certificates again.
    pub(crate) async fn prepare(&self, servers: &Servers) -> Result<Prepared, Error> {
        let bearer = self.bearer().await?;
        let turn = servers.next().await;
        Ok(Prepared {
            endpoint: self.endpoint(&turn.server).await?,
            turn,
            bearer,
        })
    }

    /// The endpoint of a server, with the certificates of this moment.
    pub(crate) async fn endpoint(&self, server: &Server) -> Result<Endpoint, Error> {
        let given = &server.given;
        #[cfg(feature = "tls")]
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        #[cfg(not(feature = "tls"))]
        let scheme = "http";
        let target = server.address.map(|address| address.to_string());
        let target = target.as_deref().unwrap_or(given);
        let endpoint = Endpoint::from_shared(format!("{scheme}://{target}"))
            .and_then(|endpoint| {
                endpoint.user_agent(concat!("holdfast-rust/", env!("CARGO_PKG_VERSION")))
            })
            .map_err(|error| {
                let text = format!("an address must be \"host:port\", not {given:?}");
                Failure::new("", Code::InvalidArgument, text).with_source(error)
            })?
            // A connection that leads nowhere is left as early as a silent session.
            .connect_timeout(FIRST_ANSWER);
        // The server hears the name, whatever its address is.
        let endpoint = match (server.address, format!("{scheme}://{given}").parse()) {
            (Some(_), Ok(origin)) => endpoint.origin(origin),
            _ => endpoint,
        };
        #[cfg(feature = "tls")]
        if let Some(tls) = &self.tls {
            let host = given.rsplit_once(':').map(|(host, _)| host);
            let config = tls.read(host.filter(|_| server.address.is_some())).await?;
            return endpoint
                .tls_config(config)
                .map_err(|error| no_certificate(tls.unusable(), error));
        }
        Ok(endpoint)
    }

    /// The token of this moment. None: the client has no tokens.
    pub(crate) async fn bearer(&self) -> Result<Option<Bearer>, Error> {
        let Some(source) = &self.token else {
            return Ok(None);
        };
        // A panic of the source is an error of this attempt.
        let fetch = AssertUnwindSafe(async { source.fetch().await }).catch_unwind();
        let token = match tokio::time::timeout(TOKEN, fetch).await {
            Ok(Ok(Ok(token))) => token,
            Ok(Ok(Err(error))) => return Err(no_token(error)),
            Ok(Err(_)) => return Err(no_token("its source has panicked".into())),
            Err(_) => {
                let text = format!("its source gave no token within {} s", TOKEN.as_secs());
                return Err(no_token(text.into()));
            }
        };
        // A file often ends with a line break, which no header may have.
        let mut header = AsciiMetadataValue::try_from(format!("Bearer {}", token.token.trim()))
            .map_err(|_| no_token("the token has characters that a header cannot have".into()))?;
        header.set_sensitive(true);
        Ok(Some(Bearer {
            header,
            life: token.expires_in,
        }))
    }
}

impl Prepared {
    /// Opens a connection that nobody else has.
    pub(crate) async fn connect(&self) -> Result<Channel, Status> {
        let opened = self.endpoint.connect().await;
        opened.map_err(|error| Status::unavailable(with_sources(&error)))
    }

    pub(crate) fn turn(&self) -> &Turn {
        &self.turn
    }

    pub(crate) fn token_life(&self) -> Option<Duration> {
        self.bearer.as_ref()?.life
    }

    pub(crate) fn request<T>(&self, message: T) -> Request<T> {
        authorized(message, self.bearer.as_ref())
    }
}

/// A request with the token.
pub(crate) fn authorized<T>(message: T, bearer: Option<&Bearer>) -> Request<T> {
    let mut request = Request::new(message);
    if let Some(bearer) = bearer {
        request
            .metadata_mut()
            .insert("authorization", bearer.header.clone());
    }
    request
}

fn no_token(error: Box<dyn std::error::Error + Send + Sync>) -> Error {
    let text = "the client has no token";
    Failure::new("NO_CREDENTIAL", Code::Unauthenticated, text)
        .with_source(error)
        .into()
}

/// A token must not cross a network without TLS, where others can read and use the token. A loopback
/// address is no network.
pub(crate) fn refuse_token_without_tls(addresses: &[Arc<str>]) -> Result<(), Error> {
    let Some(far) = addresses.iter().find(|address| !is_loopback(address)) else {
        return Ok(());
    };
    let text = format!(
        "the token would go to {far} without TLS, and anybody on the way could use the token: set tls, or \
         allow_insecure_token if the network itself is encrypted"
    );
    Err(Failure::new("TOKEN_WITHOUT_TLS", Code::Unauthenticated, text).into())
}

/// The list of addresses. Fails for an empty list or an address without a port.
pub(crate) fn checked(addresses: Addresses) -> Result<Vec<Arc<str>>, Error> {
    let list = addresses.list();
    let invalid = |text: String| Error::from(Failure::new("", Code::InvalidArgument, text));
    if list.is_empty() {
        return Err(invalid("connect needs at least one address".to_owned()));
    }
    for address in &list {
        let port = address
            .rsplit_once(':')
            .map(|(_, port)| port.parse::<u16>());
        if !matches!(port, Some(Ok(_))) {
            return Err(invalid(format!(
                "an address must be \"host:port\", not {address:?}"
            )));
        }
    }
    Ok(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connector(source: TokenSource) -> Connector {
        Connector {
            token: Some(source),
            ..Connector::default()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_token_source_that_hangs_or_panics_is_an_error_of_the_attempt() {
        let hangs = TokenSource::Callback(Arc::new(|| Box::pin(std::future::pending())));
        let error = connector(hangs).bearer().await.err().unwrap();
        assert_eq!(error.reason(), "NO_CREDENTIAL");
        let panics = TokenSource::Callback(Arc::new(|| panic!("no key")));
        let error = connector(panics).bearer().await.err().unwrap();
        assert_eq!(error.reason(), "NO_CREDENTIAL");
    }

    #[test]
    fn a_token_without_tls_goes_to_the_own_machine_only() {
        for address in [
            "localhost:1",
            "127.0.0.2:1",
            "[::1]:1",
            "[::ffff:127.0.0.1]:1",
        ] {
            assert!(
                refuse_token_without_tls(&[address.into()]).is_ok(),
                "{address}"
            );
        }
        let error = refuse_token_without_tls(&["10.0.0.1:1".into()]).unwrap_err();
        assert_eq!(error.reason(), "TOKEN_WITHOUT_TLS");
    }
}
