//! Sentences in which careless rules change the meaning, and sentences whose short form is known.

use super::super::class::{Language, Level};
use super::super::{Condenser, detect};

#[test]
fn these_stay_as_they_are_at_every_level() {
    for text in [
        "Are you sure that this is right?",
        "We can not deploy on Friday.",
        "This is probably safe, but possibly it breaks.",
        "run plan a before plan b",
        "letter a in option a",
        "What kind of error is it?",
        "restart for every request",
        "`git status`\n    indented",
        "However, do not do it.",
        "You should keep it.",
        "It is important to keep it.",
        "More or less 5 of them.",
        "Can you read images?",
        "Could you not do that?",
        "Only the first one, not the last.",
        "I think it just works again.",
        "Make sure it stays.",
        "Do not forget it.",
        "It is only a few, at most 3.",
        "It is not\nreally what we want here.",
        "That is not `a.b` very large.",
    ] {
        for level in Level::ALL {
            let out = Condenser::new(level).language(Language::En).condense(text);
            assert_eq!(out.text, text, "{level:?}");
        }
    }
}

#[test]
fn short_forms() {
    let cases = [
        (
            Language::En,
            "Hi there,\n\nCould you please explain how the parser works? I would like you to add a test in order to cover it. Thanks in advance!",
            "explain how the parser works? add a test to cover it.",
        ),
        (Language::De, "Hallo,\n\nBitte prüfe den Dienst. Danke!", "prüfe den Dienst."),
        (Language::Es, "Hola,\n\nRevisa el módulo, por favor. Gracias!", "Revisa el módulo."),
        (Language::PtBr, "Olá,\n\nRevise o módulo, por favor. Obrigado!", "Revise o módulo."),
        (Language::Fr, "Bonjour,\n\nRelisez le module. Merci!", "Relisez le module."),
        (Language::Id, "Halo,\n\nTolong periksa modul itu. Terima kasih!", "periksa modul itu."),
        (Language::Ja, "お疲れ様です。設定を変更することができます。", "設定を変更できます。"),
        (Language::Zh, "你好！请检查日志。谢谢！", "检查日志。"),
    ];
    for (language, before, after) in cases {
        let out = Condenser::new(Level::Lite).language(language).condense(before);
        assert_eq!(out.text.trim(), after, "{language}");
    }
}

#[test]
fn languages_are_found_or_left() {
    for (text, language) in [
        ("Please open the file and check that it is not empty for us.", Some(Language::En)),
        ("Die Datei ist nicht da und das ist mir neu.", Some(Language::De)),
        ("El archivo no está en la carpeta, pero los datos sí.", Some(Language::Es)),
        ("O arquivo não está na pasta, mas os dados são novos e você pode ver.", Some(Language::PtBr)),
        ("Le fichier n'est pas dans le dossier, mais les données sont là.", Some(Language::Fr)),
        ("Berkas itu tidak ada di folder dan kami harus mencari yang baru.", Some(Language::Id)),
        ("ファイルが見つかりません。設定を確認してください。", Some(Language::Ja)),
        ("文件不在目录里，请检查设置。", Some(Language::Zh)),
        ("Файл не найден в папке и мы не знаем почему.", None),
        ("파일을 찾을 수 없습니다. 설정을 확인하십시오.", None),
        ("ok", None),
        ("please", None),
        ("", None),
    ] {
        assert_eq!(detect(text), language, "{text}");
        if language.is_none() {
            let out = Condenser::new(Level::Ultra).condense(text);
            assert_eq!(out.text, text);
        }
    }
}

#[test]
fn each_paragraph_has_its_own_language() {
    let text = "Please open the file in order to check that it is there for us.\n\nBitte öffne die Datei und prüfe, ob das so ist. Danke!";
    let out = Condenser::new(Level::Lite).condense(text);
    assert_eq!(
        out.text,
        "open the file to check that it is there for us.\n\nöffne die Datei und prüfe, ob das so ist."
    );
    assert_eq!(out.rules, [("bitte", 1), ("danke", 1), ("in-order-to", 1), ("please", 1)]);
}

#[test]
fn classes_can_be_left_out() {
    use super::super::class::Class;
    let text = "Please open the file in order to check it, please.";
    let plain = Condenser::new(Level::Full).language(Language::En);
    assert_eq!(plain.condense(text).text, "open file to check it.");
    assert_eq!(plain.clone().without(Class::Article).condense(text).text, "open the file to check it.");
    assert_eq!(
        plain.clone().without(Class::Redundancy).without(Class::Pleasantry).condense(text).text,
        "Please open file in order to check it, please."
    );
}

#[test]
fn a_message_never_becomes_empty() {
    let out = Condenser::new(Level::Ultra).language(Language::En).condense("Thank you!");
    assert_eq!((out.text.as_ref(), out.kept), ("Thank you!", Some("would_be_empty")));
}

#[test]
fn sentences_said_twice_are_said_once_at_ultra() {
    let text = "Rename old tables in every schema we keep around here. Go on. Look at old tables and their columns with care and patience. Look at old tables and their columns with care and patience.";
    let ultra = Condenser::new(Level::Ultra).language(Language::En).condense(text);
    assert_eq!(ultra.text.matches("Look at old").count(), 1, "{}", ultra.text);
    let full = Condenser::new(Level::Full).language(Language::En).condense(text);
    assert_eq!(full.text.matches("Look at old").count(), 2);
    // One with a number or a negation is said as often as it was.
    let text = "Do not look at old tables and their columns. Do not look at old tables and their columns.";
    assert_eq!(Condenser::new(Level::Ultra).language(Language::En).condense(text).text, text);
}

#[test]
fn long_runs_come_back() {
    for piece in
        ["a ", "the ", "please ", "(", "in order ", "not ", "please, ", "the the file ", "very very "]
    {
        let text = piece.repeat((1 << 20) / piece.len());
        let out = Condenser::new(Level::Ultra).language(Language::En).condense(&text);
        assert!(out.text.len() <= text.len());
    }
}
