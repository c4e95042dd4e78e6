//! Media in words for targets that cannot take it.

use std::time::Duration;

use omniroute_core::FailureKind as K;
use omniroute_core::route::RouteErrorKind;
use omniroute_core::wire::{self, Wire};
use omniroute_core::{ChatRequest, Principal, Scope};
use omniroute_route::{BuildError, Role, RouteReceipt};

use crate::script::*;

const PICTURE: &str = "iVBORw0KGgoAAAANSUhEUg";

/// `a/1` is a step and blind, `see/1` is none and sees.
fn plan(see: Vec<Step>) -> Plan {
    let plan = world().seeing("see").with("a/1", vec![]).with("see/1", see);
    plan.steps(|steps| steps.truncate(1)).text("describer", "see/m")
}

fn picture(turns: usize, stream: bool) -> ChatRequest {
    let first = format!(
        r#"{{"role":"user","content":[{{"type":"text","text":"what colour is it"}},{{"type":"image_url","image_url":{{"url":"data:image/png;base64,{PICTURE}"}}}}]}}"#
    );
    let later: String = (1..turns)
        .map(|n| {
            format!(r#",{{"role":"assistant","content":"red"}},{{"role":"user","content":"and turn {n}"}}"#)
        })
        .collect();
    let body = format!(r#"{{"model":"daily","stream":{stream},"messages":[{first}{later}]}}"#);
    ChatRequest::parse(wire::OPENAI_CHAT, body).unwrap()
}

fn roles(receipt: &RouteReceipt) -> Vec<(Role, &str)> {
    receipt.attempts.iter().map(|attempt| (attempt.role, attempt.key.trim_end_matches("/m"))).collect()
}

fn body(world: &World, name: &str, call: usize) -> String {
    world.of(name).seen.lock().unwrap()[call].body.clone()
}

#[test]
fn a_blind_target_gets_the_words_of_one_that_sees() {
    for stream in [false, true] {
        let world = plan(vec![]).build();
        let (text, receipt) = world.said(picture(1, stream));
        assert!(text.contains("a/1"), "{text}");
        assert_eq!(roles(&receipt), [(Role::Describe, "see/1"), (Role::Answer, "a/1")]);
        let bridged: Vec<_> = receipt.bridged.iter().map(|b| (b.kind, b.parts, b.model.as_str())).collect();
        assert_eq!(bridged, [("image", 1, "see/m")]);
        let (sent, asked) = (body(&world, "a/1", 0), body(&world, "see/1", 0));
        assert!(sent.contains("[Image 1]: see/1") && !sent.contains(PICTURE), "{sent}");
        assert!(asked.contains(PICTURE) && asked.contains("what colour is it"), "{asked}");
        let told = serde_json::to_string(&receipt).unwrap();
        assert!(!told.contains("colour") && !told.contains(PICTURE), "no text in receipts: {told}");
        world.at_rest();
    }
}

#[test]
fn the_same_picture_is_described_once_and_sent_the_same_way_again() {
    let world = plan(vec![]).build();
    for turns in 1..4 {
        assert!(world.said(picture(turns, false)).0.contains("a/1"));
    }
    assert_eq!((world.of("see/1").calls(), world.of("a/1").calls()), (1, 3));
    let start = |call| {
        let body = body(&world, "a/1", call);
        let (start, _) = body.split_once("see/1").unwrap();
        start.split_once("\"messages\"").unwrap().1.to_owned()
    };
    assert_eq!(start(0), start(2), "later words change nothing about it");
    // Nobody else is told what a picture of somebody else shows, and nothing is kept for ever.
    world.said(picture(1, false).with_principal(Principal::new("other")));
    assert_eq!(world.of("see/1").calls(), 2);
    world.clock.advance(Duration::from_secs(3_601));
    world.said(picture(1, false));
    assert_eq!(world.of("see/1").calls(), 3);
}

#[test]
fn who_sees_is_asked_first_and_a_blind_one_when_nobody_who_sees_may_be_used() {
    let both = |plan: Plan| plan.seeing("b").with("b/1", vec![unavailable(), unavailable()]);
    let world = both(plan(vec![])).build();
    let (_, receipt) = world.said(picture(1, false));
    assert_eq!(roles(&receipt)[0], (Role::Answer, "b/1"), "no description as long as somebody sees");
    assert!(receipt.bridged.is_empty() && body(&world, "b/1", 0).contains(PICTURE));
    // It rests now.
    let (text, receipt) = world.said(picture(1, false));
    assert!(text.contains("a/1") && !receipt.bridged.is_empty(), "{text} {receipt:?}");
    // The other words.
    let (text, receipt) = both(plan(vec![])).text("image", "describe").build().said(picture(1, false));
    assert!(text.contains("a/1") && receipt.bridged.len() == 1, "{text}");
    let never = |word: &str| plan(vec![]).text("image", word).build().chat(picture(1, false)).unwrap_err();
    let (reroute, off) = (never("reroute"), never("off"));
    assert_eq!((reroute.status, reroute.code.as_str()), (400, RouteErrorKind::CapabilityMismatch.code()));
    assert_eq!((off.status, off.code.as_str()), (400, "capability_mismatch"));
    assert!(off.message.contains("takes no image"), "{}", off.message);
}

#[test]
fn what_nobody_describes_is_an_error_or_a_note() {
    let broken = || Step::Fail(http(K::InvalidRequest, Scope::Request, 400));
    let world = plan(vec![broken(), broken()]).build();
    let error = world.chat(picture(1, false)).unwrap_err();
    assert_eq!((error.status, error.code.as_str()), (400, "media_not_described"));
    assert!(error.message.contains("Image 1") && error.message.contains("see/m"), "{}", error.message);
    assert_eq!(world.of("a/1").calls(), 0, "an agent that believes it saw a picture is worse than an error");
    let world = plan(vec![broken(), broken()]).flag("describer_stub", true).build();
    let (text, receipt) = world.said(picture(1, false));
    assert!(text.contains("a/1") && receipt.notes.contains(&"media_not_described"), "{text}");
    assert!(body(&world, "a/1", 0).contains("[Image 1]: (unavailable"));
    // A describer that is blind itself has none of its own.
    let blind = crate::script::world().with("a/1", vec![]).text("describer", "a/m").build();
    let error = blind.chat(picture(1, false)).unwrap_err();
    assert_eq!((error.status, error.code.as_str()), (400, "media_not_described"));
    assert!(blind.of("a/1").calls() == 0 && error.message.contains("capability:vision"), "{}", error.message);
}

fn result_with_picture(wire: Wire) -> ChatRequest {
    let body = if wire == wire::ANTHROPIC {
        format!(
            r#"{{"model":"daily","max_tokens":9,"tools":[{{"name":"shot","input_schema":{{"type":"object"}}}}],"messages":[{{"role":"user","content":"look"}},{{"role":"assistant","content":[{{"type":"tool_use","id":"t1","name":"shot","input":{{}}}}]}},{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t1","content":[{{"type":"text","text":"here"}},{{"type":"image","source":{{"type":"base64","media_type":"image/png","data":"{PICTURE}"}},"cache_control":{{"type":"ephemeral"}}}}]}}]}}]}}"#
        )
    } else if wire == wire::OPENAI_RESPONSES {
        format!(
            r#"{{"model":"daily","input":[{{"role":"user","content":[{{"type":"input_text","text":"look"}},{{"type":"input_image","image_url":"data:image/png;base64,{PICTURE}"}}]}}]}}"#
        )
    } else {
        format!(
            r#"{{"contents":[{{"role":"user","parts":[{{"text":"look"}},{{"inlineData":{{"mimeType":"image/png","data":"{PICTURE}"}}}}]}}]}}"#
        )
    };
    let request = ChatRequest::parse(wire, body).unwrap();
    if wire == wire::GEMINI { request.with_address("daily".to_owned(), false) } else { request }
}

#[test]
fn pictures_in_results_and_on_every_wire() {
    for wire in [wire::ANTHROPIC, wire::OPENAI_RESPONSES, wire::GEMINI] {
        let world = plan(vec![]).build();
        let (text, receipt) = world.said(result_with_picture(wire));
        assert_eq!(roles(&receipt).len(), 2, "{wire:?} {text}");
        let (sent, asked) = (body(&world, "a/1", 0), body(&world, "see/1", 0));
        assert!(sent.contains("[Image 1]: see/1") && !sent.contains(PICTURE), "{wire:?} {sent}");
        assert!(asked.contains(PICTURE) && asked.contains("look"), "{wire:?} {asked}");
        assert!(!asked.contains("tool"), "nothing but the picture is shown: {asked}");
    }
}

fn parts(parts: &str) -> ChatRequest {
    let body = format!(r#"{{"model":"daily","messages":[{{"role":"user","content":[{parts}]}}]}}"#);
    ChatRequest::parse(wire::OPENAI_CHAT, body).unwrap()
}

#[test]
fn sound_is_put_into_words_too_and_each_kind_has_its_own_numbers() {
    let sound = r#"{"type":"input_audio","input_audio":{"data":"UklGRg==","format":"wav"}}"#;
    let image = format!(r#"{{"type":"image_url","image_url":{{"url":"data:image/png;base64,{PICTURE}"}}}}"#);
    let other = image.replace(PICTURE, "R0lGODlhAQABAAAAACw=");
    let world = plan(vec![]).build();
    let (text, receipt) = world.said(parts(&[sound, &image, &other].join(",")));
    assert!(text.contains("a/1"), "{text}");
    let bridged: Vec<_> = receipt.bridged.iter().map(|b| (b.kind, b.parts)).collect();
    assert_eq!(bridged, [("audio", 1), ("image", 2)]);
    let sent = body(&world, "a/1", 0);
    for words in ["[Audio 1]: see/1", "[Image 1]: see/1", "[Image 2]: see/1"] {
        assert!(sent.contains(words), "{words}: {sent}");
    }
    // Its own setting, and not that of pictures.
    let world = plan(vec![]).text("audio", "off").build();
    assert_eq!(world.chat(parts(sound)).unwrap_err().code, "capability_mismatch");
    assert!(world.said(parts(&image)).0.contains("a/1"));
}

#[test]
fn a_film_is_described_by_who_can_be_sent_one() {
    let said = r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"a door opens"}]},"finishReason":"STOP"}]}"#;
    let see = |wire, steps| {
        let world = world().seeing("see").with("a/1", vec![]).speaking("see/1", wire, 100_000, steps);
        world.steps(|steps| steps.truncate(1)).text("describer", "see/m").build()
    };
    let film = || {
        let body = r#"{"contents":[{"role":"user","parts":[{"text":"what happens"},{"inlineData":{"mimeType":"video/mp4","data":"AAAAIGZ0eXA="}}]}]}"#;
        ChatRequest::parse(wire::GEMINI, body).unwrap().with_address("daily".to_owned(), false)
    };
    let world = see(wire::GEMINI, vec![Step::Whole(said.to_owned())]);
    let (text, receipt) = world.said(film());
    assert!(text.contains("a/1") && receipt.bridged[0].kind == "video", "{text}");
    assert!(body(&world, "a/1", 0).contains("[Video 1]: a door opens"));
    // A wire that has no films says so instead of sending less.
    let error = see(wire::OPENAI_CHAT, vec![]).chat(film()).unwrap_err();
    assert_eq!(error.code, "media_not_described");
}

