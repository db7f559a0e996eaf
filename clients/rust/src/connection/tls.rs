//! TLS with rustls.

use std::fmt;
use std::path::PathBuf;

use rustls::RootCertStore;
use rustls_pki_types::pem::{Error as PemError, PemObject};
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tonic::Code;
use tonic::transport::{Certificate, ClientTlsConfig, Identity};

use crate::error::Error;
use crate::failure::Failure;

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

    /// Why rustls takes no configuration: its own error names no file.
    pub(super) fn unusable(&self) -> String {
        let ca = self.ca.iter();
        let own = self.identity.iter().flat_map(|(cert, key)| [cert, key]);
        let names: Vec<_> = ca.chain(own).map(Pem::name).collect();
        format!("TLS cannot be set up with {}", names.join(", "))
    }

    /// Fails if a file cannot be read, or has no certificate or key. `host` is the host of the server, if
    /// the connection goes to one of its addresses.
    pub(super) async fn read(&self, host: Option<&str>) -> Result<ClientTlsConfig, Error> {
        let mut config = ClientTlsConfig::new();
        config = match &self.ca {
            Some(ca) => config.ca_certificate(Certificate::from_pem(ca.authorities().await?)),
            None => config.with_enabled_roots(),
        };
        if let Some((cert, key)) = &self.identity {
            let cert = cert
                .read("certificate", |pem| certificates(pem).map(drop))
                .await?;
            config = config.identity(Identity::from_pem(cert, key.key().await?));
        }
        if let Some(name) = self.server_name.as_deref().or(host) {
            config = config.domain_name(name);
        }
        Ok(config)
    }
}

impl Pem {
    /// rustls itself ignores an authority that is no certificate, and then trusts no server.
    async fn authorities(&self) -> Result<Vec<u8>, Error> {
        self.read("certificate", |pem| {
            let (usable, _) = RootCertStore::empty().add_parsable_certificates(certificates(pem)?);
            match usable {
                0 => Err(PemError::NoItemsFound),
                _ => Ok(()),
            }
        })
        .await
    }

    async fn key(&self) -> Result<Vec<u8>, Error> {
        self.read("key", |pem| PrivateKeyDer::from_pem_slice(pem).map(drop))
            .await
    }

    /// The path of the file. A text stays out of errors, because it may be a key.
    fn name(&self) -> String {
        match self {
            Pem::Bytes(_) => "the given text".to_owned(),
            Pem::File(path) => path.display().to_string(),
        }
    }

    async fn read(
        &self,
        what: &str,
        check: impl FnOnce(&[u8]) -> Result<(), PemError>,
    ) -> Result<Vec<u8>, Error> {
        let name = self.name();
        let pem = match self {
            Pem::Bytes(bytes) => bytes.clone(),
            Pem::File(path) => tokio::fs::read(path).await.map_err(|error| {
                no_certificate(format!("the {what} of {name} cannot be read"), error)
            })?,
        };
        match check(&pem) {
            Ok(()) => Ok(pem),
            Err(error) => Err(no_certificate(
                format!("{name} has no {what} in PEM"),
                error,
            )),
        }
    }
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'_>>, PemError> {
    let found = CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>()?;
    match found.is_empty() {
        true => Err(PemError::NoItemsFound),
        false => Ok(found),
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

/// A file may come later, as that of a token, so the client tries again.
pub(super) fn no_certificate(
    text: impl Into<String>,
    error: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> Error {
    Failure::new("NO_CREDENTIAL", Code::Unauthenticated, text)
        .with_source(error)
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::with_sources;

    /// A certificate of nobody.
    const AUTHORITY: &str = "\
        -----BEGIN CERTIFICATE-----\n\
        MIIBbTCCAROgAwIBAgIUQSgf/a4TZgB6p2ha7B0s/4zY2xgwCgYIKoZIzj0EAwIw\n\
        DDEKMAgGA1UEAwwBYTAeFw0yNjExMjcwNDA5MjRaFw0yNjExMzAwNDA5MjRaMAwx\n\
        CjAIBgNVBAMMAWEwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAASt1O+QSfodxOZb\n\
        irKjmvFSNXPdiRm9CuYv1S4e7xOuHh1n0aSnchtkqbdHiRGDGRTYr9olLd2WjfAF\n\
        JNbQgPFFo1MwUTAdBgNVHQ4EFgQUyg73npSgM0SrWYM99/EaZJYvd8cwHwYDVR0j\n\
        BBgwFoAUyg73npSgM0SrWYM99/EaZJYvd8cwDwYDVR0TAQH/BAUwAwEB/zAKBggq\n\
        hkjOPQQDAgNIADBFAiEAwhhFz0P+/qWu87zo5UfhmJJJm8TR26k6YrYxdkVSGvQC\n\
        IDpsEREc1BOmRIVN9nUk77WOJtvfq1StZlPlSGS38oy4\n\
        -----END CERTIFICATE-----\n";

    /// A PEM of this kind, which no check of a signature has seen.
    fn pem(kind: &str) -> String {
        format!("-----BEGIN {kind}-----\nMAA=\n-----END {kind}-----\n")
    }

    async fn refused(tls: TlsOptions) -> String {
        let error = tls.read(None).await.err().unwrap();
        assert!(matches!(error, Error::Credential(_)), "{error:?}");
        assert_eq!(error.reason(), "NO_CREDENTIAL");
        with_sources(&error)
    }

    #[tokio::test]
    async fn a_missing_file_is_a_credential_error_that_names_the_file_and_the_cause() {
        let text = refused(TlsOptions::new().ca_file("/none/ca.pem")).await;
        assert!(text.contains("/none/ca.pem"), "{text}");
        assert!(text.contains("No such file"), "{text}");
        let tls = TlsOptions::new();
        let text = refused(tls.identity_files("/none/client.pem", "/none/client.key")).await;
        assert!(text.contains("/none/client.pem"), "{text}");
    }

    #[tokio::test]
    async fn a_text_that_is_no_pem_is_a_credential_error_without_the_text() {
        let text = refused(TlsOptions::new().ca_pem("no certificate")).await;
        assert!(text.contains("certificate in PEM"), "{text}");
        let tls = TlsOptions::new();
        let text = refused(tls.identity_pem(pem("CERTIFICATE"), "my secret")).await;
        assert!(text.contains("key in PEM"), "{text}");
        assert!(!text.contains("secret"), "{text}");
    }

    #[tokio::test]
    async fn a_damaged_authority_is_a_credential_error() {
        let text = refused(TlsOptions::new().ca_pem(pem("CERTIFICATE"))).await;
        assert!(text.contains("certificate in PEM"), "{text}");
    }

    #[tokio::test]
    async fn certificates_and_a_key_in_pem_are_taken() {
        let tls = TlsOptions::new().ca_pem(AUTHORITY);
        let tls = tls.identity_pem(pem("CERTIFICATE"), pem("PRIVATE KEY"));
        assert!(tls.read(None).await.is_ok());
    }
}
