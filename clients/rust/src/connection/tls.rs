//! TLS with rustls.

use std::fmt;
use std::path::PathBuf;

use tonic::transport::{Certificate, ClientTlsConfig, Identity};

/// TLS to the servers. Files are read again for each connection, so a renewed certificate needs no
/// restart.
#[derive(Clone, Default)]
pub struct TlsOptions {
    ca: Option<Pem>,
    identity: Option<(Pem, Pem)>,
    server_name: Option<String>,
}

#[derive(Clone)]
enum Pem {
    Bytes(Vec<u8>),
    File(PathBuf),
}

impl TlsOptions {
    /// Trusts the certificate authorities of the system.
    pub fn new() -> TlsOptions {
        TlsOptions::default()
    }

    /// Trusts the certificate authorities in this PEM file instead.
    #[must_use]
    pub fn ca_file(self, path: impl Into<PathBuf>) -> TlsOptions {
        TlsOptions {
            ca: Some(Pem::File(path.into())),
            ..self
        }
    }

    /// Trusts the certificate authorities in this PEM text instead.
    #[must_use]
    pub fn ca_pem(self, pem: impl Into<Vec<u8>>) -> TlsOptions {
        TlsOptions {
            ca: Some(Pem::Bytes(pem.into())),
            ..self
        }
    }

    /// Shows the client certificate in these PEM files: the certificate with its chain, and its key.
    #[must_use]
    pub fn identity_files(self, cert: impl Into<PathBuf>, key: impl Into<PathBuf>) -> TlsOptions {
        TlsOptions {
            identity: Some((Pem::File(cert.into()), Pem::File(key.into()))),
            ..self
        }
    }

    /// Shows the client certificate in these PEM texts: the certificate with its chain, and its key.
    #[must_use]
    pub fn identity_pem(self, cert: impl Into<Vec<u8>>, key: impl Into<Vec<u8>>) -> TlsOptions {
        TlsOptions {
            identity: Some((Pem::Bytes(cert.into()), Pem::Bytes(key.into()))),
            ..self
        }
    }

    /// The name in the server's certificate, if it differs from the host of the address.
    #[must_use]
    pub fn server_name(self, name: impl Into<String>) -> TlsOptions {
        TlsOptions {
            server_name: Some(name.into()),
            ..self
        }
    }

    pub(super) async fn read(
        &self,
    ) -> Result<ClientTlsConfig, Box<dyn std::error::Error + Send + Sync>> {
        let mut config = ClientTlsConfig::new();
        config = match &self.ca {
            Some(ca) => config.ca_certificate(Certificate::from_pem(ca.read().await?)),
            None => config.with_enabled_roots(),
        };
        if let Some((cert, key)) = &self.identity {
            config = config.identity(Identity::from_pem(cert.read().await?, key.read().await?));
        }
        if let Some(name) = &self.server_name {
            config = config.domain_name(name);
        }
        Ok(config)
    }
}

impl Pem {
    /// Errors of a file name its path.
    async fn read(&self) -> Result<Vec<u8>, Box<dyn std::error::Error + Send + Sync>> {
        let (bytes, name) = match self {
            Pem::Bytes(bytes) => (bytes.clone(), "the given text".to_owned()),
            Pem::File(path) => {
                let name = path.display().to_string();
                let read = tokio::fs::read(path).await;
                (read.map_err(|error| format!("{name}: {error}"))?, name)
            }
        };
        // An authority that is no certificate would trust no server.
        let begin: &[u8] = b"-----BEGIN ";
        if !bytes.windows(begin.len()).any(|part| part == begin) {
            return Err(format!("{name} has no certificate or key in PEM").into());
        }
        Ok(bytes)
    }
}

/// Without keys.
impl fmt::Debug for TlsOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsOptions")
            .field("server_name", &self.server_name)
            .finish_non_exhaustive()
    }
}
