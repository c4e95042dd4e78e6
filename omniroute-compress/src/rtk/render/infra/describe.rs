//! `kubectl describe`: the padding behind labels goes, so do fields that every object has and whole documents in
//! annotations. Warnings stay whole, normal events become a count.

use crate::rtk::kit::{Draft, Level, Output, Verdict, What};

/// Longest annotation that is shown.
const MAX_ANNOTATION: usize = 120;

/// Whether a line of a section says nothing an agent acts on: what the cluster gives every object, and documents
/// that tools keep in annotations. What somebody chose stays: it may be why a pod is not scheduled.
fn is_usual(section: &str, line: &str) -> bool {
    let of = |name: &str| section.starts_with(name).then(|| line.strip_prefix(name).unwrap_or(line).trim());
    if let Some(value) = of("Annotations:") {
        return value == "<none>" || value.len() > MAX_ANNOTATION || value.starts_with(['{', '[', '}', ']']);
    }
    if let Some(value) = of("Tolerations:") {
        return value == "<none>" || value.starts_with("node.kubernetes.io/");
    }
    if let Some(value) = of("Node-Selectors:") {
        return value == "<none>";
    }
    section.starts_with("QoS Class:") || section.starts_with("Managed Fields:")
}

/// One or several described objects.
pub(crate) fn render(out: &Output<'_>, draft: &mut Draft) -> Verdict {
    let labels = out.lines.iter().filter(|l| label(l).is_some()).count();
    let named = out.lines.iter().any(|l| l.starts_with("Name:  "));
    if !named || labels * 2 < out.len() / 2 {
        return Verdict::NotMine;
    }
    if out.level == Level::Minimal {
        return Verdict::Done;
    }
    let mut section = "";
    for i in 0..out.len() {
        let line = out.line(i);
        if !line.starts_with(' ') {
            section = line;
        }
        let usual = !line.trim().is_empty() && is_usual(section, line);
        let normal = section.starts_with("Events:") && line.trim_start().starts_with("Normal ");
        if usual || normal {
            draft.drop(i, What::Lines);
        } else if section.starts_with("Events:") && line.trim_start().starts_with("---- ") {
            draft.noise(i);
        } else if line.contains("  ") {
            squeeze(i, line, draft);
        }
    }
    Verdict::Done
}

/// `Key:` at the start, indented or not.
fn label(line: &str) -> Option<usize> {
    let text = line.trim_start();
    let at = text.find(':')?;
    let key = text.get(..at)?;
    let ok = !key.is_empty() && key.len() < 40 && key.starts_with(|c: char| c.is_ascii_alphanumeric());
    ok.then_some(line.len() - text.len() + at + 1)
}

/// Indentation halved, one blank between fields; two where a field holds blanks.
fn squeeze(i: usize, line: &str, draft: &mut Draft) {
    let text = line.trim();
    let indent = (line.len() - line.trim_start().len()) / 2;
    draft.cover(i);
    draft.insert_with(i, |into| {
        (0..indent.min(8)).for_each(|_| into.push(' '));
        for (n, field) in text.split("  ").map(str::trim).filter(|f| !f.is_empty()).enumerate() {
            if n > 0 {
                into.push(' ');
            }
            into.push_str(field);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtk::kit::assemble;

    #[test]
    fn warnings_and_states_stay() {
        let text = "Name:             web\nNamespace:        default\nAnnotations:      a/b: c\n                  d/e: f\nStatus:           Running\nContainers:\n  app:\n    State:          Waiting\n      Reason:       CrashLoopBackOff\nEvents:\n  Type     Reason    Age  From     Message\n  ----     ------    ---  ----     -------\n  Normal   Pulled    3m   kubelet  Container image is there\n  Normal   Created   3m   kubelet  Created container\n  Warning  BackOff   1m   kubelet  Back-off restarting failed container\n";
        let out = Output::new(text, Level::Standard);
        let mut draft = Draft::new(out.len());
        assert_eq!(render(&out, &mut draft), Verdict::Done);
        let shown = assemble(&out, &mut draft, &mut || None).text;
        assert_eq!(
            shown,
            "Name: web\nNamespace: default\nAnnotations: a/b: c\n        d/e: f\nStatus: Running\nContainers:\n app:\n  State: Waiting\n   Reason: CrashLoopBackOff\nEvents:\n Type Reason Age From Message\n[rtk: 2 lines omitted]\n Warning BackOff 1m kubelet Back-off restarting failed container\n"
        );
    }

    #[test]
    fn what_somebody_chose_stays() {
        let text = format!(
            "Name:             web\nNamespace:        default\nAnnotations:      example.com/last: {{\"a\": \"{}\"}}\n                  nginx.example.com/rewrite-target: /$1\nStatus:           Pending\nQoS Class:        Burstable\nNode-Selectors:   disktype=ssd\nTolerations:      gpu=true:NoSchedule\n                  node.kubernetes.io/not-ready:NoExecute op=Exists for 300s\n                  node.kubernetes.io/unreachable:NoExecute op=Exists for 300s\n",
            "x".repeat(300)
        );
        let out = Output::new(&text, Level::Standard);
        let mut draft = Draft::new(out.len());
        assert_eq!(render(&out, &mut draft), Verdict::Done);
        let shown = assemble(&out, &mut draft, &mut || None).text;
        for part in
            ["rewrite-target: /$1", "Node-Selectors: disktype=ssd", "gpu=true:NoSchedule", "Status: Pending"]
        {
            assert!(shown.contains(part), "{shown}");
        }
        assert!(
            !shown.contains("xxx") && !shown.contains("unreachable") && shown.contains("lines omitted"),
            "{shown}"
        );
    }
}
