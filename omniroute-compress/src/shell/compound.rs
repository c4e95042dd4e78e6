//! Compound commands: opening and closing of groups, function definitions, `case` patterns, `[[ ]]` and `(( ))`.

use std::borrow::Cow;

use super::lex::{Closer, Frame, Lexer, MAX_DEPTH};
use super::nested;
use super::script::{Expands, Group, Segment, Stage, Word};

/// Longest `((…))` that is recognised: looking ahead stays cheap.
const MAX_ARITHMETIC: usize = 256;

impl Lexer<'_> {
    /// Opens a compound command; too deep, the rest of the text becomes one word.
    pub(super) fn open(&mut self, closer: Closer) {
        self.closed_group = None;
        if self.frames.len() >= MAX_DEPTH {
            self.rest();
            return;
        }
        let definition = std::mem::take(&mut self.definition);
        self.script.groups.push(Group { definition, ..Group::default() });
        let group = self.script.groups.len() - 1;
        self.push_stage(Stage::Group(group));
        self.frames.push(Frame { closer, group, pipeline: None });
    }

    pub(super) fn close(&mut self, closer: Closer) {
        self.end_pipeline();
        let Some(depth) = self.frames.iter().rposition(|frame| frame.closer == closer) else {
            self.script.certain = false;
            return;
        };
        self.script.certain &= depth + 1 == self.frames.len();
        self.closed_group = self.frames.get(depth).map(|frame| frame.group);
        self.frames.truncate(depth);
    }

    pub(super) fn open_paren(&mut self) {
        let arithmetic =
            self.peek(1) == Some(b'(') && (self.current.words.is_empty() || self.first_word() == Some("for"));
        if arithmetic {
            let window = self.text.len().min(self.at + MAX_ARITHMETIC);
            let end = nested::skip(self.text.as_bytes().get(..window).unwrap_or_default(), self.at);
            let inner = self.slice(self.at, end.at);
            if end.closed && inner.ends_with("))") && is_arithmetic(inner) {
                let text = Cow::Borrowed(inner);
                self.current.words.push(Word { text, quoted: false, expands: Expands::No });
                self.seek(end.at);
                return;
            }
            self.script.steps += end.at - self.at;
        }
        if self.current.words.is_empty() {
            self.seek(self.at + 1);
            self.open(Closer::Paren);
            return;
        }
        let bytes = self.text.as_bytes();
        let inner = bytes.get(self.at + 1..).unwrap_or_default();
        let blanks = inner.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        if inner.get(blanks) == Some(&b')')
            && (self.current.words.len() == 1 || self.first_word() == Some("function"))
        {
            self.current = Segment::default();
            self.definition = true;
            self.seek(self.at + blanks + 2);
        } else {
            self.rest();
        }
    }

    /// Skips one pattern of a `case`, up to its closing bracket.
    pub(super) fn case_pattern(&mut self) {
        if self.slice(self.at, self.at + 4) == "esac"
            && self.peek(4).is_none_or(|byte| !byte.is_ascii_alphanumeric())
        {
            self.pattern = false;
            self.seek(self.at + 4);
            self.close(Closer::Esac);
            return;
        }
        if self.peek(0) == Some(b'(') {
            self.seek(self.at + 1);
        }
        while let Some(byte) = self.peek(0) {
            match byte {
                b')' => {
                    self.seek(self.at + 1);
                    self.pattern = false;
                    return;
                }
                b'\'' | b'"' | b'`' | b'\\' | b'$' => {
                    self.word();
                    self.current.words.pop();
                }
                _ => self.seek(self.at + 1),
            }
        }
    }

    pub(super) fn last_is(&self, text: &str) -> bool {
        self.current.words.last().is_some_and(|word| !word.quoted && word.text == text)
    }

    pub(super) fn keyword(&mut self, word: &str) -> bool {
        let function = self.current.words.len() == 2 && self.first_word() == Some("function");
        if function && word == "{" {
            self.current = Segment::default();
            self.definition = true;
        }
        if !self.current.words.is_empty() {
            return false;
        }
        match word {
            "if" => self.open(Closer::Fi),
            "while" | "until" => self.open(Closer::Done),
            "{" => self.open(Closer::Brace),
            "for" | "select" => {
                self.open(Closer::Done);
                return false;
            }
            "then" | "do" | "else" | "elif" | "!" => self.closed_group = None,
            "fi" => self.close(Closer::Fi),
            "done" => self.close(Closer::Done),
            "esac" => self.close(Closer::Esac),
            "}" => self.close(Closer::Brace),
            "[[" => self.conditional(),
            _ => return false,
        }
        true
    }

    /// `[[ … ]]`: operators inside are no list operators.
    fn conditional(&mut self) {
        let bytes = self.text.as_bytes();
        let mut at = self.at;
        while let Some(&byte) = bytes.get(at) {
            match byte {
                b'\'' => at = nested::single(bytes, at).at,
                b'"' | b'`' => at = nested::skip(bytes, at).at,
                b'$' if matches!(bytes.get(at + 1), Some(b'(' | b'{')) => at = nested::skip(bytes, at).at,
                b'\\' => at += 2,
                b']' if bytes.get(at + 1) == Some(&b']')
                    && bytes.get(at - 1).is_some_and(u8::is_ascii_whitespace) =>
                {
                    let text = Cow::Borrowed("[[");
                    self.current.words.push(Word { text, quoted: false, expands: Expands::No });
                    self.seek(at + 2);
                    return;
                }
                _ => at += 1,
            }
        }
        self.rest();
    }
}

/// `((…))` that computes; a list of commands has a blank between two words.
fn is_arithmetic(inner: &str) -> bool {
    let mut words = inner.split_ascii_whitespace().map(|word| {
        let name = |byte: u8| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'"' | b'\'' | b'/' | b'-' | b'.')
        };
        (word.bytes().next().is_some_and(name), word.bytes().next_back().is_some_and(name))
    });
    let mut open = words.next().is_some_and(|word| word.1);
    words.all(|(starts, ends)| !(std::mem::replace(&mut open, ends) && starts))
}
