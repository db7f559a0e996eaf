//! The events of the log, with their levels, as the page docs/clients/rust.md lists them.

use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use holdfast_proto::holdfast::v1::SessionEndCause;
use holdfast_proto::holdfast::v1::session_event::Event as SessionEvent;
use tonic::Code;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use super::news;
use super::world::*;
use crate::error::Error;
use crate::failure::Failure;

/// Collects each event as its level, its message and its other fields.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

#[derive(Default)]
struct Line {
    message: String,
    fields: String,
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        match field.name() {
            "message" => self.message = format!("{value:?}"),
            name => self.fields += &format!(" {name}={value:?}"),
        }
    }
}

impl Subscriber for Log {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line::default();
        event.record(&mut line);
        let level = *event.metadata().level();
        let text = format!("{level} {}{}", line.message, line.fields);
        self.0.lock().unwrap().push(text);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

impl Log {
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

#[tokio::test(start_paused = true)]
async fn each_event_of_a_session_has_its_level_and_no_id_of_a_lease() {
    let log = Log::default();
    let _guard = tracing::subscriber::set_default(log.clone());
    let mut world = World::new();
    world.hold("report", seconds(60));
    world.leaving(1);
    world.advance(Duration::from_millis(100)).await;
    world.start(2);
    world.tell(2, 1, granted("report", seconds(60)));
    world.tell(2, 1, SessionEvent::RenewalFailed(Default::default()));
    world.tell(2, 1, ended(SessionEndCause::Revoked));
    world.end(2);
    let error = Error::from(Failure::new("NO_CREDENTIAL", Code::Unauthenticated, "none"));
    world.engine.not_opened(error, world.clock.now());
    news::callback_panicked();
    let lines = log.take();
    assert_eq!(
        lines,
        [
            "INFO holdfast: a session has started address=one:1",
            "INFO holdfast: the server asks to leave address=one:1",
            "INFO holdfast: a session has started address=two:2",
            "DEBUG holdfast: the next session renews the lease name=report",
            "WARN holdfast: a renewal has failed name=report",
            "WARN holdfast: a lease is lost name=report cause=REVOKED",
            "WARN holdfast: a session has ended address=two:2 error=\"refused\"",
            "WARN holdfast: the next session cannot be opened error=\"none\"",
            "ERROR holdfast: a callback has panicked",
        ]
    );
    assert!(lines.iter().all(|line| !line.contains("secret")));
}
