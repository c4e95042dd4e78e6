//! What a text says: its negations, numbers, names, conditions and questions. Knows nothing of rules and has word
//! lists of its own.

use super::super::class::Language;

/// Everything that must be equal before and after.
#[derive(Debug, PartialEq, Eq, Default)]
pub(super) struct Facts {
    /// In order, each with the word behind it that is no article.
    pub(super) negations: Vec<(String, String)>,
    /// Numbers and names, in order.
    pub(super) exact: Vec<String>,
    /// Sorted.
    pub(super) conditions: Vec<String>,
    pub(super) questions: usize,
}

struct Words {
    negations: &'static [&'static str],
    conditions: &'static [&'static str],
    /// Polite forms of a request, in which "could" and "if" are no condition.
    requests: &'static [&'static str],
    /// Longer and shorter ways to say the same condition.
    same: &'static [(&'static str, &'static str)],
    articles: &'static [&'static str],
}

fn words(language: Language) -> Words {
    match language {
        Language::En => Words {
            negations: &[
                "not",
                "no",
                "never",
                "none",
                "nothing",
                "nobody",
                "neither",
                "nor",
                "without",
                "cannot",
                "except",
                "only",
                "hardly",
                "barely",
                "unless",
                "don't",
                "doesn't",
                "isn't",
                "can't",
                "won't",
                "shouldn't",
                "didn't",
                "aren't",
                "mustn't",
                "wasn't",
                "haven't",
            ],
            conditions: &[
                "if",
                "unless",
                "until",
                "when",
                "while",
                "once",
                "before",
                "after",
                "must",
                "should",
                "may",
                "might",
                "can",
                "could",
                "shall",
                "would",
                "otherwise",
                "instead",
                "whether",
                "then",
                "first",
            ],
            requests: &[
                "i was wondering if you could",
                "i am wondering if you could",
                "i'm wondering if you could",
                "it would be great if you could",
                "it would be nice if you could",
                "i would appreciate it if you could",
                "i would be grateful if you could",
                "i would like you to",
                "i would love you to",
                "could you please",
                "could you kindly",
                "could you",
                "can you please",
                "can you kindly",
                "would you please",
                "would you kindly",
                "will you please",
            ],
            same: &[
                ("in the event that", "if"),
                ("in the case that", "if"),
                ("on the condition that", "if"),
                ("under the circumstances that", "if"),
                ("prior to", "before"),
                ("in advance of", "before"),
                ("subsequent to", "after"),
                ("following the completion of", "after"),
                ("until such time as", "until"),
                ("has the ability to", "can"),
                ("have the ability to", "can"),
                ("is able to", "can"),
                ("are able to", "can"),
                ("has the capability to", "can"),
                ("has the capacity to", "can"),
                ("at that point in time", "then"),
            ],
            articles: &["a", "an", "the", "very", "really", "quite", "extremely"],
        },
        Language::De => Words {
            negations: &[
                "nicht", "kein", "keine", "keinen", "nie", "niemals", "ohne", "nur", "weder", "noch", "kaum",
            ],
            conditions: &[
                "wenn", "falls", "sobald", "bevor", "nachdem", "muss", "soll", "darf", "kann", "sonst", "bis",
            ],
            requests: &[
                "könnten sie bitte",
                "könntest du bitte",
                "können sie bitte",
                "kannst du bitte",
                "würden sie bitte",
            ],
            same: &[],
            articles: &["sehr", "extrem"],
        },
        Language::Es => Words {
            negations: &[
                "no", "nunca", "sin", "ni", "nada", "solo", "sólo", "salvo", "excepto", "jamás", "tampoco",
            ],
            conditions: &[
                "si", "cuando", "hasta", "antes", "después", "debe", "puede", "mientras", "entonces",
            ],
            requests: &["podrías por favor", "podría por favor", "podrías"],
            same: &[
                ("con anterioridad a", "antes de"),
                ("tiene la capacidad de", "puede"),
                ("tiene la posibilidad de", "puede"),
                ("es capaz de", "puede"),
                ("está en condiciones de", "puede"),
            ],
            articles: &["muy", "realmente"],
        },
        Language::PtBr => Words {
            negations: &["não", "nunca", "sem", "nem", "nada", "só", "apenas", "salvo", "exceto", "jamais"],
            conditions: &["se", "quando", "até", "antes", "depois", "deve", "pode", "enquanto", "então"],
            requests: &["você poderia por favor", "você poderia", "poderia por favor", "você pode por favor"],
            same: &[
                ("anteriormente a", "antes de"),
                ("previamente a", "antes de"),
                ("tem a capacidade de", "pode"),
                ("é capaz de", "pode"),
                ("tem a possibilidade de", "pode"),
                ("está apto a", "pode"),
            ],
            articles: &["realmente", "extremamente"],
        },
        Language::Fr => Words {
            negations: &[
                "ne",
                "pas",
                "jamais",
                "sans",
                "ni",
                "rien",
                "aucun",
                "sauf",
                "seulement",
                "n'est",
                "n'a",
                "plus",
            ],
            conditions: &["si", "quand", "lorsque", "avant", "après", "doit", "peut", "puis", "sinon", "dès"],
            requests: &["est-ce que vous pourriez", "est-ce que tu pourrais"],
            same: &[
                ("préalablement à", "avant"),
                ("antérieurement à", "avant"),
                ("postérieurement à", "après"),
                ("à la suite de", "après"),
                ("est capable de", "peut"),
                ("est en mesure de", "peut"),
                ("a la capacité de", "peut"),
                ("a la possibilité de", "peut"),
            ],
            articles: &["très", "vraiment"],
        },
        Language::Id => Words {
            negations: &["tidak", "bukan", "belum", "jangan", "tanpa", "kecuali", "hanya", "cuma"],
            conditions: &[
                "jika", "kalau", "apabila", "asal", "sebelum", "setelah", "harus", "wajib", "boleh", "dapat",
            ],
            requests: &["dapatkah anda", "dapatkah kamu", "bolehkah anda"],
            same: &[
                ("memiliki kemampuan untuk", "dapat"),
                ("mempunyai kemampuan untuk", "dapat"),
                ("dalam hal terjadi", "jika"),
                ("dalam keadaan terjadi", "jika"),
            ],
            articles: &["sangat"],
        },
        Language::Ja => Words {
            negations: &["ない", "ません", "だけ", "しか", "禁止", "以外"],
            conditions: &["もし", "場合", "まで", "前に", "必ず", "べき", "なら"],
            requests: &[],
            same: &[],
            articles: &[],
        },
        Language::Zh => Words {
            negations: &["不", "没", "别", "勿", "只", "仅", "除非", "禁止", "未"],
            conditions: &["如果", "直到", "之前", "之后", "必须", "应该", "可以", "否则"],
            requests: &[],
            same: &[],
            articles: &[],
        },
    }
}

