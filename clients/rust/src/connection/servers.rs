//! The servers of one store: whose turn it is.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

use super::addresses::is_loopback;
use crate::numbers::{FIRST_ANSWER, SHORTEST_FIRST_ANSWER};

/// A connection does not wait longer for the addresses of a name.
const LOOKUP: Duration = Duration::from_secs(1);

/// One address of a server.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Server {
    /// The "host:port" of the caller. A certificate must be valid for it.
    pub(crate) given: Arc<str>,
    /// Where to connect. None: the transport looks the host up.
    pub(crate) address: Option<SocketAddr>,
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.address {
            None => write!(f, "{}", self.given),
            Some(address) => write!(f, "{} at {address}", self.given),
        }
    }
}

/// The server of the next connection.
#[derive(Clone, Debug)]
pub(crate) struct Turn {
    pub(crate) server: Server,
    /// The addresses that were never taken before, this one included, or all of a later round.
    pub(crate) left: u32,
    /// The known addresses.
    pub(crate) count: u32,
}

type Lookup = JoinHandle<io::Result<Vec<SocketAddr>>>;

/// A host that may mean several servers, as that of a headless Service.
struct Host {
    given: Arc<str>,
    is_name: bool,
    /// Those of the last lookup that has found any, in random order.
    addresses: Vec<SocketAddr>,
    /// Serves the next connection if it is late.
    lookup: Option<Lookup>,
}

/// Each address of each name has its turn, because a process that hangs still accepts connections, and
/// the transport would come back to it.
pub(crate) struct Servers(Mutex<State>);

struct State {
    hosts: Vec<Host>,
    /// The turn in which an address was last taken.
    turns: HashMap<Server, u64>,
    turn: u64,
}

impl Servers {
    pub(crate) fn new(given: &[Arc<str>]) -> Servers {
        let host = |given: &Arc<str>| Host {
            given: given.clone(),
            is_name: is_name(given),
            addresses: Vec::new(),
            lookup: None,
        };
        Servers(Mutex::new(State {
            hosts: given.iter().map(host).collect(),
            turns: HashMap::new(),
            turn: 0,
        }))
    }

    /// Looks all names up anew, and takes the address that was not taken for the longest time. A lookup
    /// that fails or takes longer than 1 s leaves the addresses of the one before.
    pub(crate) async fn next(&self) -> Turn {
        self.next_with(|given| async move {
            let found = tokio::net::lookup_host(&*given).await?;
            Ok(found.collect())
        })
        .await
    }

    async fn next_with<F, Fut>(&self, look_up: F) -> Turn
    where
        F: Fn(Arc<str>) -> Fut,
        Fut: Future<Output = io::Result<Vec<SocketAddr>>> + Send + 'static,
    {
        let mut state = self.0.lock().await;
        for host in state.hosts.iter_mut().filter(|host| host.is_name) {
            if host.lookup.is_none() {
                host.lookup = Some(tokio::spawn(look_up(host.given.clone())));
            }
        }
        let until = Instant::now() + LOOKUP;
        for host in &mut state.hosts {
            host.wait(until).await;
        }
        state.take()
    }
}

impl Host {
    async fn wait(&mut self, until: Instant) {
        let Some(lookup) = &mut self.lookup else {
            return;
        };
        let Ok(ended) = timeout_at(until, lookup).await else {
            return;
        };
        self.lookup = None;
        let Ok(Ok(found)) = ended else { return };
        let is_known = |one: &SocketAddr| self.addresses.contains(one);
        if found.len() != self.addresses.len() || !found.iter().all(is_known) {
            self.addresses = mixed(found);
        }
    }

    fn servers(&self) -> Vec<Server> {
        let server = |address| Server {
            given: self.given.clone(),
            address,
        };
        match self.addresses.is_empty() {
            // The error of the transport says why the name is not found.
            true => vec![server(None)],
            false => self
                .addresses
                .iter()
                .copied()
                .map(Some)
                .map(server)
                .collect(),
        }
    }
}

impl State {
    fn take(&mut self) -> Turn {
        let all: Vec<Server> = self.hosts.iter().flat_map(Host::servers).collect();
        let last = |server: &Server| self.turns.get(server).copied().unwrap_or(0);
        let mut turns: HashMap<Server, u64> =
            all.iter().map(|one| (one.clone(), last(one))).collect();
        let untaken = all.iter().filter(|one| last(one) == 0).count();
        // The first one of several. `connect` refuses an empty list.
        let server = all.iter().min_by_key(|one| last(one)).cloned();
        let server = server.unwrap_or_else(|| Server {
            given: Arc::from(""),
            address: None,
        });
        self.turn += 1;
        turns.insert(server.clone(), self.turn);
        self.turns = turns;
        let left = if untaken == 0 { all.len() } else { untaken };
        Turn {
            server,
            left: left as u32,
            count: all.len() as u32,
        }
    }
}

