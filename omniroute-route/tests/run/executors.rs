//! The same request under every executor: futures that know none.

use futures::StreamExt;
use omniroute_route::{ReplyBody, Router};

use crate::script::*;

async fn whole_and_streamed(router: Router) -> (String, String) {
    let whole = router.chat(ask(false)).await.unwrap();
    let whole = String::from_utf8(whole.whole().unwrap().to_vec()).unwrap();
    let streamed = router.chat(ask(true)).await.unwrap();
    let ReplyBody::Stream(stream) = streamed.body else { panic!("a stream") };
    let streamed = stream.collect::<Vec<_>>().await.concat();
    (whole, String::from_utf8(streamed).unwrap())
}

fn router() -> Router {
    world().with("a/1", vec![unavailable(), unavailable()]).with("b/1", vec![]).build().router
}

fn check((whole, streamed): &(String, String)) {
    assert!(whole.contains("b/1") && streamed.contains("b/1"), "{whole} {streamed}");
}

#[test]
fn block_on_of_futures() {
    check(&futures::executor::block_on(whole_and_streamed(router())));
}

#[test]
fn tokio() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    check(&runtime.block_on(async { tokio::spawn(whole_and_streamed(router())).await.unwrap() }));
}

#[test]
fn smol() {
    check(&::smol::block_on(async { ::smol::spawn(whole_and_streamed(router())).await }));
}
