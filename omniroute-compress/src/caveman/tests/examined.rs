//! Sentences that were written to break the rules, in every language: what each of them says must still stand there.

use super::super::class::{Language, Level};
use super::super::{Condenser, RulePacks};

/// Sentences and the parts that must stay, at every level.
const STAYS: &[(Language, &str, &[&str])] = &[
    // Negations in capitals and between signs of emphasis, far ones, double ones.
    (Language::En, "The server was NOT very fast here.", &["NOT very fast"]),
    (Language::En, "The server was **not** very fast here.", &["**not** very fast"]),
    (Language::En, "The node did not, in my opinion, run very slowly there.", &["very slowly"]),
    (Language::En, "It isn't that we never really wanted it.", &["isn't", "never really wanted"]),
    (Language::En, "Nobody said that this runs extremely fast.", &["extremely fast"]),
    (Language::En, "Do not, unless asked, make use of the old pool.", &["Do not, unless asked,"]),
    (
        Language::En,
        "Restart all nodes except the first one, at most twice.",
        &["all nodes except the first one, at most twice"],
    ),
    (Language::En, "See no. 5 and clause no. 7 of the list.", &["no. 5", "no. 7"]),
    (
        Language::En,
        "We can't not answer; don't you ever delete a backup.",
        &["can't not answer; don't you ever delete"],
    ),
    // Words that are politeness elsewhere.
    (Language::En, "If you know, tell me the reason.", &["If you know,"]),
    (Language::En, "You have to be honest, and fast.", &["have to be honest,"]),
    (Language::En, "Do as you please.", &["as you please"]),
    (Language::En, "Answer the user honestly.", &["honestly"]),
    (Language::En, "Treat the users kindly.", &["kindly"]),
    (Language::En, "The program should print:\nHello.\nThen it stops.", &["Hello."]),
    (Language::En, "Write this line: thank you.", &["thank you"]),
    // Names and units.
    (Language::En, "Server a restarts when server b stops.", &["Server a restarts", "server b"]),
    (Language::En, "Run it twice a day and three times a week.", &["twice a day", "three times a week"]),
    (Language::En, "Is the set really sorted?", &["really sorted"]),
    (Language::En, "Check whether it runs really fast.", &["really fast"]),
    (
        Language::En,
        "We need totally ordered sets and truly random bytes.",
        &["totally ordered", "truly random"],
    ),
    (Language::En, "Wait for a majority of nodes.", &["majority of nodes"]),
    (Language::En, "Compute the derivative with respect to time.", &["with respect to"]),
    (
        Language::En,
        "Send the `no-cache` header, and a no-cache, no-store one.",
        &["`no-cache`", "a no-cache, no-store"],
    ),
    (
        Language::En,
        "Open C:\\Program Files\\the app\\old the data\\x.ini now.",
        &["C:\\Program Files\\the app\\old the data\\x.ini"],
    ),
    (
        Language::En,
        "Mail Please Hold <the.boss@example.org> about it.",
        &["Mail Please Hold <the.boss@example.org>"],
    ),
    (Language::En, "Use `a the b for the build.", &["`a the b"]),
    (
        Language::En,
        "| the key | a value |\n| --- | --- |\n| a | the b |",
        &["| the key | a value |", "| a | the b |"],
    ),
    (Language::En, "PLEASE DO NOT DELETE THE FILE.", &["PLEASE DO NOT DELETE THE FILE."]),
    (Language::De, "Ich habe noch eine Bitte.", &["eine Bitte"]),
    (Language::De, "Der Dienst war zu diesem Zeitpunkt offline.", &["zu diesem Zeitpunkt"]),
    (
        Language::De,
        "Die Werte sind quasi gleich, aber NICHT extrem genau.",
        &["quasi gleich", "NICHT extrem genau"],
    ),
    (Language::De, "Prüfe, ob der Wert wirklich stimmt.", &["wirklich stimmt"]),
    (
        Language::De,
        "Lösche nur die alten Dateien, außer der letzten, höchstens 5 GB.",
        &["nur die alten Dateien, außer der letzten, höchstens 5 GB"],
    ),
    (Language::Es, "Dime la verdad, por favor.", &["la verdad"]),
    (Language::Es, "El uso aumentó con respecto a ayer.", &["con respecto a ayer"]),
    (Language::Es, "Camina a lo largo de la pared.", &["a lo largo de la pared"]),
    (Language::Es, "Responde sinceramente.", &["sinceramente"]),
    (
        Language::Es,
        "No borres nada salvo los archivos viejos, a no ser que yo lo pida.",
        &["No borres nada salvo", "a no ser que"],
    ),
    (Language::Fr, "Le plat est composé essentiellement d'eau.", &["essentiellement"]),
    (Language::Fr, "Le serveur est en train de redémarrer.", &["est en train de redémarrer"]),
    (
        Language::Fr,
        "Ne supprime que les anciens fichiers, sauf le dernier.",
        &["Ne supprime que", "sauf le dernier"],
    ),
    (Language::Fr, "Le nœud redémarre de manière automatique.", &["automatiquement"]),
    (Language::PtBr, "Na verdade, o valor é outro.", &["Na verdade"]),
    (Language::PtBr, "O uso aumentou em relação a ontem.", &["em relação a ontem"]),
    (
        Language::PtBr,
        "Não apague nada exceto os logs, a menos que eu peça.",
        &["Não apague nada exceto", "a menos que"],
    ),
    (Language::Id, "Bicara terus terang.", &["terus terang"]),
    (Language::Id, "Cetak hasil akhir dan hasil antara.", &["hasil akhir"]),
    (
        Language::Id,
        "Jangan hapus berkas kecuali yang lama, asal disetujui.",
        &["Jangan hapus berkas kecuali", "asal disetujui"],
    ),
    (Language::Ja, "来週リリースするということです。", &["ということです"]),
    (Language::Ja, "これは本当に必要ですか？", &["本当に必要"]),
    (Language::Ja, "最終的な結果だけを出力しないでください。", &["最終的な結果だけ", "しないで"]),
    (Language::Zh, "程序异常地退出。", &["异常地退出"]),
    (Language::Zh, "我希望你们检查日志。", &["你们检查日志"]),
    (Language::Zh, "请帮我们检查日志。", &["我们检查日志"]),
    (Language::Zh, "麻烦你了。", &["麻烦你了"]),
    (Language::Zh, "除非我要求，请不要删除文件，最多保留3个。", &["除非我要求，请不要删除文件，最多保留3个"]),
];

