//! `omniroute doctor`: what is in the way, and what to do about it.

use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use clap::Args;
use omniroute_providers::Catalog;
use serde::Serialize;

use crate::config::{self, Config, Sources};
use crate::exit::{CONFIG, FAILED, Failure, write_out};
use crate::route::config::ConfigArgs;
use crate::terminal::{Colour, Paint};

/// How long a host may take to take a connection.
const PATIENCE: Duration = Duration::from_secs(5);

/// Options of `omniroute doctor`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  omniroute doctor
  omniroute doctor --online --json | jq -r '.checks[] | select(.state != \"ok\") | .fix'")]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    config: ConfigArgs,
    /// Also look whether the host of each connection takes connections; nothing is sent to it
    #[arg(long)]
    online: bool,
    /// Print one JSON document instead of lines
    #[arg(long)]
    json: bool,
}

/// How it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    Ok,
    Warn,
    Fail,
}

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct Check {
    check: &'static str,
    state: State,
    what: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<String>,
}

/// Runs the command.
pub(crate) fn run(args: &DoctorArgs) -> Result<(), Failure> {
    let path = config::locate(args.config.config.as_deref());
    let mut found = Found(Vec::new());
    let sources = match args.config.sources() {
        Ok(sources) => {
            found.configuration(path.as_deref(), &sources);
            Some(sources)
        }
        Err(failure) => {
            found.add(
                "config",
                State::Fail,
                failure.to_string(),
                Some("name a file that can be read".to_owned()),
            );
            None
        }
    };
    let broken = found.0.iter().any(|check| check.state == State::Fail);
    if let Some(config) = sources.as_ref().and_then(|sources| args.config.with_options(sources).ok()) {
        found.secrets(&config);
        found.store(&config);
        found.port(config.gateway.listen.as_deref().unwrap_or("127.0.0.1:20128"));
        if args.online {
            found.hosts(&config);
        }
    }
    found.clock();
    found.others();
    let data =
        if args.json { serde_json::json!({ "checks": found.0 }).to_string() + "\n" } else { lines(&found.0) };
    write_out(data.as_bytes())?;
    match found.0.iter().any(|check| check.state == State::Fail) {
        true => Err(Failure::silent(if broken { CONFIG } else { FAILED })),
        false => Ok(()),
    }
}

fn lines(checks: &[Check]) -> String {
    let paint = Paint::stdout();
    let mut out = String::new();
    for Check { check, state, what, fix } in checks {
        let (word, colour) = match state {
            State::Ok => ("ok  ", Colour::Green),
            State::Warn => ("warn", Colour::Yellow),
            State::Fail => ("fail", Colour::Red),
        };
        out.push_str(&format!("{}  {check:<12}{what}\n", paint.bold(colour, word)));
        if let Some(fix) = fix {
            out.push_str(&format!("                  {fix}\n"));
        }
    }
    out
}

struct Found(Vec<Check>);

impl Found {
    fn add(&mut self, check: &'static str, state: State, what: String, fix: Option<String>) {
        self.0.push(Check { check, state, what, fix });
    }

    fn configuration(&mut self, path: Option<&Path>, sources: &Sources) {
        let name = path.map_or_else(
            || "no file: the providers whose usual variables are set are used".to_owned(),
            |path| format!("\"{}\"", path.display()),
        );
        let count = sources.summary().trim_end().to_owned();
        let wrong = sources.mistakes.iter().any(|mistake| mistake.code.starts_with('C'));
        if sources.mistakes.is_empty() {
            self.add("config", State::Ok, name, None);
        } else {
            let state = if wrong { State::Fail } else { State::Warn };
            let fix = Some("`omniroute config check` tells each with its place".to_owned());
            self.add("config", state, format!("{name}: {count}"), fix);
        }
    }

    fn secrets(&mut self, config: &Config) {
        let catalog = Catalog::embedded();
        let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        for line in config.connections.iter().filter(|line| !line.disabled) {
            let provider = line.id.split('/').next().unwrap_or_default();
            let mut named = line.secrets().peekable();
            if named.peek().is_some() {
                for secret in named {
                    match secret.fetch() {
                        Ok(_) => {
                            self.add("secret", State::Ok, format!("{}: {}", line.id, secret.place()), None)
                        }
                        Err(why) => {
                            let fix = Some(format!("put the key of {} there", line.id));
                            self.add("secret", State::Warn, format!("{}: {why}", line.id), fix);
                        }
                    }
                }
                continue;
            }
            let Some(row) = catalog.provider(provider) else { continue };
            if row.anonymous || row.auth.optional {
                self.add("secret", State::Ok, format!("{}: none is needed", line.id), None);
                continue;
            }
            let names: Vec<String> = row.key_variables().map(|name| name.into_owned()).collect();
            match names.iter().find(|name| set(name)) {
                Some(name) => {
                    self.add("secret", State::Ok, format!("{}: the variable {name}", line.id), None)
                }
                None => {
                    let fix =
                        names.first().map(|name| format!("set {name}, or say key = {{ env = \"NAME\" }}"));
                    self.add("secret", State::Warn, format!("{}: no key", line.id), fix);
                }
            }
        }
        if config.connections.is_empty() {
            let rows = catalog.providers().filter(|row| row.key_variables().any(|name| set(&name)));
            let count = rows.count();
            let (state, fix) = match count {
                0 => (State::Warn, Some("set a provider's variable, such as OPENAI_API_KEY".to_owned())),
                _ => (State::Ok, None),
            };
            self.add("secret", state, format!("{count} providers whose usual variable is set"), fix);
        }
    }

