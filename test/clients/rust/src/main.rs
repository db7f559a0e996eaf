//! Reads Holdfast's errors with the usual helpers of a Rust program. See ../../clients.slow.test.ts.

use std::time::Duration;

use holdfast_proto::holdfast::v1::lock_service_client::LockServiceClient;
use holdfast_proto::holdfast::v1::semaphore_service_client::SemaphoreServiceClient;
use holdfast_proto::holdfast::v1::{
    AcquireLockRequest, AcquirePermitsRequest, ReleaseLockRequest, ReleasePermitsRequest,
    SetSemaphoreLimitRequest,
};
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Response, Status};
use tonic_types::StatusExt;

type Outcome = Result<(), Box<dyn std::error::Error>>;

const TIMEOUT: Duration = Duration::from_secs(20);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome {
    let args: Vec<String> = std::env::args().collect();
    let endpoint = Endpoint::from_shared(format!("http://{}", args[1]))?.timeout(TIMEOUT);
    let channel = endpoint.connect().await?;
    lock_round(LockServiceClient::new(channel.clone()), &args[2]).await?;
    semaphore_round(SemaphoreServiceClient::new(channel), &args[2]).await
}

async fn lock_round(mut client: LockServiceClient<Channel>, name: &str) -> Outcome {
    let request = AcquireLockRequest {
        name: name.to_owned(),
        ttl: Some(Duration::from_secs(30).try_into()?),
        holder_id: "alice".to_owned(),
        metadata: [("language".to_owned(), "rust".to_owned())].into(),
        ..Default::default()
    };
    let answer = client.acquire_lock(request).await?.into_inner();
    let lease = answer.lease.ok_or("no lease")?;
    let as_asked = lease.ttl.is_some_and(|ttl| ttl.seconds == 30);
    println!(
        "granted: {} {as_asked} {}",
        lease.name,
        lease.fencing_token > 0
    );

    let busy = AcquireLockRequest {
        name: name.to_owned(),
        wait_timeout: Some(prost_types::Duration::default()),
        ..Default::default()
    };
    print_error(client.acquire_lock(busy).await);

    let invalid = AcquireLockRequest {
        ttl: Some(prost_types::Duration {
            seconds: -1,
            nanos: 0,
        }),
        request_id: "1".to_owned(),
        ..Default::default()
    };
    print_error(client.acquire_lock(invalid).await);

    let release = ReleaseLockRequest {
        lease_id: lease.lease_id,
    };
    let released = client.release_lock(release).await?.into_inner();
    println!("released: {}", released.released);
    Ok(())
}

async fn semaphore_round(mut client: SemaphoreServiceClient<Channel>, name: &str) -> Outcome {
    let wanted = |permit_count, initial_limit| AcquirePermitsRequest {
        name: name.to_owned(),
        permit_count,
        initial_limit,
        ..Default::default()
    };
    print_error(client.acquire_permits(wanted(None, None)).await);

    let answer = client.acquire_permits(wanted(Some(2), Some(3))).await?;
    let lease = answer.into_inner().lease.ok_or("no lease")?;
    println!("permits: {} {}", lease.name, lease.permit_count);

    print_error(client.acquire_permits(wanted(Some(5), None)).await);

    let change = SetSemaphoreLimitRequest {
        name: name.to_owned(),
        limit: Some(0),
        expected_limit: Some(4),
        paused: None,
    };
    print_error(client.set_semaphore_limit(change).await);

    let release = ReleasePermitsRequest {
        lease_id: lease.lease_id,
    };
    let released = client.release_permits(release).await?.into_inner();
    println!("released: {}", released.released);
    Ok(())
}

/// Prints nothing if the call succeeded. The test then misses the lines.
fn print_error<T>(result: Result<Response<T>, Status>) {
    let Err(status) = result else { return };
    println!("code: {}", name_of(status.code()));
    println!("message: {}", status.message());
    for reason in status.metadata().get_all("holdfast-reason") {
        println!("trailer: {}", reason.to_str().unwrap_or_default());
    }
    let details = status.get_error_details();
    if let Some(info) = details.error_info() {
        println!("reason: {} {}", info.reason, info.domain);
        for (key, value) in &info.metadata {
            println!("metadata: {key}={value}");
        }
    }
    if let Some(delay) = details.retry_info().and_then(|retry| retry.retry_delay) {
        println!("retry: {}", delay.as_millis());
    }
    let bad_request = details.bad_request().into_iter();
    for violation in bad_request.flat_map(|request| &request.field_violations) {
        println!("violation: {} {}", violation.field, violation.description);
    }
}

/// The name of a code, as Java and Python print it.
fn name_of(code: Code) -> String {
    match code {
        Code::Aborted => "ABORTED".to_owned(),
        Code::FailedPrecondition => "FAILED_PRECONDITION".to_owned(),
        Code::InvalidArgument => "INVALID_ARGUMENT".to_owned(),
        Code::NotFound => "NOT_FOUND".to_owned(),
        other => format!("{other:?}"),
    }
}
