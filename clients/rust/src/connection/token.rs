//! Bearer tokens.

use std::error::Error as StdError;
use std::fmt;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// A token for the header `authorization`.
#[derive(Clone)]
#[non_exhaustive]
pub struct BearerToken {
    pub(crate) token: String,
    pub(crate) expires_in: Option<Duration>,
}

impl BearerToken {
    /// A token without an end.
    pub fn new(token: impl Into<String>) -> BearerToken {
        BearerToken {
            token: token.into(),
            expires_in: None,
        }
    }

    /// The next session is opened with a new token before this time has passed.
    #[must_use]
    pub fn expires_in(self, time: Duration) -> BearerToken {
        BearerToken {
            expires_in: Some(time),
            ..self
        }
    }
}

impl From<String> for BearerToken {
    fn from(token: String) -> BearerToken {
        BearerToken::new(token)
    }
}

/// Without the token.
impl fmt::Debug for BearerToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BearerToken")
            .field("expires_in", &self.expires_in)
            .finish_non_exhaustive()
    }
}

type BoxError = Box<dyn StdError + Send + Sync>;
type Fetched = Pin<Box<dyn Future<Output = Result<BearerToken, BoxError>> + Send>>;

#[derive(Clone)]
pub(crate) enum TokenSource {
    Fixed(String),
    /// Read again for each session and each call.
    File(PathBuf),
    Callback(Arc<dyn Fn() -> Fetched + Send + Sync>),
}

impl TokenSource {
    /// The caller bounds the wait.
    pub(crate) async fn fetch(&self) -> Result<BearerToken, BoxError> {
        match self {
            TokenSource::Fixed(token) => Ok(BearerToken::new(token)),
            TokenSource::File(path) => {
                let text = tokio::fs::read_to_string(path).await?;
                Ok(BearerToken::new(text.trim()))
            }
            TokenSource::Callback(fetch) => fetch().await,
        }
    }
}
