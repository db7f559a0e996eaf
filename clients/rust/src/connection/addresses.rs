//! The addresses of servers.

use std::net::IpAddr;
use std::sync::Arc;

/// The addresses of the servers of one store, each "host:port": a text, with commas between several
/// addresses, or a list of texts.
#[derive(Clone, Debug)]
pub struct Addresses(Vec<Arc<str>>);

impl Addresses {
    pub(crate) fn list(self) -> Vec<Arc<str>> {
        self.0
    }
}

impl From<&str> for Addresses {
    fn from(text: &str) -> Addresses {
        let parts = text
            .split(',')
            .map(str::trim)
            .filter(|part| !part.is_empty());
        Addresses(parts.map(Arc::from).collect())
    }
}

impl From<String> for Addresses {
    fn from(text: String) -> Addresses {
        Addresses::from(text.as_str())
    }
}

impl From<&String> for Addresses {
    fn from(text: &String) -> Addresses {
        Addresses::from(text.as_str())
    }
}

impl<T: AsRef<str>> From<&[T]> for Addresses {
    fn from(list: &[T]) -> Addresses {
        Addresses(list.iter().map(|one| Arc::from(one.as_ref())).collect())
    }
}

impl<T: AsRef<str>> From<Vec<T>> for Addresses {
    fn from(list: Vec<T>) -> Addresses {
        Addresses::from(list.as_slice())
    }
}

impl<T: AsRef<str>, const N: usize> From<[T; N]> for Addresses {
    fn from(list: [T; N]) -> Addresses {
        Addresses::from(list.as_slice())
    }
}

pub(super) fn is_loopback(address: &str) -> bool {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || host
            .parse::<IpAddr>()
            .is_ok_and(|ip| ip.to_canonical().is_loopback())
}
