//! What is done with pictures, sound and video that a target cannot take, as the settings of a combo say.

use std::sync::Arc;

use omniroute_core::hub::MediaKind;
use omniroute_core::route::Need;

use crate::options::OptionReader;

/// What is done with media of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Bridge {
    /// Targets that take it are asked; if there is none and a describer is named, it is put into words. The default.
    #[default]
    Auto,
    /// It is always put into words.
    Describe,
    /// Only targets that take it are asked.
    Reroute,
    /// A request that has it is refused.
    Off,
}

const WORDS: [&str; 4] = ["auto", "describe", "reroute", "off"];
const BRIDGES: [Bridge; 4] = [Bridge::Auto, Bridge::Describe, Bridge::Reroute, Bridge::Off];

/// What is done with media, kind by kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MediaRules {
    /// Pictures.
    pub image: Bridge,
    /// Sound.
    pub audio: Bridge,
    /// Moving pictures.
    pub video: Bridge,
    /// Who puts them into words: `provider/model`, a combo or an `auto` name; none: nobody does.
    pub describer: Option<Arc<str>>,
    /// What nobody could describe is replaced by a note that says so. Default: no, the request fails.
    pub stub: bool,
}

impl MediaRules {
    pub(crate) fn read(reader: &mut OptionReader<'_>) -> MediaRules {
        let mut mode = |key| BRIDGES[reader.word(key, 0, &WORDS)];
        let (image, audio, video) = (mode("image"), mode("audio"), mode("video"));
        let describer = reader.text("describer").map(Arc::from);
        if describer.is_none() {
            for (key, mode) in [("image", image), ("audio", audio), ("video", video)] {
                if mode == Bridge::Describe {
                    reader.wrong(key, "is \"describe\", which needs a describer".to_owned());
                }
            }
        }
        MediaRules { image, audio, video, describer, stub: reader.flag("describer_stub", false) }
    }

    /// The kinds, with what a target must be able to do for each.
    pub(crate) fn kinds(&self) -> [(MediaKind, Need, Bridge); 3] {
        [
            (MediaKind::Image, Need::Vision, self.image),
            (MediaKind::Audio, Need::AudioIn, self.audio),
            (MediaKind::Video, Need::Video, self.video),
        ]
    }
}
