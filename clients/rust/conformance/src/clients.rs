//! Clients: connect, close, what a server says about itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use holdfast_client::{BearerToken, ConnectOptions, TlsOptions};
use serde_json::{Value, json};

use crate::desk::{Desk, Fields, Reply};

pub async fn connect(desk: &Desk, fields: &Fields) -> Reply {
    let mut options = ConnectOptions::new();
    if let Some(time) = fields.time("connect_ms") {
        options = options.connect_timeout(time);
    }
    if let Some(id) = fields.0["holder_id"].as_str() {
        options = options.holder_id(id);
    }
    for (key, value) in fields.pairs("metadata") {
        options = options.metadata(key, value);
    }
    options = with_token(options, fields);
    if fields.0["tls"].is_object() {
        options = options.tls(tls(&fields.0["tls"]));
    }
    let addresses: Vec<String> = serde_json::from_value(fields.0["addresses"].clone())
        .expect("the addresses are a list of texts");
    desk.add(fields.text("client"), options.connect(addresses).await?);
    Ok(json!({ "connected": true }))
}

fn with_token(options: ConnectOptions, fields: &Fields) -> ConnectOptions {
    if let Some(token) = fields.0["token"].as_str() {
        return options.token(token);
    }
    if let Some(path) = fields.0["token_file"].as_str() {
        return options.token_file(path);
    }
    let Some(tokens) = fields.0["tokens"].as_array() else {
        return options;
    };
    // None: the source hangs.
    let tokens: Vec<Option<String>> = tokens
        .iter()
        .map(|token| token.as_str().map(str::to_owned))
        .collect();
    let life: Option<Duration> = fields.time("token_expires_in_ms");
    let count = Arc::new(AtomicUsize::new(0));
    options.token_source(move || {
        let index = count.fetch_add(1, Ordering::Relaxed).min(tokens.len() - 1);
        let text = tokens[index].clone();
        async move {
            let Some(text) = text else {
                return std::future::pending().await;
            };
            let token = BearerToken::new(text);
            let token = life.into_iter().fold(token, BearerToken::expires_in);
            Ok::<_, std::io::Error>(token)
        }
    })
}

fn tls(fields: &Value) -> TlsOptions {
    let mut tls = TlsOptions::new();
    if let Some(ca) = fields["ca"].as_str() {
        tls = tls.ca_file(ca);
    }
    if let (Some(cert), Some(key)) = (fields["cert"].as_str(), fields["key"].as_str()) {
        tls = tls.identity_files(cert, key);
    }
    match fields["server_name"].as_str() {
        Some(name) => tls.server_name(name),
        None => tls,
    }
}

pub async fn server_info(desk: &Desk, fields: &Fields) -> Reply {
    let info = desk.client(fields)?.server_info().await?;
    Ok(json!({ "version": info.version, "features": info.features }))
}

pub async fn close(desk: &Desk, fields: &Fields) -> Reply {
    desk.client(fields)?.close().await;
    Ok(json!({ "closed": true }))
}
