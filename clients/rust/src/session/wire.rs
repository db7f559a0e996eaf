//! One stream of OpenSession on a connection of its own.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::Stream;
use holdfast_proto::holdfast::v1::session_service_client::SessionServiceClient;
use holdfast_proto::holdfast::v1::{OpenSessionRequest, OpenSessionResponse};
use tokio::sync::mpsc;
use tonic::Status;

use crate::connection::Prepared;

/// What the driver hears of a stream.
pub(super) enum WireEvent {
    Response(u64, Box<OpenSessionResponse>),
    /// None: the status was OK.
    Ended(u64, Option<Status>),
}

/// The requests of a session. Tells the engine when the stream has taken a message with commands.
pub(super) struct Outgoing {
    pub(super) requests: mpsc::UnboundedReceiver<(OpenSessionRequest, bool)>,
    pub(super) session: u64,
    /// Tells the engine.
    pub(super) written: Box<dyn Fn() + Send>,
    pub(super) is_counted: bool,
}

impl Stream for Outgoing {
    type Item = OpenSessionRequest;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if std::mem::take(&mut self.is_counted) {
            (self.written)();
        }
        match self.requests.poll_recv(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(None) => Poll::Ready(None),
            Poll::Ready(Some((request, is_counted))) => {
                self.is_counted = is_counted;
                Poll::Ready(Some(request))
            }
        }
    }
}

/// Runs a stream to its end.
pub(super) async fn converse(
    prepared: Prepared,
    outgoing: Outgoing,
    events: mpsc::Sender<WireEvent>,
) {
    let session = outgoing.session;
    let status = exchange(prepared, outgoing, &events).await.err();
    // The driver has gone if the client is closed.
    let _ = events.send(WireEvent::Ended(session, status)).await;
}

async fn exchange(
    prepared: Prepared,
    outgoing: Outgoing,
    events: &mpsc::Sender<WireEvent>,
) -> Result<(), Status> {
    let session = outgoing.session;
    let channel = prepared.connect().await?;
    let request = prepared.request(outgoing);
    let mut stub = SessionServiceClient::new(channel);
    let mut responses = stub.open_session(request).await?.into_inner();
    while let Some(response) = responses.message().await? {
        let event = WireEvent::Response(session, Box::new(response));
        if events.send(event).await.is_err() {
            break;
        }
    }
    Ok(())
}
