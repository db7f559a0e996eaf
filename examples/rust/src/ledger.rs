use std::time::Duration;

use anyhow::{Result, bail};
use reqwest::{Client, StatusCode};
use serde_json::json;

use crate::Stopped;

/// A ledger that hangs must not hold the lock for ever.
const TIMEOUT: Duration = Duration::from_secs(10);

/// A protected store: it refuses a token that is smaller than the token of an earlier write.
pub struct Ledger {
    http: Client,
    url: String,
}

impl Ledger {
    pub fn new(address: &str, name: &str) -> Result<Ledger> {
        let http = Client::builder().timeout(TIMEOUT).build()?;
        let url = format!("{address}/{name}");
        Ok(Ledger { http, url })
    }

    /// Fails with [`Stopped`] if the store refuses the token.
    pub async fn write(&self, token: i64, text: &str) -> Result<()> {
        let body = json!({ "token": token, "text": text });
        let answer = self.http.post(&self.url).json(&body).send().await?;
        match answer.status() {
            StatusCode::OK => Ok(()),
            StatusCode::CONFLICT => {
                let newer = answer.text().await?;
                println!("ledger refused token {token}: token {newer} has written");
                Err(Stopped.into())
            }
            status => bail!("the ledger answered {status}"),
        }
    }
}
