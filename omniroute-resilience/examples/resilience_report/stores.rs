//! The stores that can be put behind a run.

use crate::Options;
use crate::sim::library::{MakeStore, memory};

/// One of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Memory,
    #[cfg(feature = "store-sqlite")]
    Sqlite,
    #[cfg(feature = "store-redis")]
    Redis,
}

impl Kind {
    /// Those that are compiled in, and were not left out.
    pub(crate) fn all(options: &Options) -> Vec<Kind> {
        let mut kinds = vec![Kind::Memory];
        #[cfg(feature = "store-sqlite")]
        kinds.push(Kind::Sqlite);
        #[cfg(feature = "store-redis")]
        if options.redis.is_some() {
            kinds.push(Kind::Redis);
        }
        kinds.retain(|kind| {
            options.stores.is_empty() || options.stores.iter().any(|name| name == kind.name())
        });
        kinds
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Memory => "memory",
            #[cfg(feature = "store-sqlite")]
            Kind::Sqlite => "sqlite",
            #[cfg(feature = "store-redis")]
            Kind::Redis => "redis",
        }
    }

    /// How many of `seeds` it gets: real files and servers are slower.
    pub(crate) fn seeds(self, seeds: u64) -> u64 {
        if self == Kind::Memory { seeds } else { seeds.div_ceil(10) }
    }

    /// How a run's processes open this kind of store. `name` is of the run alone.
    pub(crate) fn make(self, options: &Options, name: &str) -> MakeStore {
        let _unused_without_features = (options, name);
        match self {
            Kind::Memory => memory(),
            #[cfg(feature = "store-sqlite")]
            Kind::Sqlite => others::sqlite(options.folder.join(name)),
            #[cfg(feature = "store-redis")]
            Kind::Redis => others::redis(options.redis.clone().unwrap_or_default(), name.to_owned()),
        }
    }

    /// The run is over: its file goes.
    pub(crate) fn clean(self, options: &Options, name: &str) {
        if self.name() == "sqlite" {
            for tail in ["", "-wal", "-shm"] {
                // What is not there needs no removing.
                let _removed = std::fs::remove_file(options.folder.join(format!("{name}{tail}")));
            }
        }
    }
}

#[cfg(any(feature = "store-sqlite", feature = "store-redis"))]
mod others {
    use std::rc::Rc;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use futures::FutureExt;
    use omniroute_core::{Offload, ResilienceStore};
    use omniroute_resilience::Span;

    use crate::sim::library::MakeStore;
    use crate::sim::store::Opener;

    /// Runs the first job on a thread and the others at once: a store may then wait longer than a caller's thread
    /// should, which is what a run on a busy machine needs. Nothing else happens on this thread meanwhile.
    #[derive(Debug, Default)]
    struct Waits(AtomicBool);

    impl Offload for Waits {
        fn run(&self, job: Box<dyn FnOnce() + Send>) {
            if self.0.swap(true, Ordering::Relaxed) {
                job();
            } else {
                std::thread::spawn(job).join().expect("the first job does not panic");
            }
        }
    }

    /// A fresh file.
    #[cfg(feature = "store-sqlite")]
    pub(crate) fn sqlite(path: std::path::PathBuf) -> MakeStore {
        use omniroute_resilience::{SqliteConfig, SqliteStore};
        Rc::new(move |time| {
            for tail in ["", "-wal", "-shm"] {
                let mut old = path.clone().into_os_string();
                old.push(tail);
                // It is there only if an earlier report was stopped.
                let _removed = std::fs::remove_file(old);
            }
            let (clock, path) = (time.clock(0), path.clone());
            Arc::new(move || {
                let mut config = SqliteConfig::new(&path);
                (config.busy, config.check) = (Span::seconds(2), false);
                let opened = SqliteStore::open(config, clock.clone(), Arc::new(Waits::default()));
                let store = opened.now_or_never().expect("it runs at once").expect("the file can be opened");
                Arc::new(store) as Arc<dyn ResilienceStore>
            }) as Opener
        })
    }

    /// A namespace of its own.
    #[cfg(feature = "store-redis")]
    pub(crate) fn redis(url: String, name: String) -> MakeStore {
        use omniroute_resilience::{RedisConfig, RedisStore};
        Rc::new(move |time| {
            let (clock, url, name) = (time.clock(0), url.clone(), name.clone());
            let open: Opener = Arc::new(move || {
                let mut config = RedisConfig::new(url.clone());
                config.namespace.clone_from(&name);
                (config.connect, config.command, config.queue) =
                    (Span::seconds(5), Span::seconds(5), Span::seconds(5));
                (config.test_clock, config.require, config.fallback) = (true, true, false);
                // Leases want a store that keeps what it acknowledged.
                config.durable = true;
                let opened = RedisStore::open(config, clock.clone(), Arc::new(Waits::default()));
                let store = opened.now_or_never().expect("it runs at once").expect("the server answers");
                Arc::new(store) as Arc<dyn ResilienceStore>
            });
            crate::sim::store::empty(&*open());
            open
        })
    }
}