/// In random order, so that clients spread. The two families take turns and the resolver's first one stays
/// first, because one of them may lead nowhere.
fn mixed(mut found: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let Some(first) = found.first().map(SocketAddr::is_ipv6) else {
        return found;
    };
    fastrand::shuffle(&mut found);
    let (mut ours, mut others): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|one| one.is_ipv6() == first);
    let mut mixed = Vec::new();
    while !ours.is_empty() || !others.is_empty() {
        mixed.extend(ours.pop());
        mixed.extend(others.pop());
    }
    mixed
}

/// Whether the host is looked up here: both addresses of localhost are those of one server.
fn is_name(given: &str) -> bool {
    let host = given.rsplit_once(':').map_or(given, |(host, _)| host);
    !is_loopback(given) && !host.starts_with('[') && host.parse::<IpAddr>().is_err()
}

/// The longest wait for the first answer of one server, if connect has this time left for so many
/// addresses.
pub(crate) fn share_of_connect(left: Duration, addresses: u32) -> Duration {
    let share = left / addresses.max(1);
    share.clamp(SHORTEST_FIRST_ANSWER, FIRST_ANSWER)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn servers(given: &[&str]) -> Servers {
        let given: Vec<Arc<str>> = given.iter().map(|&one| Arc::from(one)).collect();
        Servers::new(&given)
    }

    async fn take(servers: &Servers, found: &'static [&'static str]) -> Turn {
        servers
            .next_with(|_| async move {
                match found.is_empty() {
                    true => Err(io::ErrorKind::NotFound.into()),
                    false => Ok(found.iter().map(|one| one.parse().unwrap()).collect()),
                }
            })
            .await
    }

    fn address(turn: &Turn) -> String {
        turn.server.address.unwrap().to_string()
    }

    #[tokio::test]
    async fn each_address_of_a_name_has_its_turn_and_the_families_take_turns() {
        let found = &["10.0.0.1:7", "10.0.0.2:7", "[fd00::1]:7"];
        let servers = servers(&["servers.test:7"]);
        let mut taken = Vec::new();
        for _ in 0..6 {
            taken.push(address(&take(&servers, found).await));
        }
        assert_eq!(taken[..3], taken[3..]);
        assert_eq!(taken[1], "[fd00::1]:7");
        taken.truncate(3);
        taken.sort();
        assert_eq!(taken, *found);
    }

    #[tokio::test]
    async fn a_name_is_looked_up_anew_and_keeps_its_addresses_while_it_is_not_found() {
        let servers = servers(&["servers.test:7"]);
        for _ in 0..5 {
            take(&servers, &["10.0.0.1:7"]).await;
        }
        let both = &["10.0.0.1:7", "10.0.0.9:7"];
        assert_eq!(address(&take(&servers, both).await), "10.0.0.9:7");
        assert_eq!(address(&take(&servers, both).await), "10.0.0.1:7");
        assert_eq!(address(&take(&servers, &[]).await), "10.0.0.9:7");
    }

    #[tokio::test]
    async fn a_name_without_an_address_is_left_to_the_transport_as_are_addresses_and_localhost() {
        let given = ["servers.test:7", "[::1]:8", "localhost:9", "10.1.1.1:10"];
        let servers = servers(&given);
        for one in given {
            let turn = take(&servers, &[]).await;
            assert_eq!((&*turn.server.given, turn.server.address), (one, None));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_late_lookup_runs_once_and_serves_the_next_connection() {
        let servers = servers(&["servers.test:7"]);
        let (answer, answered) = tokio::sync::watch::channel(false);
        let begun = std::cell::Cell::new(0);
        let look_up = |_| {
            begun.set(begun.get() + 1);
            let mut answered = answered.clone();
            async move {
                answered.wait_for(|&is| is).await.unwrap();
                Ok(vec!["10.0.0.1:7".parse().unwrap()])
            }
        };
        for _ in 0..2 {
            assert_eq!(servers.next_with(look_up).await.server.address, None);
        }
        answer.send_replace(true);
        assert_eq!(address(&servers.next_with(look_up).await), "10.0.0.1:7");
        assert_eq!(begun.get(), 1);
    }

    #[tokio::test]
    async fn the_addresses_share_the_time_of_connect() {
        let seconds = Duration::from_secs;
        assert_eq!(share_of_connect(seconds(10), 1), seconds(5));
        assert_eq!(share_of_connect(seconds(9), 3), seconds(3));
        assert_eq!(share_of_connect(seconds(9), 100), seconds(1));
        assert_eq!(share_of_connect(Duration::ZERO, 2), seconds(1));
        let servers = servers(&["servers.test:7", "127.0.0.1:8"]);
        let mut left = Vec::new();
        for _ in 0..4 {
            left.push(take(&servers, &["10.0.0.1:7", "10.0.0.2:7"]).await.left);
        }
        assert_eq!(left, [3, 2, 1, 3]);
    }
}
