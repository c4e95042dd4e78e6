//! Tests of the whole way from a command to a class.

mod laws;
mod tables;

use super::class::{ResultClass, classify};

const PLAIN: &str = "some output\nof a program  \n";
const LOG: &str = "2026-01-15 10:00:00,195 INFO  [pool-1] com.acme.http - GET /\n\
2026-01-15 10:00:00,683 INFO  [pool-1] com.acme.worker - ok\n2026-01-15 10:00:01,394 INFO  a\n2026-01-15 10:00:02,064 DEBUG b\n\
2026-01-15 10:00:03,064 DEBUG b\n2026-01-15 10:00:04,064 WARN  c\n2026-01-15 10:00:05,064 ERROR d\n2026-01-15 10:00:06,064 DEBUG e\n";

fn class(command: &str, text: &str) -> ResultClass {
    classify(Some("bash"), Some(command), None, text)
}