/// What is missing of what must stay, with a condenser.
fn missing(make: impl Fn(Level, Language) -> Condenser) -> Vec<String> {
    let mut out = Vec::new();
    for (language, text, parts) in STAYS {
        for level in Level::ALL {
            let got = make(level, *language).condense(text).text.into_owned();
            for part in parts.iter().filter(|part| !got.contains(**part)) {
                out.push(format!("{language} {level:?}: {part:?} is not in {got:?}"));
            }
        }
    }
    out
}

#[test]
fn what_must_stay_stays() {
    let wrong = missing(|level, language| Condenser::new(level).language(language));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The same check sees a pack whose rules take such words.
#[test]
fn the_check_sees_careless_rules() {
    let rules = [
        ("en", "as you please", "Do it as you please today."),
        ("de", "wirklich stimmt", "Es heißt wirklich stimmt heute."),
        ("zh", "异常地", "它异常地退出。"),
    ];
    for (language, phrase, example) in rules {
        let text = format!(
            "language = \"{language}\"\n[[rules]]\nid = \"careless\"\nclass = \"filler\"\nlevel = \"lite\"\nfrom = \"{phrase}\"\nin = \"{example}\"\nout = \"{}\"\nkeep = [\"x\"]\n",
            if language == "zh" {
                example.replace(phrase, "")
            } else {
                example.replace(&format!(" {phrase}"), "")
            }
        );
        let packs = std::sync::Arc::new(RulePacks::of([("careless.toml", text)]).unwrap());
        let wrong =
            missing(|level, language| Condenser::new(level).language(language).rule_packs(packs.clone()));
        assert!(!wrong.is_empty(), "{phrase}");
    }
}

#[test]
fn files_of_rules_are_refused_with_file_line_key_and_rule() {
    let good = "language = \"en\"\n\n[[rules]]\nid = \"mine\"\nclass = \"filler\"\nlevel = \"lite\"\nfrom = \"so to say it here\"\nin = \"It is so to say it here done.\"\nout = \"It is done.\"\nkeep = [\"x\"]\ntakes = [\"so\"]\n";
    let json = "{\n \"language\": \"en\",\n \"rules\": [\n  {\"id\": \"mine\", \"class\": \"filler\", \"level\": \"lite\",\n   \"from\": \"as we say here\", \"in\": \"It is as we say here done.\", \"out\": \"It is done.\",\n   \"keep\": [\"x\"]}\n ]\n}";
    for text in [good, json] {
        let packs = RulePacks::of([("own", text)]).unwrap();
        let out = Condenser::new(Level::Lite).language(Language::En).rule_packs(packs);
        let out = out.condense("The node is as we say here so to say it here done. Please go on with it.");
        assert!(out.rules.contains(&("own-rule", 1)), "{:?}", out.rules);
    }
    for (text, message) in [
        (good.replace("level = \"lite\"\n", ""), "own: line 3: rule \"mine\": missing field `level`"),
        (
            good.replace("level = \"lite\"", "level = 3"),
            "own: line 6: rule \"mine\": key \"level\": invalid type: integer `3`, expected a string",
        ),
        (good.replace("level", "levle"), "own: line 6: rule \"mine\": unknown field `levle`"),
        (good.replace("mine", "please"), "own: line 3: rule \"please\": the id is empty or used twice"),
        (
            good.replace("is done.\"\nkeep", "was done.\"\nkeep"),
            "own: line 3: rule \"mine\": \"in\": \"It is so to say it here done.\" became \"It is done.\", not \"It was done.\"",
        ),
        (
            good.replace("[\"x\"]", "[\"So to say it here it works.\"]"),
            "own: line 3: rule \"mine\": \"keep\": \"So to say it here it works.\" should stay and became \"it works.\"",
        ),
        (
            good.replace("It is so to say it here done.", "It is done."),
            "own: line 3: rule \"mine\": \"in\": the rule leaves \"It is done.\" as it is",
        ),
        (good.replace("\ntakes = [\"so\"]", ""), "has the kept words [\"so\"], it says []"),
        (good.replace("\"en\"", "\"xx\""), "own: line 1: key \"language\": \"xx\" has no pack"),
        (good.replace("[[rules]]", "[[rules]"), "own: line 3: file: "),
        (
            json.replace("\"lite\"", "3"),
            "own: line 4: rule \"mine\": key \"level\": invalid type: integer `3`, expected a string",
        ),
        (json.replace("\"from\"", "\"form\""), "own: line 5: rule \"mine\": unknown field `form`"),
        (json.replace("]}\n ]", "]}\n "), "own: line 8: file: "),
    ] {
        let error = RulePacks::of([("own", &text)]).unwrap_err().to_string();
        assert!(error.contains(message), "{message:?} is not in {error:?}");
    }
    // Every file is looked at, and one bad rule refuses its file as a whole.
    let error = RulePacks::of([("a", "language = 1"), ("b", "language = 2")]).unwrap_err();
    assert_eq!(error.iter().count(), 2, "{error}");
}