#[test]
fn more_than_can_be_described_is_refused_with_the_limit() {
    let image =
        |n: usize| format!(r#"{{"type":"image_url","image_url":{{"url":"https://x.example/{n}.png"}}}}"#);
    let world = plan(vec![]).build();
    let of = |count: usize| parts(&(0..count).map(image).collect::<Vec<_>>().join(","));
    let error = world.chat(of(21)).unwrap_err();
    assert_eq!((error.status, error.code.as_str()), (400, "capability_mismatch"));
    assert!(error.message.contains("21") && error.message.contains("20"), "{}", error.message);
    assert_eq!(world.of("see/1").calls(), 0);
    let (text, receipt) = world.said(of(20));
    assert!(text.contains("a/1") && receipt.bridged[0].parts == 20, "{text}");
    assert_eq!(world.of("see/1").calls(), 20, "addresses go to whoever describes, nobody here fetches them");
}

#[test]
fn explaining_tells_what_happens_and_asks_nobody() {
    let world = plan(vec![]).build();
    let explained = world.router.explain(&picture(1, false)).unwrap();
    assert_eq!(explained.picks.len(), 1);
    assert_eq!((world.of("see/1").calls(), world.of("a/1").calls()), (0, 0));
}

#[test]
fn settings_are_checked_when_they_are_read() {
    let wrong = |change: fn(Plan) -> Plan| {
        let BuildError(errors) = change(plan(vec![])).try_build().unwrap_err();
        errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    };
    assert_eq!(
        wrong(|plan| plan.text("describer", "sea/m")),
        "combo.daily.describer is \"sea/m\", which no configured provider has; did you mean provider \"see\""
    );
    assert_eq!(
        wrong(|plan| plan.text("image", "blind")),
        "combo.daily.image is \"blind\", allowed is one of auto, describe, reroute, off"
    );
    assert_eq!(
        wrong(|plan| plan.without("describer").text("audio", "describe")),
        "combo.daily.audio is \"describe\", which needs a describer"
    );
}

#[test]
fn dropped_while_it_is_described_nothing_stays_behind() {
    let world = plan(vec![Step::Hang]).build();
    {
        let mut chat = Box::pin(world.router.chat(picture(1, false)));
        for _ in 0..5 {
            let waker = std::task::Waker::noop();
            let _pending = chat.as_mut().poll(&mut std::task::Context::from_waker(waker));
        }
        assert_eq!(world.of("see/1").calls(), 1);
    }
    world.at_rest();
    let (text, _) = world.said(picture(1, false));
    assert!(text.contains("a/1"), "{text}");
}
