//! `omniroute serve`: the libraries behind one address on this machine.

mod chat;
mod control;
mod counting;
mod fault;
mod gateway;
mod guard;
mod intake;
mod keys;
mod listen;
mod moment;
mod ops;
mod outer;
mod passed;
mod setup;
mod streams;

use std::sync::Arc;

use clap::Args;
use futures::FutureExt;
use tokio::sync::watch;

use crate::exit::{Failure, note};
use crate::route::config::ConfigArgs;

/// Names of all scopes.
#[cfg(test)]
pub(crate) fn scope_names() -> impl Iterator<Item = &'static str> {
    keys::Scope::ALL.iter().map(|(_, name)| *name)
}

/// Options of `omniroute serve`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  OPENAI_API_KEY=… omniroute serve
  omniroute serve --config omniroute.toml --listen 127.0.0.1:8080")]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    config: ConfigArgs,
    /// Address and port, instead of those of the configuration
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// Print nothing but errors
    #[arg(long, short)]
    quiet: bool,
}

/// Runs the command until it is told to end.
pub(crate) fn run(args: &ServeArgs) -> Result<(), Failure> {
    let sources = args.config.sources()?;
    let mut config = args.config.with_options(&sources)?;
    if !args.quiet && !sources.mistakes.is_empty() {
        note(sources.text(crate::terminal::Paint::stderr()).trim_end());
    }
    let addresses = setup::listen(&config, args.listen.as_deref())?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Failure::io("start", "the runtime", &error))?;
    runtime.block_on(async {
        let (begin, begun) = watch::channel(false);
        let (over, now) = watch::channel(false);
        let stopping = gateway::Stopping { begun: told(begun), now: told(now) };
        let gateway = Arc::new(setup::gateway(&mut config, stopping).await?);
        let shown = args.listen.as_deref().unwrap_or("the address");
        let listeners =
            listen::bind(&addresses).await.map_err(|error| Failure::io("listen on", shown, &error))?;
        if !args.quiet {
            greet(&gateway, &listeners, config.routing.seed);
        }
        tokio::spawn(async move {
            signal().await;
            let _ = begin.send(true);
            signal().await;
            std::process::exit(130);
        });
        listen::run(gateway, listeners, over).await;
        Ok(())
    })
}

/// Ends when the word is given.
fn told(mut word: watch::Receiver<bool>) -> futures::future::Shared<futures::future::BoxFuture<'static, ()>> {
    async move {
        // Without a speaker nobody will ever say it.
        if word.wait_for(|said| *said).await.is_err() {
            futures::future::pending::<()>().await;
        }
    }
    .boxed()
    .shared()
}

fn greet(gateway: &gateway::Gateway, listeners: &[tokio::net::TcpListener], seed: u64) {
    let Some(address) = listeners.first().and_then(|listener| listener.local_addr().ok()) else { return };
    let base = format!("http://{address}");
    note(&format!("omniroute listens on {base}"));
    let keys = if gateway.keys.is_empty() {
        "no keys: this machine only, asking and looking"
    } else {
        "keys are needed"
    };
    let ready = gateway.lines.iter().filter(|line| line.ready).count();
    note(&format!("{keys}; {ready} connections can be used; compression {}; seed {seed}", gateway.plan));
    if gateway.resilience.health().store_degraded {
        note(
            "the store does not answer: until it does, rests and sessions are this process's own and leases are refused",
        );
    }
    note(&format!(
        "agents: OPENAI_BASE_URL={base}/v1  ANTHROPIC_BASE_URL={base}  GOOGLE_GEMINI_BASE_URL={base}"
    ));
    if ready == 0 {
        note(
            "nothing can be asked: set a provider's variable, such as OPENAI_API_KEY, or name a file with --config",
        );
    }
}

/// Somebody wants the program to end.
async fn signal() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let (Ok(mut term), Ok(mut int)) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
        else {
            return futures::future::pending().await;
        };
        tokio::select! { _ = term.recv() => {}, _ = int.recv() => {} }
    }
    #[cfg(not(unix))]
    {
        let _ = tokio::signal::ctrl_c().await;
    }
}