/// Reads what a text says.
pub(super) fn of(language: Language, text: &str) -> Facts {
    let words = words(language);
    let mut low = text.to_lowercase().replace('’', "'");
    for request in words.requests {
        low = without_request(&low, request);
    }
    for (long, short) in words.same {
        low = low.replace(long, short);
    }
    let mut facts = Facts { exact: exact(text), ..Facts::default() };
    facts.questions = text.chars().filter(|c| matches!(c, '?' | '？')).count();
    if language.is_spaced() {
        // The end of a sentence or of a quote is a word of its own: what follows is not negated.
        let ended: String = low
            .chars()
            .map(|c| {
                if matches!(c, '.' | '!' | '?' | '\n' | '"' | '`' | '„' | '“' | '”') {
                    " \u{b6} ".into()
                } else {
                    c.to_string()
                }
            })
            .collect();
        let part = |c: char| c.is_alphanumeric() || matches!(c, '\'' | '-' | '\u{b6}');
        let list: Vec<&str> = ended.split(|c| !part(c)).filter(|w| !w.is_empty()).collect();
        for (at, word) in list.iter().enumerate() {
            if words.negations.contains(word) {
                let next = list.iter().skip(at + 1).find(|w| !words.articles.contains(w));
                facts.negations.push(((*word).to_owned(), next.copied().unwrap_or("").to_owned()));
            }
            if words.conditions.contains(word) {
                facts.conditions.push((*word).to_owned());
            }
        }
    } else {
        let mut found: Vec<(usize, &str)> = Vec::new();
        for word in words.negations {
            found.extend(low.match_indices(word));
        }
        found.sort_unstable();
        facts.negations = found.into_iter().map(|(_, w)| (w.to_owned(), String::new())).collect();
        for word in words.conditions {
            facts.conditions.extend(low.matches(word).map(str::to_owned));
        }
    }
    facts.conditions.sort_unstable();
    facts
}

/// The text without a polite form where something is asked for behind it.
fn without_request(text: &str, request: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(request) {
        out.push_str(before);
        let asked = after.trim_start_matches(' ');
        let polite =
            ["please", "por favor", "bitte", "svp", "tolong"].iter().any(|word| asked.starts_with(word));
        let asks = !polite && asked.starts_with(char::is_alphabetic);
        out.push_str(if asks { " " } else { request });
        rest = after;
    }
    out + rest
}

/// Numbers and names: runs of ASCII without blanks that have a digit or a sign of a program.
fn exact(text: &str) -> Vec<String> {
    let inside =
        |c: char| c.is_ascii_graphic() && !matches!(c, ',' | ';' | '!' | '?' | '(' | ')' | '"' | '`');
    let runs = text.split(|c| !inside(c)).map(|run| run.trim_matches(['.', ':', '\'']));
    let telling = |run: &&str| {
        run.contains(|c: char| c.is_ascii_digit() || matches!(c, '_' | '/' | '=' | '$' | '#' | '@'))
    };
    runs.filter(telling).map(str::to_owned).collect()
}

/// What is wrong with `after` in place of `before`; none if nothing is.
pub(super) fn changed(language: Language, before: &str, after: &str) -> Option<String> {
    let (a, b) = (of(language, before), of(language, after));
    let pairs = [
        ("negations", format!("{:?}", a.negations), format!("{:?}", b.negations)),
        ("numbers and names", format!("{:?}", a.exact), format!("{:?}", b.exact)),
        ("conditions", format!("{:?}", a.conditions), format!("{:?}", b.conditions)),
        ("questions", a.questions.to_string(), b.questions.to_string()),
    ];
    let (what, was, is) = pairs.into_iter().find(|(_, was, is)| was != is)?;
    Some(format!("{what}: {was} became {is}\nbefore: {before}\nafter: {after}"))
}