    fn store(&mut self, config: &Config) {
        let kind = config.store.kind.as_deref().unwrap_or("sqlite");
        match kind {
            "sqlite" => {
                let Some(path) = config.store.path.clone().or_else(config::state_file) else {
                    let fix = Some("say store.path, or set HOME".to_owned());
                    self.add("store", State::Fail, "no place for the file of sqlite".to_owned(), fix);
                    return;
                };
                match config::unwritable(&path) {
                    None => self.add("store", State::Ok, format!("sqlite \"{}\"", path.display()), None),
                    Some(why) => {
                        let fix = Some("say another store.path".to_owned());
                        self.add("store", State::Fail, format!("sqlite \"{}\": {why}", path.display()), fix);
                    }
                }
            }
            "redis" => match config.store.url.as_ref().map(config::secret::Secret::fetch) {
                Some(Ok(_)) => self.add("store", State::Ok, "redis, not asked".to_owned(), None),
                Some(Err(why)) => {
                    self.add(
                        "store",
                        State::Fail,
                        format!("redis: {why}"),
                        Some("put its address there".to_owned()),
                    );
                }
                None => self.add("store", State::Fail, "redis without store.url".to_owned(), None),
            },
            _ => {
                let what = "memory: rests, sessions and leases end with the program".to_owned();
                self.add("store", State::Ok, what, None);
            }
        }
    }

    fn port(&mut self, listen: &str) {
        match TcpListener::bind(listen) {
            Ok(_) => self.add("port", State::Ok, format!("{listen} is free"), None),
            Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => {
                let fix = Some("another omniroute may run already; else use `serve --listen`".to_owned());
                self.add("port", State::Warn, format!("{listen} is taken"), fix);
            }
            Err(error) => {
                let fix = Some("say another gateway.listen".to_owned());
                self.add("port", State::Fail, format!("{listen}: {}", error.to_string().to_lowercase()), fix);
            }
        }
    }

    /// A clock before this release was made is wrong: certificates and rests would be, too.
    #[expect(clippy::disallowed_methods, reason = "it is the machine's own clock that is looked at")]
    fn clock(&mut self) {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let today = day(now / 86_400);
        let facts = Catalog::embedded().as_of().to_string();
        if today < facts {
            let what = format!("it is {today} by this machine's clock, and the catalogue is of {facts}");
            self.add("clock", State::Fail, what, Some("set the clock".to_owned()));
        } else {
            self.add("clock", State::Ok, format!("{today}, after the catalogue ({facts})"), None);
        }
    }

    /// Other programs of this name are found first, or at all.
    fn others(&mut self) {
        let own = std::env::current_exe().ok().and_then(|path| path.canonicalize().ok());
        let paths = std::env::var_os("PATH").unwrap_or_default();
        let name = if cfg!(windows) { "omniroute.exe" } else { "omniroute" };
        let mut found: Vec<PathBuf> = std::env::split_paths(&paths)
            .map(|folder| folder.join(name))
            .filter(|path| path.is_file())
            .collect();
        found.retain(|path| path.canonicalize().ok() != own);
        match found.first() {
            None => self.add("path", State::Ok, "no other omniroute on PATH".to_owned(), None),
            Some(other) => {
                let fix = Some("remove it, or call this one by its path".to_owned());
                self.add("path", State::Warn, format!("another omniroute is \"{}\"", other.display()), fix);
            }
        }
    }

    fn hosts(&mut self, config: &Config) {
        let catalog = Catalog::embedded();
        for line in config.connections.iter().filter(|line| !line.disabled) {
            let provider = line.id.split('/').next().unwrap_or_default();
            let declared = config.providers.iter().find(|own| own.id == provider);
            let row =
                catalog.provider(provider).and_then(|row| row.base_url.as_ref().map(ToString::to_string));
            let url = line.base_url.clone().or_else(|| declared?.base_url.clone()).or(row);
            let Some((host, port)) = url.as_deref().and_then(config::net::host_port) else {
                self.add("host", State::Warn, format!("{}: no address is known", line.id), None);
                continue;
            };
            match reach(&host, port) {
                Ok(()) => {
                    self.add("host", State::Ok, format!("{}: {host}:{port} takes connections", line.id), None)
                }
                Err(why) => {
                    let fix = Some("look at the network, a proxy, or the server itself".to_owned());
                    self.add("host", State::Fail, format!("{}: {host}:{port}: {why}", line.id), fix);
                }
            }
        }
    }
}

fn reach(host: &str, port: u16) -> Result<(), String> {
    let addresses = (host, port).to_socket_addrs().map_err(|_| "its name is not known".to_owned())?;
    let mut last = "it has no address".to_owned();
    for address in addresses {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(_) => return Ok(()),
            Err(error) => last = error.to_string().to_lowercase(),
        }
    }
    Err(last)
}

/// A day since 1970 as a date.
fn day(days: u64) -> String {
    // Years begin in March here, so that the odd day is the last one.
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let of_era = shifted % 146_097;
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let date = of_year - (153 * month + 2) / 5 + 1;
    let (month, more) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    format!("{:04}-{month:02}-{date:02}", era * 400 + year + more)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_dates() {
        for (days, date) in [(0, "1970-01-01"), (19_782, "2024-02-29"), (20_788, "2026-12-01")] {
            assert_eq!(day(days), date);
        }
    }
}
