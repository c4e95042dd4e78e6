//! One suite, three kinds of store.

use std::sync::Arc;
use std::time::Duration;

use futures::executor::block_on;
use omniroute_core::testing::VirtualClock;
use omniroute_core::{ResilienceStore, StoreError, UnixMs};
use omniroute_resilience::MemoryStore;
use omniroute_resilience::conformance::{self, World};

fn clock() -> VirtualClock {
    VirtualClock::at(UnixMs(1_700_000_000_000))
}

fn passes(world: &dyn World) {
    let broken = block_on(conformance::check(world));
    let list: Vec<String> = broken.iter().map(|broken| format!("{}: {}", broken.case, broken.what)).collect();
    assert!(list.is_empty(), "{} of {} cases:\n{}", list.len(), conformance::cases().len(), list.join("\n"));
}

struct Memory(VirtualClock);

#[async_trait::async_trait]
impl World for Memory {
    async fn open(&self, handles: usize) -> Result<Vec<Arc<dyn ResilienceStore>>, StoreError> {
        let store: Arc<dyn ResilienceStore> = Arc::new(MemoryStore::new(Arc::new(self.0.clone())).shared());
        Ok(vec![store; handles])
    }

    fn advance(&self, by: Duration) {
        self.0.advance(by);
    }
}

#[test]
fn memory_keeps_its_promises() {
    passes(&Memory(clock()));
}

mod sqlite {
    use std::sync::atomic::{AtomicU32, Ordering};

    use omniroute_resilience::{SqliteConfig, SqliteStore};

    use super::*;
    use crate::support::{Folder, Pool};

    struct Sqlite {
        clock: VirtualClock,
        pool: Arc<Pool>,
        folder: Folder,
        next: AtomicU32,
    }

    #[async_trait::async_trait]
    impl World for Sqlite {
        async fn open(&self, handles: usize) -> Result<Vec<Arc<dyn ResilienceStore>>, StoreError> {
            let file = format!("{}.sqlite", self.next.fetch_add(1, Ordering::Relaxed));
            let mut stores: Vec<Arc<dyn ResilienceStore>> = Vec::new();
            for _ in 0..handles {
                let config = SqliteConfig::new(self.folder.path().join(&file));
                let clock = Arc::new(self.clock.clone());
                stores.push(Arc::new(SqliteStore::open(config, clock, self.pool.clone()).await?));
            }
            Ok(stores)
        }

        fn advance(&self, by: Duration) {
            self.clock.advance(by);
        }
    }

    #[test]
    fn sqlite_keeps_its_promises() {
        let (pool, folder) = (Pool::new(4), Folder::new());
        passes(&Sqlite { clock: clock(), pool, folder, next: AtomicU32::new(0) });
    }
}

mod redis {
    use std::sync::atomic::{AtomicU32, Ordering};

    use omniroute_resilience::{RedisConfig, RedisStore, Span};

    use super::*;
    use crate::server::{self, Server};
    use crate::support::Pool;

    struct Redis {
        clock: VirtualClock,
        pool: Arc<Pool>,
        server: Server,
        next: AtomicU32,
    }

    #[async_trait::async_trait]
    impl World for Redis {
        async fn open(&self, handles: usize) -> Result<Vec<Arc<dyn ResilienceStore>>, StoreError> {
            let namespace = format!("case-{}", self.next.fetch_add(1, Ordering::Relaxed));
            let mut stores: Vec<Arc<dyn ResilienceStore>> = Vec::new();
            for _ in 0..handles {
                let mut config = RedisConfig::new(self.server.url());
                config.namespace.clone_from(&namespace);
                config.test_clock = true;
                config.require = true;
                // A busy machine must not look like a slow server here.
                (config.connect, config.command, config.queue) =
                    (Span::seconds(10), Span::seconds(10), Span::seconds(10));
                let clock = Arc::new(self.clock.clone());
                stores.push(Arc::new(RedisStore::open(config, clock, self.pool.clone()).await?));
            }
            Ok(stores)
        }

        fn advance(&self, by: Duration) {
            self.clock.advance(by);
        }
    }

    #[test]
    fn redis_keeps_its_promises() {
        let Some(server) = Server::start(server::Memory::Forgets) else { return };
        passes(&Redis { clock: clock(), pool: Pool::new(4), server, next: AtomicU32::new(0) });
    }
}
