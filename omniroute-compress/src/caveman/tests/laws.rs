//! Laws over generated texts in every language: what a text says stays, twice is once, never longer.

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::super::Condenser;
use super::super::class::{Language, Level};
use super::facts;

/// Pieces that stand in texts of every language: numbers, names, code, paragraphs.
const COMMON: [&str; 5] = ["42", "max_size", "`rm x`", "/etc/hosts", "\n\n"];
const SPACED: [&str; 5] = ["5 ms", ".", ".\n", ",", "?"];
const UNSPACED: [&str; 3] = ["5ms", "。", "？"];

/// Pieces of sentences, each behind a `|`: politeness, filler, articles beside negations, conditions.
fn words(language: Language) -> &'static str {
    match language {
        Language::En => {
            "Please|please|could you please restart|I was wondering if you could explain|\
             the server|a test|not|never|do not delete|don't|only|unless|if|until|before|must|\
             should|may|very|really|quite|basically,|in order to|due to the fact that|\
             a large number of|prior to|in the event that|the|a|an|file|option|plan|-3.5|\
             `rm -rf x`|v1.2.3|the second|no|without|more than|at least|!|Thanks in advance!|\
             Furthermore,|There is a worker that leaks|Here is some context.|probably|\
             as you know,|\"please do the thing\"|is able to|\
             It is the same sentence about nothing new here."
        }
        Language::De => {
            "Bitte|bitte|Könnten Sie bitte den|Dienst|nicht|niemals|kein|nur|wenn|falls|bevor|\
             muss|darf|sehr|wirklich|sozusagen|eine große Anzahl von|zum jetzigen Zeitpunkt|ohne|\
             Danke!|Außerdem,|groß|in Bezug auf|mit Hilfe von|ehrlich gesagt,|„bitte nicht“"
        }
        Language::Es => {
            "Por favor|por favor|Podrías por favor revisar|el servidor|no|nunca|sin|solo|si|\
             cuando|antes|debe|puede|muy|realmente|básicamente|con el fin de|\
             debido al hecho de que|tiene la capacidad de|Gracias!|Además,|grande|con respecto a|\
             como sabes,|con anterioridad a"
        }
        Language::PtBr => {
            "Por favor|por favor|Você poderia por favor revisar|o servidor|não|nunca|sem|só|se|\
             quando|antes|deve|pode|realmente|basicamente|com o objetivo de|\
             devido ao fato de que|tem a capacidade de|Obrigado!|Além disso,|grande|\
             com relação a|na verdade,|anteriormente a"
        }
        Language::Fr => {
            "Svp|svp|Est-ce que vous pourriez relire|le serveur|ne|pas|jamais|sans|n'est|si|\
             quand|avant|doit|peut|très|vraiment|honnêtement|dans le but de|du fait que|\
             est en mesure de|Merci!|Par ailleurs,|grand|au sujet de|comme vous le savez,|\
             préalablement à|rien"
        }
        Language::Id => {
            "Tolong|tolong|Bisakah anda periksa|server|tidak|jangan|bukan|hanya|jika|sebelum|\
             harus|boleh|dapat|sangat|pada dasarnya|dengan tujuan untuk|karena fakta bahwa|\
             memiliki kemampuan untuk|Terima kasih!|Di samping itu,|besar|sehubungan dengan|\
             seperti anda tahu,|tanpa"
        }
        Language::Ja => {
            "お手数ですが、|設定を|変更していただけますか。|表は|とても|大きい|ない|ません|だけ|\
             しか|もし|場合|までに|必ず|することができます|ということです|、|\
             ありがとうございます。|さらに、|お疲れ様です。|を行ってください|の変更を行って|\
             に関しまし"
        }
        Language::Zh => {
            "请|请帮我|检查|日志|求|不|没有|别|只|仅|如果|直到|之前|必须|可以|极其|大|说实话，|\
             进行修改|通过使用|，|谢谢！|此外，|你好！|我想请你|与此同时|否则|在这种情况下"
        }
    }
}

fn pieces(language: Language) -> Vec<&'static str> {
    let own: &[&str] = if language.is_spaced() { &SPACED } else { &UNSPACED };
    COMMON.iter().chain(own).copied().chain(words(language).split('|')).collect()
}

/// Runs `check` on generated texts; the first complaint of it.
pub(super) fn search(
    language: Language,
    cases: u32,
    check: impl Fn(&str) -> Option<String>,
) -> Option<String> {
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 400, ..Config::default() };
    let seed = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config, seed);
    let glue = if language.is_spaced() { " " } else { "" };
    let texts =
        prop::collection::vec(prop::sample::select(pieces(language)), 1..24).prop_map(move |p| p.join(glue));
    let outcome = runner.run(&texts, |text| match check(&text) {
        Some(complaint) => Err(TestCaseError::fail(complaint)),
        None => Ok(()),
    });
    outcome.err().map(|e| e.to_string())
}

#[test]
fn what_a_text_says_stays_and_twice_is_once() {
    for language in Language::ALL {
        let count = std::cell::Cell::new(0_u32);
        for level in Level::ALL {
            let condenser = Condenser::new(level).language(language);
            let complaint = search(language, 500, |text| {
                let out = condenser.condense(text);
                let again = condenser.condense(&out.text);
                count.set(count.get() + u32::from(out.kept.is_none()));
                if again.text != out.text {
                    return Some(format!("twice: {:?} then {:?} then {:?}", text, out.text, again.text));
                }
                if out.text.len() > text.len() {
                    return Some(format!("longer: {text:?} became {:?}", out.text));
                }
                facts::changed(language, text, &out.text)
            });
            assert_eq!(complaint, None, "{language} {level:?}");
        }
        assert!(count.get() > 200, "{language}: the texts have something to change, {}", count.get());
    }
}

#[test]
fn protected_parts_are_the_same_bytes() {
    for language in Language::ALL {
        let condenser = Condenser::new(Level::Ultra).language(language);
        let complaint = search(language, 300, |text| {
            let out = condenser.condense(text);
            let gone = [
                "`rm -rf x`",
                "`rm x`",
                "/etc/hosts",
                "max_size",
                "v1.2.3",
                "\"please do the thing\"",
                "„bitte nicht“",
            ]
            .into_iter()
            .find(|part| text.matches(part).count() != out.text.matches(part).count());
            gone.map(|part| format!("{part} in {text:?} and {:?}", out.text))
        });
        assert_eq!(complaint, None, "{language}");
    }
}
