//! The complete example of the reference page is a file that loads and whose tests pass.

use super::*;

#[test]
fn the_example_of_the_page_loads() {
    let page = include_str!("../../../../../docs/src/filters.md");
    let start = page.split_once("```toml\nschema_version = 2\n").expect("the page has an example").1;
    let example = format!("schema_version = 2\n{}", start.split_once("```").expect("it ends").0);
    let loaded = load(FilterSource::User, FilterFormat::Toml, &example);
    assert_eq!(messages(&loaded), [""; 0]);
    assert!(loaded.warnings.is_empty(), "{:?}", loaded.warnings);
    assert_eq!(custom(&loaded.set), ["deploy-up"]);
    let report = crate::rtk::dsl::verify(&loaded.set, true);
    let own: Vec<_> = report.outcomes.iter().filter(|o| o.source == FilterSource::User).collect();
    assert_eq!((own.len(), own.iter().all(|o| o.passed)), (2, true));
}

/// Every key that the readers know is in the page.
#[test]
fn the_page_names_every_key() {
    let page = include_str!("../../../../../docs/src/filters.md");
    let sources = [
        include_str!("../toml.rs"),
        include_str!("../toml2.rs"),
        include_str!("../json.rs"),
        include_str!("../common.rs"),
    ];
    let calls = ["(reader, \"", "fields.get(\"", "fields, \"", "rule.get(\"", "table.get(\""];
    for source in sources {
        for call in calls {
            for rest in source.split(call).skip(1) {
                let key = rest.split_once('"').unwrap().0;
                let named = page.contains(&format!("`{key}`")) || page.contains(&format!("[{key}."));
                assert!(named, "{key} is not in the page");
            }
        }
    }
}
