//! Throughput of the condenser and of the scan for protected parts.
//!
//! `cargo bench -p omniroute-compress --bench caveman [-- --smoke]`. CPU time of one thread, the best of several runs.
#![expect(clippy::print_stdout, reason = "a benchmark prints its table")]

use std::hint::black_box;

use cpu_time::ThreadTime;
use omniroute_compress::caveman::{Condenser, Language, Level};
use omniroute_compress::protect;

/// A request as people write it, with everything that is protected in it.
const REQUEST: &str = "Hi there,

Could you please have a look at the importer? It has the ability to read files from the queue, but due to the fact that \
the queue is shared it is very slow at this point in time. We see about 40 files per second on a machine with 8 cores, \
and the log says `queue: lagging behind by 1200 ms` every few minutes. I think it started after version v2.4.1.

1. Open src/import/queue.rs:120 and check the loop in `drain_all`. It must not hold the lock while it writes to the disk.
2. If the file is larger than 16 MB, split it into parts prior to the upload. Never split a file in the middle of a line.
3. Basically, I would like you to add a test for each of the cases, but do not change the public names, e.g. MAX_PARTS.

```rust
fn drain_all(&self) -> usize {
    self.queue.lock().drain(..).count()
}
```

The owner said \"please keep the old format until the end of the year\", so the reader should accept both of them. See \
https://docs.example/import?version=2 for the format, and make use of the helper in tools/check.py. It is really important \
that nothing is lost in the event that the process stops. Thanks in advance!

";

const GERMAN: &str = "Hallo zusammen,

Könnten Sie bitte den Import prüfen? Der Dienst ist zum jetzigen Zeitpunkt sehr langsam, weil die Schlange geteilt wird. \
Wenn die Datei größer als 16 MB ist, muss sie geteilt werden, aber niemals mitten in einer Zeile. Bitte ändere `drain_all` \
nicht. Vielen Dank!

";

const JAPANESE: &str = "お疲れ様です。設定の変更を行ってください。ファイルが16MBを超える場合は分割することができます。行の途中では分割しないでください。ありがとうございます。

";

fn main() {
    let smoke = std::env::args().any(|a| a == "--smoke" || a == "--test");
    let (size, runs) = if smoke { (50_000, 1) } else { (4_000_000, 9) };
    println!("{:<44} {:>9} {:>9}", "what", "MB/s", "removed");
    let fill = |piece: &str| piece.repeat(size / piece.len() + 1);
    let request = fill(REQUEST);
    row("protected parts, English request", request.len(), runs, || {
        black_box(protect::spans(&request));
        None
    });
    for level in Level::ALL {
        condense(
            &format!("condense, English request, {}", level.name()),
            &request,
            runs,
            Condenser::new(level),
        );
    }
    condense(
        "condense, English request, full, no detection",
        &request,
        runs,
        Condenser::new(Level::Full).language(Language::En),
    );
    condense("condense, German, full", &fill(GERMAN), runs, Condenser::new(Level::Full));
    condense("condense, Japanese, full", &fill(JAPANESE), runs, Condenser::new(Level::Full));
    for (name, piece) in [("brackets", "(["), ("one letter", "a "), ("quotes", "\"'"), ("articles", "the a ")]
    {
        let text = fill(piece);
        row(&format!("protected parts, only {name}"), text.len(), runs, || {
            black_box(protect::spans(&text));
            None
        });
        condense(
            &format!("condense, only {name}, ultra"),
            &text,
            runs,
            Condenser::new(Level::Ultra).language(Language::En),
        );
    }
}

fn condense(name: &str, text: &str, runs: usize, condenser: Condenser) {
    row(name, text.len(), runs, || Some(black_box(condenser.condense(text)).text.len()));
}

fn row(name: &str, bytes: usize, runs: usize, mut work: impl FnMut() -> Option<usize>) {
    let (mut best, mut left) = (f64::MAX, None);
    for _ in 0..runs {
        let start = ThreadTime::now();
        left = work();
        best = best.min(start.elapsed().as_secs_f64());
    }
    let removed =
        left.map_or(String::new(), |left| format!("{:.1} %", 100.0 - 100.0 * left as f64 / bytes as f64));
    println!("{name:<44} {:>9.0} {removed:>9}", bytes as f64 / 1e6 / best);
}
