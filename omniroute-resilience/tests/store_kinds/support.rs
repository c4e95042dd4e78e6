//! Real time, real threads and a folder that goes away.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant, SystemTime};

use futures::FutureExt;
use futures::channel::oneshot;
use futures::future::BoxFuture;
use omniroute_core::{Clock, Moment, Mono, Offload, UnixMs};

/// The machine's clock. One thread wakes those who wait, every millisecond.
#[derive(Debug)]
pub(crate) struct RealClock {
    start: Instant,
    sleepers: Mutex<Vec<(Mono, oneshot::Sender<()>)>>,
}

impl RealClock {
    #[expect(clippy::disallowed_methods, reason = "these tests are about real processes")]
    pub(crate) fn new() -> Arc<RealClock> {
        let clock = Arc::new(RealClock { start: Instant::now(), sleepers: Mutex::default() });
        let ticking = Arc::downgrade(&clock);
        std::thread::spawn(move || {
            while let Some(clock) = ticking.upgrade() {
                clock.wake();
                drop(clock);
                pause(Duration::from_millis(1));
            }
        });
        clock
    }

    fn mono(&self) -> Mono {
        Mono(u64::try_from(self.start.elapsed().as_nanos()).expect("the machine gives what a test needs"))
    }

    fn wake(&self) {
        let now = self.mono();
        // Dropping the sender ends the wait. Those that nobody waits for any more go, too.
        self.sleepers
            .lock()
            .expect("the machine gives what a test needs")
            .retain(|(at, done)| *at > now && !done.is_canceled());
    }
}

impl Clock for RealClock {
    #[expect(clippy::disallowed_methods, reason = "these tests are about real processes")]
    fn now(&self) -> Moment {
        let wall = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .expect("the machine gives what a test needs");
        Moment {
            mono: self.mono(),
            wall: UnixMs(i64::try_from(wall.as_millis()).expect("the machine gives what a test needs")),
        }
    }

    fn sleep_until(&self, at: Mono) -> BoxFuture<'static, ()> {
        let (done, wait) = oneshot::channel();
        self.sleepers.lock().expect("the machine gives what a test needs").push((at, done));
        wait.map(|_| ()).boxed()
    }
}

/// Waits, for things that happen outside this process.
#[expect(clippy::disallowed_methods, reason = "these tests are about real processes")]
pub(crate) fn pause(time: Duration) {
    std::thread::sleep(time);
}

/// A few threads that run what would block.
#[derive(Debug)]
pub(crate) struct Pool(Mutex<mpsc::Sender<Box<dyn FnOnce() + Send>>>);

impl Pool {
    pub(crate) fn new(threads: usize) -> Arc<Pool> {
        let (jobs, queue) = mpsc::channel::<Box<dyn FnOnce() + Send>>();
        let queue = Arc::new(Mutex::new(queue));
        for _ in 0..threads {
            let queue = queue.clone();
            std::thread::spawn(move || {
                loop {
                    let job = queue.lock().expect("the machine gives what a test needs").recv();
                    match job {
                        Ok(job) => job(),
                        Err(_) => return,
                    }
                }
            });
        }
        Arc::new(Pool(Mutex::new(jobs)))
    }
}

impl Offload for Pool {
    fn run(&self, job: Box<dyn FnOnce() + Send>) {
        self.0
            .lock()
            .expect("the machine gives what a test needs")
            .send(job)
            .expect("the machine gives what a test needs");
    }
}

/// A folder of its own, removed at the end.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Folder {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name =
            format!("omniroute-stores-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("the machine gives what a test needs");
        Folder(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Seeded numbers.
#[derive(Debug)]
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}
