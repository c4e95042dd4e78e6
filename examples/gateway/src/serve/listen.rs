//! Sockets: connections are taken, served, and at the end let finish.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use futures::FutureExt;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::gateway::Gateway;
use super::outer::Outer;

/// Longest head of a request that is read; the limit itself is a little below, so that it can be told.
const HEAD: usize = 48 << 10;
/// How long a client may take for it.
const HEAD_TIME: Duration = Duration::from_secs(30);

/// Takes connections until the program is told to end, then lets what runs finish for a while.
pub(super) async fn run(gateway: Arc<Gateway>, listeners: Vec<TcpListener>, over: watch::Sender<bool>) {
    let outer = Outer::new(Arc::clone(&gateway));
    let mut tasks = JoinSet::new();
    let mut loops = JoinSet::new();
    for listener in listeners {
        let (outer, begun) = (outer.clone(), gateway.stopping.begun.clone());
        loops.spawn(async move {
            let mut tasks = JoinSet::new();
            loop {
                tokio::select! {
                    taken = listener.accept() => match taken {
                        Ok((stream, _)) => {
                            let _ = stream.set_nodelay(true);
                            tasks.spawn(connection(outer.clone(), stream, begun.clone()));
                        }
                        // Out of files, most likely: what runs will give some back.
                        Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
                    },
                    Some(_) = tasks.join_next(), if !tasks.is_empty() => {}
                    () = begun.clone() => break,
                }
            }
            drop(listener);
            tasks
        });
    }
    while let Some(ended) = loops.join_next().await {
        if let Ok(mut open) = ended {
            tasks.spawn(async move { while open.join_next().await.is_some() {} });
        }
    }
    let finished = async { while tasks.join_next().await.is_some() {} };
    if tokio::time::timeout(gateway.limits.grace, finished).await.is_err() {
        // Streams end now, with an error in their own words; a moment for that to be sent.
        let _ = over.send(true);
        let finished = async { while tasks.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(Duration::from_secs(1), finished).await;
    }
    let _ = gateway.resilience.close().await;
}

async fn connection(
    outer: Outer,
    stream: tokio::net::TcpStream,
    begun: futures::future::Shared<futures::future::BoxFuture<'static, ()>>,
) {
    let service = service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
        let outer = outer.clone();
        async move { outer.serve(request.map(Body::new)).await }.boxed()
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME).max_buf_size(HEAD).half_close(false);
    let mut served = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), service));
    tokio::select! {
        _ = served.as_mut() => return,
        () = begun => served.as_mut().graceful_shutdown(),
    }
    let _ = served.await;
}

/// Sockets for these addresses. Of two families of loopback one is enough.
pub(super) async fn bind(addresses: &[SocketAddr]) -> std::io::Result<Vec<TcpListener>> {
    let mut listeners: Vec<TcpListener> = Vec::new();
    let mut last = None;
    for address in addresses {
        let mut address = *address;
        if let (0, Some(first)) = (address.port(), listeners.first()) {
            address.set_port(first.local_addr()?.port());
        }
        match TcpListener::bind(address).await {
            Ok(listener) => listeners.push(listener),
            // The first has to work: another program on it must not be taken for us.
            Err(error) if listeners.is_empty() => return Err(error),
            Err(error) => last = Some(error),
        }
    }
    match (listeners.is_empty(), last) {
        (true, Some(error)) => Err(error),
        _ => Ok(listeners),
    }
}
